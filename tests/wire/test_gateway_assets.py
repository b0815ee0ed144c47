"""The files of the inbox component over HTTP: small, cached as they may be, and bound by a strict policy."""

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from notify_streams.gateway.web import assets
from tests.wire.gateway_parts import Bench, a_bench

BUDGET = 20 * 1024
MODULES = (*assets.COMPONENT, "notify-inbox")
SOURCES = Path(assets.__file__).parent / "inbox"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


async def test_component_client_languages_preferences_and_style_weigh_less_than_20_kb(bench: Bench) -> None:
    weights = {}
    for name in ("notify-inbox.js", "notify-inbox.css"):
        answer = await bench.client.get(f"/assets/{name}", headers={"Accept-Encoding": "gzip"})
        assert answer.headers["Content-Encoding"] == "gzip"
        weights[name] = int(answer.headers["Content-Length"])

    assert sum(weights.values()) < BUDGET, weights


async def test_types_are_right_and_nobody_may_guess_others(bench: Bench) -> None:
    for name, media_type in (("notify-inbox.js", "text/javascript"), ("notify-inbox.css", "text/css")):
        answer = await bench.client.get(f"/assets/{name}")
        assert answer.headers["Content-Type"] == f"{media_type}; charset=utf-8"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "gzip" in answer.headers.get("Content-Encoding", "gzip")


async def test_who_takes_no_gzip_gets_the_same_text(bench: Bench) -> None:
    answer = await bench.client.get("/assets/notify-client.js", headers={"Accept-Encoding": "identity"})

    assert "Content-Encoding" not in answer.headers
    assert await answer.read() == gzip.decompress(assets.assets()["notify-client.js"].compressed)


async def test_a_file_is_asked_for_again_and_costs_nothing_while_it_holds(bench: Bench) -> None:
    first = await bench.client.get("/assets/notify-inbox.js")
    again = await bench.client.get("/assets/notify-inbox.js", headers={"If-None-Match": first.headers["ETag"]})

    assert first.headers["Cache-Control"] == "no-cache"
    assert (again.status, await again.read()) == (304, b"")


async def test_a_file_under_its_version_is_kept_for_ever(bench: Bench) -> None:
    page = await (await bench.client.get("/inbox")).text()
    path = re.findall(r'src="(/assets/[0-9a-f]{12}/inbox-page\.js)"', page)[0]
    answer = await bench.client.get(path)

    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "path",
    ["/assets/000000000000/notify-inbox.js", "/assets/notify-words.js", "/assets/inbox.html", "/assets/..%2Fassets.py"],
)
async def test_nothing_else_is_there(bench: Bench, path: str) -> None:
    answer = await bench.client.get(path)

    assert answer.status == 404
    assert answer.headers["Cache-Control"] == "no-store"


async def test_the_page_runs_nothing_but_its_own_scripts(bench: Bench) -> None:
    answer = await bench.client.get("/inbox")
    policy = answer.headers["Content-Security-Policy"].split("; ")
    text = await answer.text()

    assert {"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert re.findall(r"<style|style=|<script>|\son\w+=", text) == []


def test_modules_can_be_joined_because_their_names_differ() -> None:
    names = [
        name
        for module in MODULES
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:const|let|class|function\*?) (\w+)",
            (SOURCES / f"{module}.js").read_text(),
            flags=re.MULTILINE,
        )
    ]

    assert sorted(names) == sorted(set(names))


def test_every_module_goes_out() -> None:
    assert {path.stem for path in SOURCES.glob("*.js")} == set(MODULES)


def test_markup_is_never_made_of_text() -> None:
    """SEC-06: there is no way in, not even one that nobody uses."""
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|parseFromString"
    )
    for path in (*SOURCES.glob("*.js"), SOURCES.parent / "page.js"):
        assert forbidden.search(path.read_text()) is None, path.name


def test_every_language_says_everything() -> None:
    text = (SOURCES / "notify-words.js").read_text()
    languages = {
        language: set(re.findall(r"^  (\w+):", body, flags=re.MULTILINE))
        for language, body in re.findall(r"^const (en|de|fr) = \{\n(.*?)^\};", text, flags=re.MULTILINE | re.DOTALL)
    }

    assert set(languages) == {"en", "de", "fr"}
    assert languages["de"] == languages["en"] == languages["fr"]
