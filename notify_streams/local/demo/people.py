"""The people of the demo: 60, most with a verified mailbox, some who want less, some whose mailbox misbehaves."""

from typing import Any

import msgspec

_NAMES = (
    *("Ann", "Ben", "Zoë", "Dara", "Emil", "Fatima", "Gita", "Hugo", "Ines", "Jonas", "Kim", "Lee", "Mira", "Noor"),
    *("Otis", "Pia", "Quentin", "Rosa", "Sam", "Tuva", "Uma", "Vera", "Wim", "Xenia", "Yara", "Zeno", "Ada", "Bo"),
    *("Cleo", "Dina", "Elif", "Finn", "Gül", "Hana", "Ivo", "Jana", "Kofi", "Lena", "Mads", "Nils", "Olga", "Paul"),
    *("Qiu", "Remy", "Sofia", "Timo", "Ugo", "Vito", "Wanda", "Ximena", "Yusuf", "Zara", "Alba", "Bruno", "Cira"),
    *("Davi", "Enzo", "Flora", "Gaia", "Henk"),
)
_PLACES = (
    *(("en", "Europe/London"), ("de", "Europe/Berlin"), ("fr", "Europe/Paris"), ("en", "America/New_York")),
    *(("fr-CA", "America/Toronto"), ("de-AT", "Europe/Vienna"), ("pt-BR", "America/Sao_Paulo"), ("en", "Asia/Kolkata")),
)
# By place in the list: the simulator's conventions, what is switched off, and whose mailbox is not confirmed.
_MAILBOXES = {
    10: "bounce+kim",
    20: "bounce+uma",
    4: "busy-2+emil",
    30: "busy-2+elif",
    31: "busy-99+finn",
    11: "lost+lee",
    25: "slow-1+zeno",
}
_NO_MAIL = frozenset({3, 17, 33, 48})
_NO_INBOX = frozenset({40})
_NO_MARKETING = frozenset({5, 12, 19, 26, 27, 41, 50, 55})
_NO_SOCIAL = frozenset({8, 22, 36})
_UNVERIFIED = frozenset({7, 29, 44})
_WITHOUT_MAILBOX = frozenset({15, 38})


class Person(msgspec.Struct, frozen=True):
    """One user."""

    number: int
    name: str

    @property
    def user_id(self) -> str:
        """`user-01` to `user-60`."""
        return f"user-{self.number + 1:02d}"


PEOPLE = tuple(Person(number, name) for number, name in enumerate(_NAMES))


def users() -> list[dict[str, Any]]:
    """Preferences and endpoints, as the gateway takes them."""
    return [{"user_id": p.user_id, "preferences": _preferences(p), "endpoints": _endpoints(p)} for p in PEOPLE]


def _preferences(person: Person) -> dict[str, Any]:
    locale, zone = _PLACES[person.number % len(_PLACES)]
    patch: dict[str, Any] = {"locale": locale, "zone": zone}
    channels = {"email": False} if person.number in _NO_MAIL else {}
    channels |= {"inapp": False} if person.number in _NO_INBOX else {}
    if channels:
        patch["channels"] = channels
    if person.number in _NO_MARKETING:
        patch["categories"] = {"marketing": {"email": False, "inapp": False}}
    if person.number in _NO_SOCIAL:
        patch["categories"] = {"social": {"email": False, "inapp": False}}
    return patch


def _endpoints(person: Person) -> list[dict[str, Any]]:
    if person.number in _WITHOUT_MAILBOX:
        return []
    ascii_name = person.name.lower().replace("ë", "e").replace("ü", "u")
    address = f"{_MAILBOXES.get(person.number, ascii_name)}@example.com"
    verified = person.number not in _UNVERIFIED
    return [{"channel": "email", "endpoint_id": "mailbox-1", "address": address, "verified": verified}]
