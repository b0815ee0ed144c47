"""The people of the demo: 60, most with a mailbox, many with a device or a phone, some with trouble of their own."""

from hashlib import sha256
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
    6: "complaint+gita",
    9: "open+jonas",
}
_NO_MAIL = frozenset({3, 17, 33, 48})
_NO_INBOX = frozenset({40})
_NO_MARKETING = frozenset({5, 12, 19, 26, 27, 41, 50, 55})
_NO_SOCIAL = frozenset({8, 22, 36})
_UNVERIFIED = frozenset({7, 29, 44})
_WITHOUT_MAILBOX = frozenset({15, 38})
_DEVICES = range(48)  # each of these has one: iPhones, Androids and browsers in turn
_TWO_DEVICES = frozenset({0, 12, 24})
_DEAD = frozenset({3, 13})  # an iPhone and an Android that are no more
_PHONES = range(0, 60, 2)
_ODD_PHONES = {
    18: "+15005550009",  # a number that Twilio refuses: it is no mobile
    28: "+447400130003",  # the carrier cannot reach it
}
_PARTNERS = frozenset({1, 14, 37})  # their own server takes orders too
LATE_WORDS = {"mail": (6, 10, 20), "push": (3, 13), "text": (18, 28)}  # who hears once more when the trouble is known


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
    return [*_mailbox(person), *_devices(person), *_phone(person), *_server(person)]


def _mailbox(person: Person) -> list[dict[str, Any]]:
    if person.number in _WITHOUT_MAILBOX:
        return []
    verified = person.number not in _UNVERIFIED
    return [{"channel": "email", "endpoint_id": "mailbox-1", "address": _address(person), "verified": verified}]


def _address(person: Person) -> str:
    ascii_name = person.name.lower().replace("ë", "e").replace("ü", "u")
    return f"{_MAILBOXES.get(person.number, ascii_name)}@example.com"


def _devices(person: Person) -> list[dict[str, Any]]:
    if person.number not in _DEVICES:
        return []
    platforms = ["ios", "android", "web"][person.number % 3 :][: 2 if person.number in _TWO_DEVICES else 1]
    return [
        {"channel": "push", "endpoint_id": p, "address": _token(person, p), "verified": True, "platform": p}
        for p in platforms
    ]


def _token(person: Person, platform: str) -> str:
    """`{browser}` is what a browser gets when it subscribes."""
    digits = sha256(f"{platform} {person.user_id}".encode()).hexdigest()
    return {"ios": digits, "android": f"android:{digits}"}.get(platform, "{browser}")


def _phone(person: Person) -> list[dict[str, Any]]:
    if person.number not in _PHONES:
        return []
    number = _ODD_PHONES.get(person.number, f"+4474001001{person.number:02d}")
    return [{"channel": "sms", "endpoint_id": "phone", "address": number, "verified": True}]


def _server(person: Person) -> list[dict[str, Any]]:
    """`{simulator}` is where the demo's servers are."""
    if person.number not in _PARTNERS:
        return []
    url = f"{{simulator}}/hooks/partners/{person.user_id}"
    return [{"channel": "webhook", "endpoint_id": "orders", "address": url, "verified": True}]


DEAD_DEVICES = {
    "apns": [_token(p, "ios") for p in PEOPLE if p.number in _DEAD and p.number % 3 == 0],
    "fcm": [_token(p, "android") for p in PEOPLE if p.number in _DEAD and p.number % 3 == 1],
}
FAILING_OVER = [_address(PEOPLE[number]) for number in (0, 26)]
