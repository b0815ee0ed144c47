"""What a protocol's module asks of the rest of the simulator: how to answer, and to keep it in the log."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Literal, Protocol

Kind = Literal["accept", "refuse", "drop", "hang", "reset"]
Event = Literal["accepted", "refused", "dropped"]
_HANG_S = 3600.0


class Told(Protocol):
    """One answer. `seconds` is waited before it; a `refuse` without body gets the one that the vendor would send."""

    @property
    def kind(self) -> Kind:
        """What becomes of the request."""

    @property
    def status(self) -> int:
        """Of a `refuse`."""

    @property
    def body(self) -> str:
        """Of a `refuse`."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Of a `refuse`, beside the vendor's own."""

    @property
    def seconds(self) -> float:
        """Before whatever follows."""


class Script(Protocol):
    """By rule, by convention of the address, by the provider's rates."""

    def next(self, provider: str, recipient: str) -> Told | None:
        """None: take it at once."""


class Log(Protocol):
    """Exact: an entry is there before its answer is."""

    def add(
        self,
        *,
        provider: str,
        event: Event,
        to: str,
        answer: str,
        delivery_id: str = "",
        identity: str = "",
        content: bytes | None = None,
        headers: Mapping[str, str] = {},
    ) -> None:
        """Raises OSError when the disk does not take it: then nothing is said."""


class Kit(Protocol):
    """The three together."""

    @property
    def script(self) -> Script:
        """How to answer."""

    @property
    def log(self) -> Log:
        """What was answered."""

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since the epoch."""


async def wait(told: Told | None) -> None:
    """As long as was told; for ever where it hangs."""
    if told is not None:
        await asyncio.sleep(max(told.seconds, _HANG_S) if told.kind == "hang" else told.seconds)


def kept(headers: Mapping[str, str], *names: str) -> dict[str, str]:
    """Those that say how to deliver a message; never what authorizes it."""
    return {name: headers[name] for name in names if name in headers}


def event_of(told: Told | None) -> Event:
    """How it stands in the log."""
    if told is None or told.kind == "accept":
        return "accepted"
    return "refused" if told.kind == "refuse" else "dropped"
