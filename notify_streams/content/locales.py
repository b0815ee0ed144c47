"""Languages: which of the available ones a recipient gets, and how numbers, dates and plurals read in it."""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from functools import lru_cache

import msgspec
from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_datetime, format_time
from babel.numbers import format_currency, format_decimal, format_percent

from notify_streams.domain.local_times import rules_of
from notify_streams.domain.rendered import Unfit
from notify_streams.domain.zones import ZONES

FORMATS = frozenset({"short", "medium", "long", "full"})


def chain(tag: str | None, fallback: str) -> tuple[str, ...]:
    """Tags to try, most special first: `pt_br` gives pt-br, pt and the fallback; all in lower case with hyphens."""
    subtags = normal(tag).split("-") if tag else []
    tries = ["-".join(subtags[:n]) for n in range(len(subtags), 0, -1)]
    return (*(t for t in tries if t), normal(fallback))


def normal(tag: str) -> str:
    """One spelling for a BCP 47 tag, to compare by."""
    return tag.strip().replace("_", "-").lower()


def choose(tag: str | None, available: Mapping[str, str] | Collection[str], fallback: str) -> str | None:
    """The normal form of the best available language, None where even the fallback is missing."""
    return next((t for t in chain(tag, fallback) if t in available), None)


@lru_cache(512)
def babel_locale(wanted: str | None, language: str) -> Locale:
    """How to format in a text of `language`: by the reader's own region where the reader's language is that one."""
    for tag in chain(wanted, language):
        if tag.partition("-")[0] == language.partition("-")[0].lower():
            try:
                return Locale.parse(tag, sep="-")
            except (UnknownLocaleError, ValueError):
                continue
    return Locale("en")


def zone_of(name: str | None) -> tzinfo:
    """The zone by the pinned tzdata, as decisions have it; UTC where none is known."""
    return rules_of(name) if name in ZONES else UTC


class Reader(msgspec.Struct):
    """Whom one rendering is for, and how many more turns its loops may take. Never shared between renderings."""

    locale: Locale
    zone: tzinfo
    turns: int = 10_000

    @property
    def direction(self) -> str:
        """Which way the reader's language is written."""
        return "rtl" if self.locale.character_order == "right-to-left" else "ltr"

    def date(self, value: object, format: str = "medium") -> str:
        """`2026-11-30`, or the day of an instant in the reader's zone."""
        moment = _moment(value)
        day = moment.astimezone(self.zone) if isinstance(moment, datetime) and moment.tzinfo else moment
        return format_date(day, _known(format), locale=self.locale)

    def datetime(self, value: object, format: str = "medium") -> str:
        """An instant in the reader's zone, which `long` and `full` name."""
        return format_datetime(_instant(value), _known(format), tzinfo=self.zone, locale=self.locale)

    def time(self, value: object, format: str = "short") -> str:
        """An instant's time of day in the reader's zone."""
        return format_time(_instant(value), _known(format), tzinfo=self.zone, locale=self.locale)

    def number(self, value: object) -> str:
        """With the reader's separators."""
        return format_decimal(_number(value), locale=self.locale)

    def percent(self, value: object) -> str:
        """0.25 is 25 %."""
        return format_percent(_number(value), locale=self.locale)

    def currency(self, value: object, code: str) -> str:
        """An amount of ISO 4217 `code`."""
        return format_currency(_number(value), code, locale=self.locale)

    def plural(self, count: object, **forms: str) -> str:
        """The form for the count (`one=`, `few=`, `other=` ...), `#` in it replaced by the number."""
        number = _number(count)
        form = forms.get(self.locale.plural_form(number)) or forms["other"]
        return form.replace("#", self.number(number))


# What is wrong with a value says not what it is: it is somebody's, and the reason stands in facts and dead letters.
_NO_DATE = "a value is no date such as 2026-11-30 or 2026-11-30T10:00:00Z"


def _known(format: str) -> str:
    if format not in FORMATS:
        raise Unfit(f"{format!r} is none of {', '.join(sorted(FORMATS))}")
    return format


def _moment(value: object) -> date | datetime:
    if not isinstance(value, str):
        raise Unfit(_NO_DATE)
    try:
        return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
    except ValueError:
        raise Unfit(_NO_DATE) from None


def _instant(value: object) -> datetime:
    moment = _moment(value)
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise Unfit("a value is no instant with a zone")
    return moment


def _number(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise Unfit("a value is no number")
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise Unfit("a value is no number") from None
    if not number.is_finite() or abs(number.adjusted()) > 30:
        raise Unfit("a value is no number that can be written out")
    return number
