"""Web Push by the examples of its RFCs, and what a subscription has to look like."""

import base64
from typing import Any

import http_ece
import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from notify_streams.domain.answers import Answer, EndpointGone, Refused, TryLater
from notify_streams.providers.webpush import codes, payload, subscription
from notify_streams.providers.webpush.vapid import LIFE_S, Vapid, public_key
from tests.builders import NOW
from tests.push import Browser, a_push, base64url, p256, public_pem

# RFC 8291, appendix A.
PLAINTEXT = b"When I grow up, I want to be a watermelon"
SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
RECEIVER = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A"
    "_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)
ENDPOINT = "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def a_subscription(endpoint: str = ENDPOINT, key: str = RECEIVER, auth: str = AUTH) -> str:
    return msgspec.json.encode({"endpoint": endpoint, "keys": {"p256dh": key, "auth": auth}}).decode()


def test_the_example_of_rfc_8291_is_encrypted_byte_for_byte() -> None:
    to = subscription.read(a_subscription())
    assert to is not None
    sender = ec.derive_private_key(int.from_bytes(decoded(SENDER), "big"), ec.SECP256R1())
    assert base64url(payload.encrypted(PLAINTEXT, to, once=sender, salt=decoded(SALT))) == BODY


def test_the_largest_plaintext_is_4096_bytes_encrypted() -> None:
    """TPL-11: and nothing that is cut is longer."""
    browser = Browser(ENDPOINT)
    to = subscription.read(browser.subscription)
    assert to is not None
    plaintext = payload.body(a_push(browser.subscription, body="é" * 4000))
    assert plaintext is not None
    assert payload.LIMIT - 2 < len(plaintext) <= payload.LIMIT
    body = payload.encrypted(b"x" * payload.LIMIT, to, once=p256(), salt=bytes(16))
    assert len(body) == 4096
    assert http_ece.decrypt(body, private_key=browser.key, auth_secret=browser.auth) == b"x" * payload.LIMIT


def test_a_token_says_who_we_are_to_one_origin_for_less_than_a_day() -> None:
    vapid = Vapid(p256(), "mailto:push@example.com")
    value = vapid.authorization("https://push.example.net", NOW)
    token, _, key = value.removeprefix("vapid t=").partition(", k=")
    options: Any = {"verify_exp": False}
    claims = jwt.decode(token, public_pem(p256()), ["ES256"], audience="https://push.example.net", options=options)
    assert claims == {
        "aud": "https://push.example.net",
        "exp": NOW // 1000 + LIFE_S,
        "sub": "mailto:push@example.com",
    }
    assert LIFE_S <= 86_400
    assert key == public_key(p256())
    assert len(decoded(key)) == 65


def test_a_token_is_kept_per_origin_until_it_nears_its_end() -> None:
    vapid = Vapid(p256(), "mailto:push@example.com")
    first = vapid.authorization("https://a.example", NOW)
    assert vapid.authorization("https://a.example", NOW + 10 * 3_600_000) == first
    assert vapid.authorization("https://b.example", NOW) != first
    assert vapid.authorization("https://a.example", NOW + 11 * 3_600_000 + 1000) != first


def test_strangers_cannot_fill_the_memory_with_origins() -> None:
    vapid = Vapid(p256(), "mailto:push@example.com")
    for i in range(1010):
        vapid.authorization(f"https://{i}.example", NOW)
    assert len(vapid._known) == 1000


@pytest.mark.parametrize(
    ("endpoint", "origin"),
    [
        (ENDPOINT, "https://push.example.net"),
        ("https://push.example.net:443/x", "https://push.example.net"),
        ("https://push.example.net:8443/x?y=z", "https://push.example.net:8443"),
        ("https://PUSH.example.net/x", "https://push.example.net"),
        ("http://127.0.0.1:80/x", "http://127.0.0.1"),
        ("https://[2001:db8::1]:444/x", "https://[2001:db8::1]:444"),
    ],
)
def test_the_origin_is_scheme_host_and_a_port_that_is_not_the_usual(endpoint: str, origin: str) -> None:
    """RFC 6454, 6.2."""
    to = subscription.read(a_subscription(endpoint))
    assert to is not None
    assert to.origin == origin


@pytest.mark.parametrize(
    "address",
    [
        "{",
        "[]",
        "{}",
        a_subscription(endpoint="ftp://push.example.net"),
        a_subscription(endpoint="https://"),
        a_subscription(endpoint="https://x:y"),
        a_subscription(endpoint="https://[::1"),
        a_subscription(endpoint="https://ü.example/x"),
        a_subscription(key=RECEIVER[:-4]),
        a_subscription(key="BA" + RECEIVER[2:]),
        a_subscription(key="not base64!"),
        a_subscription(key="ü"),
        a_subscription(auth=""),
        a_subscription(auth=AUTH[:-2]),
    ],
)
def test_what_nothing_can_be_encrypted_for_is_no_subscription(address: str) -> None:
    assert subscription.read(address) is None


def test_padded_keys_are_taken() -> None:
    assert subscription.read(a_subscription(key=RECEIVER + "=", auth=AUTH + "==")) is not None


@pytest.mark.parametrize(
    ("status", "known", "elsewhere"),
    [
        (404, EndpointGone("404"), EndpointGone("404")),
        (410, EndpointGone("410"), EndpointGone("410")),
        (400, Refused("400", "sender"), Refused("400")),
        (401, Refused("401", "sender"), Refused("401")),
        (403, Refused("403", "sender"), Refused("403")),
        (413, Refused("413"), Refused("413")),
        (429, TryLater("429", 5.0, "endpoint"), TryLater("429", 5.0, "endpoint")),
        (500, TryLater("500", 5.0, "provider"), TryLater("500", 5.0, "endpoint")),
        (503, TryLater("503", 5.0, "provider"), TryLater("503", 5.0, "endpoint")),
        (301, Refused("301"), Refused("301")),
        (402, Refused("402"), Refused("402")),
        (501, Refused("501"), Refused("501")),
    ],
)
def test_each_status_has_its_meaning(status: int, known: Answer, elsewhere: Answer) -> None:
    """TOK-05; what a host that a stranger named says never counts against the browsers' services."""
    assert codes.meaning(status, 5.0, known=True) == known
    assert codes.meaning(status, 5.0, known=False) == elsewhere


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("fcm.googleapis.com", True),
        ("updates.push.services.mozilla.com", True),
        ("web.push.apple.com", True),
        ("wns2-par02p.notify.windows.com", True),
        ("push.own.example", True),
        ("notfcm.googleapis.com", False),
        ("evilpush.apple.com", False),
        ("fcm.googleapis.com.evil.example", False),
        ("", False),
    ],
)
def test_the_browsers_services_and_ones_own_are_known(host: str, known: bool) -> None:
    assert codes.is_known(host, "push.own.example") is known
