"""Which time zones and locales a profile may name."""

import re
from importlib.resources import files

_LOCALE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}")
# The list of the pinned tzdata, so that every machine agrees; `Factory` is a placeholder and no zone.
ZONES = frozenset(files("tzdata").joinpath("zones").read_text("ascii").split()) - {"Factory"}


def why_no_zone(zone: str | None) -> str | None:
    """What is wrong with an IANA zone name, case included; None when it is one."""
    if zone in ZONES:
        return None
    return "a zone of the IANA database is required, such as Europe/Paris"


def why_no_locale(locale: str) -> str | None:
    """What is wrong with a BCP 47 tag; None when it may be one."""
    return None if _LOCALE.fullmatch(locale) else "a BCP 47 tag is required, such as fr-CA"
