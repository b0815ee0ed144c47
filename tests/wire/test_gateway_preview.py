"""POST /v1/preview: decided and rendered as it would be, with the example's own texts."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from notify_streams import bootstrap
from notify_streams.settings import Settings
from schemas.profiles import Address, Endpoint, ProfileV1
from tests.rendering import Folder
from tests.wire.gateway_parts import Bench, a_bench

NUMBER = Endpoint(channel="sms", endpoint_id="phone", verified=True, content=Address("+447400123456"))
TEXTS = """
channels = ["inapp", "sms"]
[categories.news]
[types.text]
category = "news"
channels = ["sms"]
"""


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path, content=bootstrap.content(Settings())) as bench:
        yield bench


async def preview(bench: Bench, type_: str, payload: Any, **more: Any) -> tuple[int, Any]:
    body = {"type": type_, "recipients": ["ann"], "payload": payload, **more}
    return await bench.json("POST", "/v1/preview", json=body, headers=bench.key())


def by_channel(answer: Any) -> dict[str, Any]:
    return {one["channel"]: one for one in answer["channels"]}


async def test_it_says_what_would_be_decided_and_what_would_be_read_on_each_channel(bench: Bench) -> None:
    bench.store.recorded["ann"] = ProfileV1(version=7, endpoints=(NUMBER,), channels={"email": False})
    status, answer = await preview(bench, "order.confirmed", {"order": "<7>", "total": "3 EUR"})
    assert (status, answer["user_id"], answer["profile_version"]) == (200, "ann", 7)
    told = by_channel(answer)
    assert (told["inapp"]["decision"], told["inapp"]["shown"]["title"]) == ("deliver", "Order <7> is confirmed")
    assert (told["email"]["decision"], told["email"]["reason"]) == ("suppress", "opted_out_of_channel")
    assert told["email"]["because"] == "the user has switched the channel off"
    assert "&lt;7&gt;" in told["email"]["shown"]["html"]
    assert "<7>" in told["email"]["shown"]["subject"]
    assert told["webhook"]["shown"]["data"]["order"] == "<7>"
    assert bench.orchestrator.published == []


async def test_it_is_in_the_language_of_the_user(bench: Bench) -> None:
    bench.store.recorded["ann"] = ProfileV1(version=1, locale="de-AT")
    _, answer = await preview(bench, "order.confirmed", {"order": "7", "total": "3 EUR"})
    assert by_channel(answer)["email"]["shown"]["subject"] == "Bestellung 7 ist bestätigt"


async def test_what_is_wrong_is_named_as_for_an_event(bench: Bench) -> None:
    """TPL-03."""
    status, problem = await preview(bench, "order.confirmed", {"order": "7"})
    assert (status, problem["errors"][0]["pointer"]) == (422, "/payload/total")
    assert (await preview(bench, "no.such", {}))[0] == 422
    assert (await bench.json("POST", "/v1/preview", json={}))[0] == 401


async def test_a_code_goes_by_text_first_and_says_for_whom_the_others_wait(bench: Bench) -> None:
    phone = Endpoint(channel="push", endpoint_id="p", verified=True, platform="ios", content=Address("a" * 64))
    bench.store.recorded["ann"] = ProfileV1(version=1, endpoints=(NUMBER, phone))
    _, answer = await preview(bench, "auth.otp", {"code": "482 913"})
    told = by_channel(answer)
    assert (told["sms"]["decision"], told["push"]["decision"], told["push"]["reason"]) == (
        "deliver",
        "suppress",
        "fallback",
    )


@pytest.mark.parametrize(
    ("text", "encoding", "units", "segments"),
    [
        ("a" * 160, "gsm7", 160, 1),
        ("a" * 161, "gsm7", 161, 2),
        ("a" * 306, "gsm7", 306, 2),
        ("a" * 307, "gsm7", 307, 3),
        ("a" * 158 + "€", "gsm7", 160, 1),
        ("a" * 159 + "€", "gsm7", 161, 2),
        ("Ç", "gsm7", 1, 1),
        ("ç", "ucs2", 1, 1),
        ("æøå " * 39 + "æ\nøå", "gsm7", 160, 1),
    ],
)
async def test_a_text_is_counted_as_it_is_sent(
    tmp_path: Path, text: str, encoding: str, units: int, segments: int
) -> None:
    """TPL-15, TPL-18: on the rendered text, values and all, by the count that the sender records."""
    (tmp_path / "content").mkdir()
    folder = Folder(tmp_path / "content", TEXTS).put("text/en/sms.txt", "{{ text }}")
    async with a_bench(tmp_path, content=(folder.load(), folder.renderer())) as bench:
        _, answer = await preview(bench, "text", {"text": text})
    shown = by_channel(answer)["sms"]["shown"]
    assert shown == {"locale": "en", "text": text, "encoding": encoding, "units": units, "segments": segments}


async def test_a_prefix_of_the_service_counts(tmp_path: Path) -> None:
    """TPL-18: what the template adds is part of what is billed."""
    (tmp_path / "content").mkdir()
    folder = Folder(tmp_path / "content", TEXTS).put("text/en/sms.txt", "Example: {{ text }}")
    async with a_bench(tmp_path, content=(folder.load(), folder.renderer())) as bench:
        _, answer = await preview(bench, "text", {"text": "a" * 160})
    assert by_channel(answer)["sms"]["shown"]["segments"] == 2
