import pytest
from aiokafka.protocol.group import HeartbeatRequest, LeaveGroupRequest, SyncGroupRequest

from notify_streams.streaming.lease import EX_TEMPFAIL, Lease

HEARTBEAT = HeartbeatRequest("group", 1, "member")
SYNC = SyncGroupRequest("group", 1, "member", "instance", [])
LEAVE = LeaveGroupRequest("group", "member")
GOOD, REBALANCING, UNKNOWN_MEMBER = 0, 27, 25


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Answer:
    def __init__(self, error_code: int) -> None:
        self.error_code = error_code


class Coordinator:
    """Answers each request with the code that is due, after so many seconds."""

    def __init__(self, clock: Clock) -> None:
        self.code, self.takes, self._clock = GOOD, 0.0, clock

    async def _send_req(self, request: object) -> Answer:
        self._clock.now += self.takes
        return Answer(self.code)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def left() -> list[int]:
    return []


@pytest.fixture
def lease(clock: Clock, left: list[int]) -> Lease:
    return Lease(10.0, clock=clock, leave=left.append)


@pytest.fixture
def coordinator(clock: Clock, lease: Lease) -> Coordinator:
    watched = Coordinator(clock)
    lease.watch(watched)
    return watched


async def test_before_any_join_everything_may_be_sent(lease: Lease, clock: Clock, left: list[int]) -> None:
    clock.now += 1000
    lease.check()
    assert left == []


async def test_it_ends_two_seconds_before_the_session_does(
    lease: Lease, clock: Clock, coordinator: Coordinator, left: list[int]
) -> None:
    await coordinator._send_req(HEARTBEAT)
    clock.now += 8
    lease.check()
    assert left == []
    clock.now += 0.1
    lease.check()
    assert left == [EX_TEMPFAIL]


@pytest.mark.parametrize(
    ("request_", "code", "counts"),
    [
        (HEARTBEAT, GOOD, True),
        (HEARTBEAT, REBALANCING, True),
        (SYNC, GOOD, True),
        (HEARTBEAT, UNKNOWN_MEMBER, False),
        (SYNC, UNKNOWN_MEMBER, False),
        (LEAVE, GOOD, False),
    ],
)
async def test_only_an_answer_to_a_member_renews_it(
    lease: Lease, clock: Clock, coordinator: Coordinator, left: list[int], request_: object, code: int, counts: bool
) -> None:
    await coordinator._send_req(HEARTBEAT)
    clock.now += 9
    coordinator.code = code
    await coordinator._send_req(request_)
    lease.check()
    assert (left == []) is counts


async def test_it_counts_from_when_the_heartbeat_was_sent(
    lease: Lease, clock: Clock, coordinator: Coordinator, left: list[int]
) -> None:
    """The answer may lie in the socket for as long as the process stands still."""
    coordinator.takes = 30
    await coordinator._send_req(HEARTBEAT)
    lease.check()
    assert left == [EX_TEMPFAIL]


async def test_an_old_answer_does_not_take_back_a_newer_one(lease: Lease, clock: Clock, left: list[int]) -> None:
    lease.renew(100.0)
    lease.renew(90.0)
    clock.now = 107.0
    lease.check()
    assert left == []
