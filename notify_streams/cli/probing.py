"""One synthetic notification, followed through the gateway until each channel has said how it ended."""

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any
from uuid import uuid4

import aiohttp
import msgspec

from schemas.words import CHANNELS, Channel, Reason, State

_LOOK_S = 0.1
_REQUEST_S = 5.0
_ARRIVED = frozenset({State.SENT, State.DELIVERED})
_NOT_NOW = frozenset({State.FAILED, State.EXPIRED, State.CANCELLED, State.SUPPRESSED, State.COLLECTED, State.DEFERRED})
_NOTHING_THERE = frozenset({Reason.NO_ENDPOINT, Reason.CHANNEL_NOT_OFFERED})


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent to whom, and how long it may take. `channels` that are named must be usable."""

    type: str
    user: str
    payload: bytes
    channels: tuple[Channel, ...] = ()
    within_s: float


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """How one channel ended, so many seconds after the event was posted. `state` as in statuses."""

    channel: str
    ok: bool
    seconds: float
    state: str
    reason: str = ""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One probe: `fault` where it did not come as far as a channel."""

    notification_id: str = ""
    seen: tuple[Seen, ...] = ()
    fault: str = ""

    @property
    def ok(self) -> bool:
        """Everything that was asked for arrived, and something did."""
        return not self.fault and bool(self.seen) and all(one.ok for one in self.seen)


def judged(status: Mapping[str, Any] | None, probe: Probe, elapsed_s: float) -> tuple[Seen, ...] | None:
    """What can be said of a status (JSON of the gateway); None while something may still come.

    A channel that the user has no endpoint on is left out, unless it was named. At `within_s` all is said.
    """
    found: dict[str, Mapping[str, Any]] = {one["channel"]: one for one in (status or {}).get("channels", ())}
    is_over, seen = elapsed_s >= probe.within_s, list[Seen]()
    if not found and not is_over:
        return None
    for channel in probe.channels or tuple(channel for channel in CHANNELS if channel in found):
        one = found.get(channel, {"state": "missing"})
        state, reason = str(one["state"]), str(one.get("reason") or "")
        if reason in _NOTHING_THERE and not probe.channels:
            continue
        if state not in _ARRIVED and state not in _NOT_NOW and not is_over:
            return None
        seen.append(Seen(channel=channel, ok=state in _ARRIVED, seconds=elapsed_s, state=state, reason=reason))
    return tuple(seen)


async def run(http: aiohttp.ClientSession, url: str, probe: Probe) -> Run:
    """Post one event and look until it is judged. Never raises for what the other side does."""
    began = monotonic()
    body = {"type": probe.type, "recipients": [probe.user], "payload": msgspec.Raw(probe.payload)}
    if probe.channels:
        body["channels"] = probe.channels
    headers = {"Idempotency-Key": f"probe-{uuid4().hex}", "Content-Type": "application/json"}
    try:
        status, answer = await _asked(http, "POST", f"{url}/v1/events", data=msgspec.json.encode(body), headers=headers)
        if status != 202:
            return Run(fault=f"POST /v1/events: {status} {_words(answer)}")
        id_ = answer["notifications"][0]["notification_id"]
        while True:
            status, answer = await _asked(http, "GET", f"{url}/v1/notifications/{id_}")
            if status not in (200, 503):
                return Run(notification_id=id_, fault=f"GET /v1/notifications: {status} {_words(answer)}")
            seen = judged(answer if status == 200 else None, probe, monotonic() - began)
            if seen is not None:
                return Run(notification_id=id_, seen=seen, fault="" if seen else "no channel of this type can be used")
            await asyncio.sleep(_LOOK_S)
    except (aiohttp.ClientError, TimeoutError, ValueError, LookupError) as error:
        return Run(fault=f"{url}: {error!r}")


async def _asked(http: aiohttp.ClientSession, method: str, url: str, **options: Any) -> tuple[int, Any]:
    timeout = aiohttp.ClientTimeout(total=_REQUEST_S)
    async with http.request(method, url, timeout=timeout, **options) as response:
        return response.status, await response.json(content_type=None)


def _words(problem: Mapping[str, Any]) -> str:
    faults: Sequence[Mapping[str, str]] = problem.get("errors", ())
    details = "; ".join(f"{fault['pointer']}: {fault['detail']}" for fault in faults)
    return f"{problem.get('code', '')}: {details or problem.get('detail', '')}"
