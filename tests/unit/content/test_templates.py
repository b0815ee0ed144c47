"""What a recipient reads, and what is never read by one."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from notify_streams.content.locales import chain
from notify_streams.domain.rendered import TemplateFailed
from schemas.content import Actor
from tests.rendering import Folder, a_delivery


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("line_break", ["\r\n", "\n", "\r", "\u2028", "\x0b", "\x85"])
def test_a_line_break_in_a_subject_becomes_one_space(folder: Folder, line_break: str) -> None:
    """TPL-01."""
    renderer = folder.mail(subject="Hello {{ name }}").renderer()
    mail, _ = renderer.email(a_delivery(payload={"name": f"Ann{line_break}Bcc: x@example.com"}))
    assert mail.subject == "Hello Ann Bcc: x@example.com"


def test_a_missing_variable_fails_and_is_named_with_the_template(folder: Folder) -> None:
    """TPL-03."""
    renderer = folder.mail(text="Dear {{ name }}").renderer()
    with pytest.raises(TemplateFailed, match=r"order\.confirmed/en/email\.txt: name is missing"):
        renderer.email(a_delivery())


@pytest.mark.parametrize("filter", ["date", "datetime", "time", "number", "percent", "currency('EUR')"])
@pytest.mark.parametrize("value", ["hunter2", "hunter2xyz", ["hunter2"], {"a": "hunter2"}])
def test_a_failure_does_not_repeat_what_a_value_is(folder: Folder, filter: str, value: object) -> None:
    """The reason stands in facts, dead letters and answers; the value is somebody's."""
    renderer = folder.mail(text=f"{{{{ at|{filter} }}}}").renderer()
    with pytest.raises(TemplateFailed, match=r"email\.txt: a value is no") as raised:
        renderer.email(a_delivery(payload={"at": value}))
    assert "hunter2" not in str(raised.value)


def test_defaults_and_untaken_conditions_demand_nothing(folder: Folder) -> None:
    """TPL-03."""
    text = "{{ name }}, {{ nick|default('friend') }}{% if gift %}, {{ gift.note }}{% endif %}"
    mail, _ = folder.mail(text=text).renderer().email(a_delivery(payload={"name": "Ann"}))
    assert mail.text == "Ann, friend"


@pytest.mark.parametrize("value", [None, True, [], {"a": 1}])
def test_what_is_no_text_never_reaches_a_recipient(folder: Folder, value: object) -> None:
    """TPL-03: no "None", no "True", no braces."""
    renderer = folder.mail(text="{{ order.total }}").renderer()
    with pytest.raises(TemplateFailed, match=r"order\.total is"):
        renderer.email(a_delivery(payload={"order": {"total": value}}))


def test_null_counts_as_missing_so_that_a_default_steps_in(folder: Folder) -> None:
    """TPL-03."""
    mail, _ = folder.mail(text="{{ nick|default('friend') }}").renderer().email(a_delivery(payload={"nick": None}))
    assert mail.text == "friend"


def test_a_name_is_escaped_once_in_html_and_nowhere_else(folder: Folder) -> None:
    """TPL-04."""
    name = "O'Brien & Söhne <3"
    folder.mail(subject="{{ name }}", text="{{ name }}", html="<p>{{ name }}</p>").inbox(title="{{ name }}")
    renderer = folder.renderer()
    mail, _ = renderer.email(a_delivery(payload={"name": name}))
    assert (mail.subject, mail.text) == (name, name)
    assert mail.html == "<p>O&#39;Brien &amp; Söhne &lt;3</p>"
    assert renderer.inbox(a_delivery("inapp", payload={"name": name})).title == name


def test_quotes_and_breaks_in_values_keep_an_inbox_entry_whole(folder: Folder) -> None:
    renderer = folder.inbox(
        title="{{ text }}", body="{{ text }}", link="https://app.example/{{ text|urlencode }}"
    ).renderer()
    item = renderer.inbox(a_delivery("inapp", payload={"text": 'a "b" \\ }\n{{ c }}'}))
    assert item.title == 'a "b" \\ } {{ c }}'
    assert item.body == 'a "b" \\ }\n{{ c }}'
    assert item.link == "https://app.example/a%20%22b%22%20%5C%20%7D%0A%7B%7B%20c%20%7D%7D"


async def test_each_of_200_alternating_messages_is_wholly_in_its_recipients_language(folder: Folder) -> None:
    """TPL-06: de, it-IT and ja in turn, caused by somebody with tr, twenty at a time."""
    for locale in ("en", "de", "it", "ja", "tr"):
        body = locale + " {{ at|date('long') }} {{ total|number }}"
        folder.mail(locale=locale, subject=locale + " {{ locale }}", text=body, html=body)
    renderer = folder.renderer()
    expected = {
        "de": ("de de", "de 5. Dezember 2026 1.234,5"),
        "it-IT": ("it it", "it 5 dicembre 2026 1.234,5"),
        "ja": ("ja ja", "ja 2026年12月5日 1,234.5"),
    }

    async def one(locale: str) -> None:
        await asyncio.sleep(0)
        payload = {"at": "2026-12-05", "total": 1234.5}
        mail, _ = renderer.email(a_delivery(locale=locale, payload=payload, actor=Actor("user-7", "Deniz")))
        await asyncio.sleep(0)
        assert (mail.subject, mail.text) == expected[locale]
        assert mail.html == mail.text

    turns = [list(expected)[n % 3] for n in range(200)]
    for start in range(0, 200, 20):
        await asyncio.gather(*(one(locale) for locale in turns[start : start + 20]))


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("pt-BR", "pt"),
        ("pt_br", "pt"),
        ("PT", "pt"),
        ("it-IT", "en"),
        ("zz", "en"),
        (None, "en"),
        ("", "en"),
        ("-", "en"),
    ],
)
def test_a_language_falls_back_by_region_and_then_to_the_fallback(folder: Folder, asked: str | None, got: str) -> None:
    """TPL-07."""
    renderer = folder.mail().mail(locale="pt").renderer()
    assert renderer.email(a_delivery(locale=asked))[1] == got


def test_a_language_without_all_three_files_of_a_mail_is_not_used_at_all(folder: Folder) -> None:
    """TPL-07: never half and half."""
    renderer = folder.mail().put("order.confirmed/pt/email.subject", "Olá").renderer()
    mail, locale = renderer.email(a_delivery(locale="pt"))
    assert (mail.subject, locale) == ("Hello", "en")


def test_the_chain_ends_with_the_fallback() -> None:
    assert chain("zh_Hant_TW", "en") == ("zh-hant-tw", "zh-hant", "zh", "en")


def test_numbers_follow_the_readers_region_where_the_text_is_in_the_readers_language(folder: Folder) -> None:
    renderer = folder.mail(text="{{ n|number }}").mail(locale="de", text="{{ n|number }}").renderer()
    assert renderer.email(a_delivery(locale="de-CH", payload={"n": 1234.5}))[0].text == "1'234.5"
    assert renderer.email(a_delivery(locale="it", payload={"n": 1234.5}))[0].text == "1,234.5"


def test_instants_are_told_in_the_readers_zone(folder: Folder) -> None:
    renderer = folder.mail(text="{{ at|time }} {{ at|date('short') }}").renderer()
    late = {"at": "2026-11-30T23:30:00Z"}
    assert renderer.email(a_delivery(zone="Asia/Kolkata", payload=late))[0].text == "5:00\u202fAM 12/1/26"
    assert renderer.email(a_delivery(zone="No/Where", payload=late))[0].text == "11:30\u202fPM 11/30/26"


def test_plurals_follow_the_language(folder: Folder) -> None:
    renderer = folder.mail(text="{{ n|plural(one='# item', other='# items') }}").renderer()
    texts = [renderer.email(a_delivery(payload={"n": n}))[0].text for n in (1, 0, 1200)]
    assert texts == ["1 item", "0 items", "1,200 items"]


def test_a_failing_language_fails_its_own_delivery_only(folder: Folder) -> None:
    renderer = folder.mail().mail(locale="de", text="{{ lines|join(', ') }}").renderer()
    with pytest.raises(TemplateFailed, match=r"order\.confirmed/de/email\.txt"):
        renderer.email(a_delivery(locale="de"))
    assert renderer.email(a_delivery(locale="en"))[1] == "en"


def test_an_erased_or_sealed_delivery_cannot_be_rendered(folder: Folder) -> None:
    delivery = msgspec.structs.replace(a_delivery(), content=None)
    with pytest.raises(TemplateFailed, match="no content in the clear"):
        folder.mail().renderer().email(delivery)


def test_numbers_are_written_out_digit_for_digit_as_the_producer_wrote_them(folder: Folder) -> None:
    """KAF-07: no rounding of large ids and of amounts on the way into a text."""
    folder.mail(text="{{ id }} {{ total }} {{ share }}")
    delivery = a_delivery(payload={"order": "1"})
    raw = b'{"order": "1", "id": 18446744073709551616, "total": 19.90, "share": 0.12345678901234567890}'
    assert delivery.content is not None
    content = msgspec.structs.replace(delivery.content, payload=msgspec.Raw(raw))
    rendered, _ = folder.renderer().email(msgspec.structs.replace(delivery, content=content))
    assert rendered.text.strip() == "18446744073709551616 19.90 0.12345678901234567890"


@pytest.mark.parametrize("text", ["{{ '%d' % at }}", "{{ [1][at] }}", "{{ at + 1 }}"])
def test_what_python_says_of_a_value_is_not_repeated(folder: Folder, text: str) -> None:
    renderer = folder.mail(text=text).renderer()
    with pytest.raises(TemplateFailed, match=r"email\.txt: ") as failed:
        renderer.email(a_delivery(payload={"at": "hunter2"}))
    assert "hunter2" not in str(failed.value)
