"""Nothing that is secret or somebody's comes into logs, answers or errors, whatever push providers do."""

import logging
import ssl
import time
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from notify_streams.domain.answers import Sent
from tests.push import a_push, p256, pem
from tests.simulated import Simulated, Tell, sending, simulated

TITLE, BODY, LINK = "planted-title", "planted-body", "https://planted.example/link"
DEVICES = {"apns": "c0ffee" * 10 + "c0de", "fcm": "planted:APA91bDevice", "webpush": "planted-browser"}
TOLD = [
    Tell("drop"),
    Tell("reset"),
    Tell("refuse", 400, '{"reason": "planted-echo c0ffee", "error": {"status": "planted-echo x@y", "message": "m"}}'),
    *(Tell("refuse", status) for status in (401, 403, 404, 410, 413, 429, 500, 503)),
]


@pytest.mark.parametrize("kind", ["apns", "fcm", "webpush"])
async def test_neither_logs_nor_answers_hold_tokens_keys_or_texts(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    details = []
    async with simulated(tmp_path) as to:
        address = await _address(to, kind)
        to.kit.told[DEVICES[kind]] = list(TOLD)
        async with sending(to, kind) as provider:
            message = a_push(address, title=TITLE, body=BODY, link=LINK, platform=_PLATFORM[kind], expires_at=2**50)
            for _ in range(len(TOLD) + 1):
                details.append(str(await provider.send(message, now=round(time.time() * 1000))))
            secrets = [*_of(provider), *_of(to)]
        async with sending(to, kind) as provider:
            await to.apns.stop()
            details.append(str(await provider.send(message, now=round(time.time() * 1000))))
    said = caplog.text + "".join(details)
    for planted in (TITLE, BODY, LINK, "planted-echo", DEVICES[kind], address, *secrets):
        assert planted not in said
    assert "PRIVATE KEY" not in said


_PLATFORM = {"apns": "ios", "fcm": "android", "webpush": "web"}


async def _address(to: Simulated, kind: str) -> str:
    if kind != "webpush":
        return DEVICES[kind]
    where = f"{to.url}/webpush/subscribe"
    async with aiohttp.ClientSession() as session, session.post(where, json={"name": DEVICES[kind]}) as reply:
        return await reply.text()


def _of(holder: Any) -> list[str]:
    """Every credential that it holds by now."""
    found = [pem(p256()).decode()[40:80]]
    tokens = getattr(holder, "tokens", None)
    if tokens is not None:
        found.append(tokens._token)
    vapid = getattr(holder, "vapid", None)
    if vapid is not None:
        found += [value for _, value in vapid._known.values()]
    return [text for text in found if text]


async def test_even_a_server_with_a_wrong_certificate_learns_nothing(tmp_path: Path) -> None:
    async with simulated(tmp_path) as to, sending(to, "apns") as provider:
        strict = msgspec.structs.replace(a_push(DEVICES["apns"]), expires_at=2**50)
        provider.pool.tls = ssl.create_default_context()
        provider.pool.tls.set_alpn_protocols(["h2"])
        answer = await provider.send(strict, now=round(time.time() * 1000))
        assert not isinstance(answer, Sent)
        assert "127.0.0.1" not in str(answer)
    assert to.kit.entries == []
