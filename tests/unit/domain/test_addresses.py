"""Which addresses of each channel are taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain import urls
from notify_streams.domain.addresses import NoAddress, address_key, canonical, why_no_address
from schemas.words import CHANNELS, Channel
from tests.urls import INSIDE, UNFIT

SUBSCRIPTION = '{"endpoint":"https://push.example/1","keys":{"p256dh":"a","auth":"b"}}'


def of_bytes(size: int) -> str:
    """A subscription of that size."""
    return SUBSCRIPTION.replace('"a"', '"' + "a" * (size - len(SUBSCRIPTION) + 1) + '"')


@pytest.mark.parametrize(
    ("channel", "address"),
    [
        ("email", "ann@example.com"),
        ("email", "o'brien+news@mail.example.co.uk"),
        ("email", "ann@bücher.example"),
        ("sms", "+4915112345678"),
        ("webhook", "https://hooks.example.com/a?b=c"),
        ("push", "d" * 64),
        ("push", SUBSCRIPTION),
        ("push", SUBSCRIPTION.replace("}}", '},"expirationTime":null}')),
        ("push", SUBSCRIPTION.replace("}}", '},"expirationTime":1790000000000}')),
        ("email", "a@" + ("x" * 60 + ".") * 4 + "examples"),
        ("sms", "+123456789012345"),
        ("webhook", "https://a.example/" + "x" * 2030),
        ("push", "d" * 4096),
        ("push", of_bytes(4096)),
    ],
)
def test_an_address_is_taken(channel: Channel, address: str) -> None:
    assert why_no_address(channel, address) is None


@pytest.mark.parametrize(
    ("channel", "address"),
    [
        ("email", "ann"),
        ("email", "@example.com"),
        ("email", "ann@localhost"),
        ("email", "ann@10.0.0.1"),
        ("email", "ann@-x.example"),
        ("email", "a..b@example.com"),
        ("email", "ann@example.com\r\nBcc: eve@example.com"),
        ("email", "Ann <ann@example.com>"),
        ("email", "a" * 65 + "@example.com"),
        ("email", "ann@" + "x" * 64 + ".example"),
        ("email", "ab@" + ("x" * 60 + ".") * 4 + "examples"),
        ("email", "ann@" + "ü." * 40 + "example"),
        ("sms", "015112345678"),
        ("sms", "+49151123ext4"),
        ("sms", "+1234567890123456"),
        ("sms", "+49151" + "\u0664" * 6),
        ("webhook", "ftp://example.com"),
        ("webhook", "https://user:pass@example.com"),
        ("webhook", "https://[::1"),
        ("webhook", "https://a.example/" + "x" * 2031),
        ("webhook", "https://a.example/" + "é" * 1100),
        ("push", "short"),
        ("push", "{}"),
        ("push", of_bytes(4097)),
        ("push", "d" * 4097),
        ("push", SUBSCRIPTION.replace("}}", '},"more":"x"}')),
        ("push", SUBSCRIPTION.replace("}}", ',"more":"x"}}')),
        ("push", SUBSCRIPTION.replace('"a"', "1")),
        ("push", SUBSCRIPTION.replace("https:", "ftp:")),
        ("push", SUBSCRIPTION.replace("/1", "/" + "x" * 2048)),
        ("inapp", "anything"),
    ],
)
def test_an_address_is_refused(channel: Channel, address: str) -> None:
    assert why_no_address(channel, address) is not None


@pytest.mark.parametrize(
    ("channel", "words"),
    [
        ("email", "a mailbox has at most 254 bytes"),
        ("sms", "a phone number has at most 16 bytes"),
        ("webhook", urls.REFUSED),
        ("push", "a device token or subscription has at most 4,096 bytes"),
        ("inapp", "the inbox has no addresses"),
    ],
)
def test_an_address_without_end_is_refused_by_its_length(channel: Channel, words: str) -> None:
    for address in ("x" * 1_000_000, '{"endpoint":"' + "x" * 1_000_000):
        assert why_no_address(channel, address) == words


@pytest.mark.parametrize(
    ("written", "region"),
    [
        ("+49 (0)170 1234567", ""),
        ("+4901701234567", ""),
        ("0049 170 1234567", "DE"),
        ("0170/1234567", "DE"),
        (" +49.170.123-4567 ", "GB"),
        ("011 49 170 1234567", "US"),
        ("+49\u00a0170\u20111234567", ""),
    ],
)
def test_every_way_to_write_a_number_is_the_same_address(written: str, region: str) -> None:
    """SMS-01."""
    assert canonical("sms", written, region) == "+491701234567"
    key = address_key("sms", "+491701234567")
    assert address_key("sms", str(canonical("sms", written, region))) == key


def test_a_token_of_apns_is_the_same_device_in_capitals() -> None:
    """APNs decodes it: two spellings must not belong to two users. Those of FCM and others differ by case."""
    token = "ab12" * 16
    assert address_key("push", token.upper()) == address_key("push", token)
    assert address_key("push", "Ab:" + token) != address_key("push", "ab:" + token)
    assert address_key("push", "CAFE0123") != address_key("push", "cafe0123")


def test_a_national_number_is_read_in_its_region() -> None:
    """SMS-01."""
    assert canonical("sms", "07400 123456", "GB") == "+447400123456"
    assert canonical("sms", "(202) 555-0123", "US") == "+12025550123"


@pytest.mark.parametrize(
    ("written", "region", "reason"),
    [
        ("07400123456", "", "needs a region"),
        ("+000000000", "", "7 to 15 digits"),
        ("999", "GB", "of this length"),
        ("112", "DE", "of this length"),
        ("+49170123456789012", "", "7 to 15 digits"),
        ("+49 170 1234567 x5", "", "7 to 15 digits"),
        ("+491701234567;ext=5", "", "7 to 15 digits"),
        ("+491701234567,,5", "", "7 to 15 digits"),
        ("1-800-FLOWERS", "US", "7 to 15 digits"),
        ("tel:+491701234567", "", "7 to 15 digits"),
        ("\uff0b\uff14\uff19\uff11\uff17\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17", "", "7 to 15 digits"),
        ("++491701234567", "", "7 to 15 digits"),
        ("", "DE", "7 to 15 digits"),
        ("x" * 100_000, "DE", "7 to 15 digits"),
    ],
)
def test_what_is_no_number_is_refused_with_its_reason_and_never_repeated(
    written: str, region: str, reason: str
) -> None:
    """SMS-01."""
    refused = canonical("sms", written, region)
    assert isinstance(refused, NoAddress)
    assert reason in refused.reason
    assert written[:8] not in refused.reason or not written


@pytest.mark.parametrize("url", [*INSIDE, *UNFIT])
def test_a_url_that_leads_inside_is_refused_like_every_other(url: str) -> None:
    """SEC-01: one reason for all of them."""
    assert canonical("webhook", url) == NoAddress(urls.REFUSED)
    assert canonical("push", SUBSCRIPTION.replace("https://push.example/1", url.replace("\\", "\\\\"))) != SUBSCRIPTION


@pytest.mark.parametrize("url", INSIDE[:6])
def test_an_installation_that_says_so_may_call_its_own_networks(url: str) -> None:
    allowed = canonical("webhook", url, allow_private=True)
    assert (allowed == url) == (url != "https://2130706433")


@pytest.mark.parametrize("url", UNFIT)
def test_what_is_unfit_stays_refused_inside_too(url: str) -> None:
    assert isinstance(canonical("webhook", url, allow_private=True), NoAddress)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/a?b=c",
        "http://hooks.example.com:8080",
        "https://hooks.example.com:443/%20",
        "https://b\u00fccher.example/",
        "https://93.184.216.34/",
        "https://[2606:2800:220:1::1]:8443/",
        "https://a_b.example/",
        "https://hooks.example./x",
    ],
)
def test_a_public_url_is_kept_as_it_was_spelt(url: str) -> None:
    assert canonical("webhook", url) == url


@given(st.sampled_from(CHANNELS), st.text(max_size=60), st.sampled_from(["", "DE", "US"]))
def test_whatever_somebody_writes_has_an_answer(channel: Channel, text: str, region: str) -> None:
    for written in (text, "https://" + text, "+49" + text, "a@" + text, SUBSCRIPTION.replace("push.example", text)):
        kept = canonical(channel, written, region)
        assert isinstance(kept, str | NoAddress)
        if isinstance(kept, str):
            assert why_no_address(channel, kept) is None
            assert canonical(channel, kept, region) == kept
            assert address_key(channel, kept)


@pytest.mark.parametrize("domain", ["fa\u00df.de", "STRA\u1e9eE.de", "fa\u03c2.gr", "a\u200db.com", "a\u200cb.com"])
def test_a_domain_whose_letters_lead_to_two_places_is_taken_as_it_travels_alone(domain: str) -> None:
    """EML-14: a mail for one of them must not go to the other, whoever owns that."""
    assert isinstance(canonical("email", f"ann@{domain}"), NoAddress)
    travelling = "ann@xn--fa-hia.de"
    assert canonical("email", travelling) == travelling
