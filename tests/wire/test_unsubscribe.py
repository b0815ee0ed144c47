"""The link in a mail over HTTP: a page that changes nothing, and one click that does."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path
from statistics import median

import pytest
from prometheus_client import REGISTRY

from notify_streams.domain.unsubscribe import LIFE_DAYS, token
from schemas.commands import PatchPreferencesV1, decode_command
from schemas.profiles import ProfileV1
from schemas.words import Channel
from tests.builders import DAY, NOW
from tests.fakes import Clock
from tests.wire.gateway_parts import SECRET, Bench, a_bench

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ONE_CLICK = b"List-Unsubscribe=One-Click"


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW + DAY)


@pytest.fixture
async def bench(tmp_path: Path, clock: Clock) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path, clock=clock) as bench:
        bench.store.recorded["ann"] = ProfileV1(version=3)
        bench.orchestrator.profiles["ann"] = ProfileV1(version=3)
        yield bench


def a_link(
    category: str = "marketing", *, user_id: str = "ann", channel: Channel = "email", secret: str = SECRET
) -> str:
    made = token(secret, user_id=user_id, channel=channel, category=category, issued_at=NOW, type="marketing.campaign")
    return f"/v1/unsubscribe/{made}"


async def call(
    bench: Bench, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, str, dict[str, str]]:
    async with bench.client.request(method, path, data=body, headers=headers, allow_redirects=False) as response:
        return response.status, await response.text(), dict(response.headers)


def commands(bench: Bench) -> list[PatchPreferencesV1]:
    found = [decode_command(v) for topic, _, v, _ in bench.orchestrator.published if topic == "user-commands"]
    return [command for command in found if isinstance(command, PatchPreferencesV1)]


async def test_opening_the_link_changes_nothing(bench: Bench) -> None:
    """EML-10: GET and HEAD from five clients at once, as link scanners do."""
    answers = await asyncio.gather(*(call(bench, method, a_link()) for _ in range(5) for method in ("GET", "HEAD")))
    assert {status for status, _, _ in answers} == {200}
    assert bench.orchestrator.published == []
    assert bench.orchestrator.profiles["ann"].version == 3
    page = answers[0][1]
    assert "Switch off “marketing” by mail?" in page
    assert "Nothing is changed yet" in page
    assert "Switch off everything by mail" in page


async def test_one_click_switches_the_category_off_without_login_cookies_or_redirect(bench: Bench) -> None:
    """EML-10"""
    status, page, headers = await call(bench, "POST", a_link(), ONE_CLICK, **FORM)
    assert status == 200
    assert "“marketing” is switched off by mail" in page
    assert not {"Location", "Set-Cookie", "WWW-Authenticate"} & set(headers)
    [command] = commands(bench)
    assert (command.by, command.if_match) == ("unsubscribe", None)
    profile = bench.orchestrator.profiles["ann"]
    assert (profile.categories, profile.channels) == ({"marketing": {"email": False}}, {})


async def test_a_multipart_body_counts_as_well(bench: Bench) -> None:
    """RFC 8058, 3.1: either encoding."""
    body = b'--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n'
    content_type = {"Content-Type": "multipart/form-data; boundary=b"}
    assert (await call(bench, "POST", a_link(), body, **content_type))[0] == 200
    assert bench.orchestrator.profiles["ann"].categories == {"marketing": {"email": False}}


@pytest.mark.parametrize("end", [b"\r\n", b"\n", b"%0D%0A"])
async def test_a_line_break_behind_the_body_is_no_part_of_it(bench: Bench, end: bytes) -> None:
    """EML-10: as tools that read the body from a file send it."""
    assert (await call(bench, "POST", a_link(), ONE_CLICK + end, **FORM))[0] == 200
    assert bench.orchestrator.profiles["ann"].categories == {"marketing": {"email": False}}


@pytest.mark.parametrize(
    ("query", "body", "content_type"),
    [
        ("?List-Unsubscribe=One-Click", b"", FORM["Content-Type"]),
        ("", b"", FORM["Content-Type"]),
        ("", b"List-Unsubscribe=Two-Clicks", FORM["Content-Type"]),
        ("", b"x=1", FORM["Content-Type"]),
        ("", b'{"List-Unsubscribe":"One-Click"}', "application/json"),
        ("", ONE_CLICK, "text/plain"),
        ("", ONE_CLICK + b"&scope=everything", FORM["Content-Type"]),
    ],
)
async def test_only_the_form_body_counts(bench: Bench, query: str, body: bytes, content_type: str) -> None:
    """Pinned rule 6."""
    status, page, _ = await call(bench, "POST", a_link() + query, body, **{"Content-Type": content_type})
    assert status == 400
    assert "Nothing was changed" in page
    assert bench.orchestrator.published == []


async def test_a_second_click_is_answered_alike_and_counted_once(bench: Bench) -> None:
    def counted() -> float:
        labels = {"type": "marketing.campaign", "category": "marketing"}
        return REGISTRY.get_sample_value("notify_unsubscribes_total", labels) or 0.0

    before = counted()
    first = await call(bench, "POST", a_link(), ONE_CLICK, **FORM)
    bench.store.recorded["ann"] = bench.orchestrator.profiles["ann"]
    second = await call(bench, "POST", a_link(), ONE_CLICK, **FORM)
    assert first[:2] == second[:2]
    assert bench.orchestrator.profiles["ann"].version == 4
    assert counted() == before + 1


async def test_the_other_choice_is_the_whole_channel(bench: Bench) -> None:
    status, page, _ = await call(bench, "POST", a_link(), ONE_CLICK + b"&scope=channel", **FORM)
    assert status == 200
    assert "Everything by mail is switched off" in page
    profile = bench.orchestrator.profiles["ann"]
    assert (profile.channels, profile.categories) == ({"email": False}, {})


async def test_what_the_button_posts_is_what_counts(bench: Bench) -> None:
    """The page's own forms, as a browser sends them."""
    _, page, _ = await call(bench, "GET", a_link())
    fields = [re.findall(r'name="([^"]+)" value="([^"]+)"', form) for form in page.split("<form")[1:]]
    assert [dict(form)["scope"] for form in fields] == ["category", "channel"]
    for form in fields:
        body = "&".join(f"{name}={value}" for name, value in form).encode()
        assert (await call(bench, "POST", a_link(), body, **FORM))[0] == 200
    assert len(commands(bench)) == 2


async def test_bad_foreign_and_expired_links_look_alike(bench: Bench, clock: Clock) -> None:
    """SEC-08: nothing is said of anybody."""
    good = a_link()
    bad = [
        "/v1/unsubscribe/x",
        good[:-1],
        good[:-2] + "AA",
        a_link(secret="another installation's secret, 32b"),
        a_link("no.such.category"),
        a_link("marketing", channel="sms"),
        "/v1/unsubscribe/" + "A" * 4000,
        "/v1/unsubscribe/%C3%A9",
    ]
    answers = [await call(bench, "GET", path) for path in bad]
    clock.now = NOW + LIFE_DAYS * DAY
    answers.append(await call(bench, "GET", good))
    answers += [await call(bench, "POST", path, ONE_CLICK, **FORM) for path in (*bad, good)]
    assert {status for status, _, _ in answers} == {404}
    assert len({page for _, page, _ in answers}) == 1
    assert "This link does not work" in answers[0][1]
    assert bench.orchestrator.published == []
    assert bench.store.asked == 0


async def test_known_and_unknown_users_cannot_be_told_apart(bench: Bench) -> None:
    """SEC-08: page, headers and time of a link are the same, whether or not there is such a user."""
    took: dict[str, list[float]] = {"ann": [], "nobody": []}
    said = {}
    for _ in range(250):
        for user_id, times in took.items():
            started = time.perf_counter()
            status, page, headers = await call(bench, "GET", a_link(user_id=user_id))
            times.append(time.perf_counter() - started)
            said[user_id] = status, page, {k: v for k, v in headers.items() if k not in ("X-Request-ID", "Date")}
    assert said["ann"] == said["nobody"]
    medians = [median(times) for times in took.values()]
    assert max(medians) < 2 * min(medians)


async def test_a_link_is_good_for_ninety_days_and_more(bench: Bench, clock: Clock) -> None:
    clock.now = NOW + 365 * DAY
    assert (await call(bench, "POST", a_link(), ONE_CLICK, **FORM))[0] == 200


async def test_a_mandatory_category_stays_on_and_says_so(bench: Bench) -> None:
    """PRF-06, by link."""
    for method, body in (("GET", b""), ("POST", ONE_CLICK)):
        status, page, _ = await call(bench, method, a_link("security"), body, **FORM)
        assert status == 422
        assert "cannot be switched off" in page
    assert bench.orchestrator.published == []


async def test_a_broker_that_is_away_is_a_503_that_asks_to_come_back(bench: Bench) -> None:
    bench.orchestrator.away = True
    status, page, headers = await call(bench, "POST", a_link(), ONE_CLICK, **FORM)
    assert (status, headers["Retry-After"]) == (503, "60")
    assert "Nothing is confirmed" in page


async def test_what_is_on_the_log_and_not_yet_answered_is_a_2xx(tmp_path: Path, clock: Clock) -> None:
    async with a_bench(tmp_path, clock=clock, command_timeout="50ms") as bench:
        bench.orchestrator.silent = True
        status, page, _ = await call(bench, "POST", a_link(), ONE_CLICK, **FORM)
        assert status == 202
        assert "within a few moments" in page


async def test_the_page_works_while_the_records_are_away(bench: Bench) -> None:
    bench.store.away = True
    assert (await call(bench, "GET", a_link()))[0] == 200
    assert (await call(bench, "POST", a_link(), ONE_CLICK, **FORM))[0] == 200


@pytest.mark.parametrize(
    ("locale", "accept", "language", "words"),
    [
        (None, "de-AT,de;q=0.9,en;q=0.5", "de", "abstellen?"),
        (None, "fr", "fr", "Désactiver"),
        (None, "it, fr;q=0.3, de;q=0.8", "de", "abstellen?"),
        (None, "it", "en", "Switch off"),
        (None, "", "en", "Switch off"),
        (None, "de;q=0, fr;q=x, ;;,,*", "en", "Switch off"),
        ("fr_CA", "de", "fr", "Désactiver"),
        ("ja", "de", "de", "abstellen?"),
    ],
)
async def test_the_page_is_in_the_readers_language(
    bench: Bench, locale: str | None, accept: str, language: str, words: str
) -> None:
    bench.store.recorded["ann"] = ProfileV1(version=3, locale=locale)
    _, page, _ = await call(bench, "GET", a_link(), b"", **{"Accept-Language": accept})
    assert f'<html lang="{language}">' in page
    assert words in page


async def test_nothing_from_elsewhere_runs_on_the_page(bench: Bench) -> None:
    """No script, no image, no address but its own; the link is not handed on to anybody."""
    _, page, headers = await call(bench, "GET", a_link())
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"

    tags = Tags()
    tags.feed(page)
    assert not {"script", "img", "link", "iframe", "form@action", "a@href"} & tags.names
    assert not {name for name in tags.names if "@on" in name or name.endswith("@style")}


class Tags(HTMLParser):
    """Which elements and attributes there are."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(f"{tag}@{name}" for name, _ in attrs)}
