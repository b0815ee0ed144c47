"""Apple's limit of 4,096 bytes, met exactly and by one byte too many."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from notify_streams.domain.answers import Sent
from tests.builders import NOW
from tests.push import a_push, apns_at, apple

TEA = "\u8336"


@pytest.mark.parametrize("more", [{}, {"badge": 12}, {"image": "https://i.example/1.png"}])
async def test_a_text_of_exactly_the_limit_goes_out_unchanged_as_raw_utf_8(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    """TPL-12: what is no text gives way; escaped it would be 8,149 bytes."""
    async with apple(tmp_path) as server, apns_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(a_push(title="ttt", body=TEA * 1351, **more), now=NOW), Sent)
    body = server.requests[0].body
    assert body == f'{{"aps":{{"alert":{{"title":"ttt","body":"{TEA * 1351}"}}}}}}'.encode()
    assert len(body) == 4096


async def test_one_byte_more_and_the_body_is_shortened_and_sent_once(tmp_path: Path) -> None:
    """TPL-12: it is never sent to be refused."""
    async with apple(tmp_path) as server, apns_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(a_push(title="tttt", body=TEA * 1351), now=NOW), Sent)
    (request,) = server.requests
    alert = msgspec.json.decode(request.body)["aps"]["alert"]
    assert len(request.body) <= 4096
    assert alert["title"] == "tttt"
    assert alert["body"] == TEA * alert["body"].count(TEA) + "…"


async def test_a_link_is_kept_when_the_text_is_cut(tmp_path: Path) -> None:
    link = "https://shop.example/" + "x" * 1000
    async with apple(tmp_path) as server, apns_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(a_push(body="y" * 9000, link=link), now=NOW), Sent)
    payload = msgspec.json.decode(server.requests[0].body)
    assert payload["link"] == link
    assert payload["aps"]["sound"] == "default"
    assert len(server.requests[0].body) == 4096
