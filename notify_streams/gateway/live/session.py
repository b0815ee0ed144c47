"""One client's place in the stream of its user: what to send, what to ask, when to end. No clock, no socket.

A client is told every change once and in order. What came out of order waits; what does not come is looked up in the
tail; what the tail cannot tell either is left out with a `reset`, which says where the stream goes on.
"""

from collections.abc import Iterable
from enum import IntEnum

import msgspec

from notify_streams.gateway.live import told
from notify_streams.gateway.live.told import Change, Reading, Told
from notify_streams.ports import InboxCounts
from schemas.frames import ClientFrame, Pong, Read, Seen
from schemas.inbox import InboxAction

NEVER = 2**62
_HELD = 256  # more than a tail holds: what does not fit is there
_AGAIN_MS = 2_000
_CHANCES = 2  # for the tail to tell what is missing, or to show as much as before


class Code(IntEnum):
    """Why a stream ended (RFC 6455 section 7.4; from 4000 on our own)."""

    GOING_AWAY = 1001
    NOT_TEXT = 1003
    MALFORMED = 1007
    TOO_BIG = 1009
    TRY_AGAIN = 1013
    UNAUTHORIZED = 4401
    OTHER_USER = 4403
    NO_PONG = 4408
    EXPIRED = 4410
    TOO_MUCH = 4429


class Pace(msgspec.Struct, frozen=True):
    """In ms; `rate` is frames of the client per second, and so many at once. Without `pongs` nobody has to answer."""

    ping_ms: int = 25_000
    pong_ms: int = 20_000
    gap_ms: int = 300
    check_ms: int = 120_000
    rate: int = 50
    pongs: bool = True


class Send(msgspec.Struct, frozen=True, gc=False):
    """These frames, in this order."""

    frames: tuple[Told, ...]


class Ask(msgspec.Struct, frozen=True, gc=False):
    """Look up what is known from `after` on (None: only where it stands), and bring it by `read` or `unread`."""

    after: int | None


class Command(msgspec.Struct, frozen=True, gc=False):
    """The user did this: these items, or all up to a sequence."""

    action: InboxAction
    item_ids: tuple[str, ...] = ()
    up_to: int | None = None


class Close(msgspec.Struct, frozen=True, gc=False):
    """End it."""

    code: Code
    reason: str


Act = Send | Ask | Command | Close
Acts = tuple[Act, ...]


class Session:
    """Instants in ms of any steady clock. After a Close nothing more may be asked of it."""

    __slots__ = (
        "_after",
        "_asked_from",
        "_behind",
        "_check_at",
        "_expires_at",
        "_gap_at",
        "_held",
        "_overflowed",
        "_pace",
        "_ping_at",
        "_pong_due",
        "_position",
        "_room",
        "_room_at",
        "_tries",
    )

    def __init__(self, after: int | None, *, now: int, pace: Pace, expires_at: int = NEVER) -> None:
        self._after, self._pace, self._expires_at = after, pace, expires_at
        self._position: int | None = None
        self._held: dict[int, Told] | None = None
        self._overflowed = False
        self._asked_from: int | None = -1  # who opens it brings a first reading unasked
        self._tries = self._behind = 0
        self._gap_at, self._pong_due = NEVER, NEVER
        self._check_at, self._ping_at = now + pace.check_ms, now + pace.ping_ms
        self._room, self._room_at = float(pace.rate), now

    @property
    def position(self) -> int | None:
        """The sequence that the client has been told of; None before its hello."""
        return self._position

    @property
    def begins_at(self) -> int | None:
        """From where a reading has to tell it."""
        return self._after if self._position is None else self._position

    @property
    def wakes_at(self) -> int:
        """When `tick` has something to do, if nothing happens before."""
        return min(self._ping_at, self._pong_due, self._gap_at, self._check_at, self._expires_at)

    def heard(self, change: Change, now: int) -> Acts:
        """Something came on the channel."""
        position = self._position
        if position is not None and change.sequence <= position:
            return ()
        if position is None or change.sequence > position + 1:
            self._hold(change)
            if position is not None:
                self._gap_at = min(self._gap_at, now + self._pace.gap_ms)
            return ()
        self._position = change.sequence
        frames = (change.told, *self._contiguous())
        if not self._held:
            self._gap_at, self._tries = NEVER, 0
        return (Send(frames),)

    def read(self, reading: Reading, now: int) -> Acts:
        """Somebody looked."""
        asked_from, self._asked_from = self._asked_from, None
        self._check_at, self._gap_at = now + self._pace.check_ms, NEVER
        frames = [] if self._position is not None else self._begin(reading)
        for change in reading.changes:
            if change.sequence > (self._position or 0):
                self._held = self._held or {}
                self._held[change.sequence] = change.told
        frames += self._contiguous()
        frames += self._settled(reading, asked_from or 0, now)
        if self._overflowed:
            self._overflowed, self._gap_at = False, now
        return (Send(tuple(frames)),) if frames else ()

    def unread(self, now: int) -> Acts:
        """Somebody looked and could not see anything: try again soon."""
        self._asked_from, self._gap_at = None, now + _AGAIN_MS
        return ()

    def interrupted(self) -> Acts:
        """Something may have been missed: look at once."""
        return self._ask()

    def tick(self, now: int) -> Acts:
        """The time has come for something."""
        if now >= self._expires_at:
            return (Close(Code.EXPIRED, "the token has expired"),)
        if now >= self._pong_due:
            return (Close(Code.NO_PONG, "no pong"),)
        acts: Acts = ()
        if now >= self._ping_at:
            self._ping_at = now + self._pace.ping_ms
            if self._pace.pongs:
                self._pong_due = now + self._pace.pong_ms
            acts = (Send((told.PING,)),)
        if now >= min(self._gap_at, self._check_at):
            self._gap_at, self._check_at = NEVER, now + self._pace.check_ms
            acts += self._ask()
        return acts

    def received(self, frame: ClientFrame, now: int) -> Acts:
        """The client said something."""
        self._pong_due = NEVER
        rate = self._pace.rate
        self._room = min(float(rate), self._room + (now - self._room_at) * rate / 1000)
        self._room_at = now
        if self._room < 1:
            return (Close(Code.TOO_MUCH, f"more than {rate} frames a second"),)
        self._room -= 1
        match frame:
            case Read(item_ids):
                return (Command("read", item_ids),)
            case Seen():
                return (Command("seen", up_to=self._position),) if self._position else ()
            case Pong():
                return ()

    def leaving(self, reconnect_ms: int) -> Acts:
        """The gateway stops."""
        return Send((told.bye(reconnect_ms),)), Close(Code.GOING_AWAY, "the gateway stops")

    def _begin(self, reading: Reading) -> list[Told]:
        after = reading.sequence if self._after is None else self._after
        if after > reading.sequence:
            self._position = reading.sequence
            reason = "this sequence has not been given out: it is of an earlier life, or of another inbox"
            return [told.hello(reading.sequence, reading.counts), told.reset(reason, reading.sequence)]
        self._position = after
        return [told.hello(after, _counts_at(after, reading))]

    def _settled(self, reading: Reading, asked_from: int, now: int) -> list[Told]:
        """What has to be said if the client does not stand where the reading does; nothing while that may still come.

        The writer may have been between counts and tail, or about to put something in its place again.
        """
        position = self._position or 0
        self._behind = self._behind + 1 if reading.sequence < asked_from else 0
        if self._behind >= _CHANCES:
            return self._restart("the inbox began anew", reading.sequence)
        top = max(reading.sequence, *self._held) if self._held else reading.sequence
        if position >= top:
            self._tries = 0
        elif self._tries + 1 >= _CHANCES:
            return self._restart("what came between is not kept any more", top)
        else:
            self._tries += 1
        if self._behind or self._tries:
            self._gap_at = now + self._pace.gap_ms
        return []

    def _restart(self, reason: str, sequence: int) -> list[Told]:
        self._position, self._held, self._tries, self._behind = sequence, None, 0, 0
        return [told.reset(reason, sequence)]

    def _ask(self) -> Acts:
        if self._asked_from is not None:  # under way
            self._overflowed = True
            return ()
        self._asked_from = self._position or 0
        return (Ask(self.begins_at),)

    def _hold(self, change: Change) -> None:
        held = self._held = self._held or {}
        held[change.sequence] = change.told
        if len(held) > _HELD:
            self._held, self._overflowed = None, True

    def _contiguous(self) -> Iterable[Told]:
        frames: list[Told] = []
        held, position = self._held, self._position or 0
        if held:
            while position + 1 in held:
                position += 1
                frames.append(held.pop(position))
            self._position = position
            self._held = {sequence: one for sequence, one in held.items() if sequence > position} or None
        return frames


def _counts_at(sequence: int, reading: Reading) -> InboxCounts:
    """Those that held there if the reading has them, else the present ones: what follows brings its own."""
    found = (change.counts for change in reading.changes if change.sequence == sequence)
    return next(found, reading.counts)
