"""A server that was away and comes back, as it sees the senders that wait for it."""

import asyncio
import time
from collections import Counter

import msgspec

from agents.sending.jobs import Job
from agents.sending.standing import Standing
from notify_streams.domain.answers import TryLater
from notify_streams.domain.breaker import BreakerPolicy
from tests.builders import DAY
from tests.fakes import Clock, arrived
from tests.sending import TERMS, Results, a_sender, mail, states, until
from tests.smtp_servers import RawServer, provider_at, raw_server

DOWN = {"greeting": b"421 4.3.2 going down"}
WAITING = 500


class Real(Clock):
    """The machine's own."""

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000


now = Real()


def opened(policy: BreakerPolicy) -> Standing:
    """A breaker that has just opened."""
    standing = Standing("smtp", policy)
    for _ in range(policy.failures):
        standing.may_call(now())
        standing.heard(TryLater("421", about="provider"), now(), 0.0)
    return standing


async def most_at_once(server: RawServer, enough: asyncio.Event) -> int:
    """How many conversations the server ever had at a time until that is enough."""
    most = 0
    while not enough.is_set():
        most = max(most, len(server.conversations))
        await asyncio.sleep(0)
    return most


async def seen_until_connected(server: RawServer, connections: int) -> int:
    """How many at once until there were so many in all, from now on."""
    enough, goal = asyncio.Event(), server.connections + connections
    watching = asyncio.create_task(most_at_once(server, enough))
    await until(lambda: server.connections >= goal)
    enough.set()
    return await watching


async def test_one_connection_tries_a_server_while_500_wait_and_then_they_come_step_by_step() -> None:
    """FAIR-05: the probe fails, later succeeds; never more than the one, and no rush behind it."""
    at = now()
    deliveries = [mail(f"u{n}", accepted_at=at, decided_at=at, expires_at=at + DAY) for n in range(WAITING)]
    jobs = [Job(arrived(b"", d.user_id.encode()), d) for d in deliveries]
    results, standing = Results(), opened(BreakerPolicy(open_ms=100, most_open_ms=100))
    terms = msgspec.structs.replace(TERMS, hold_s=30.0)
    async with raw_server(DOWN, pause=0.02) as server, provider_at(server.port, concurrency=WAITING) as provider:
        sender = a_sender(provider, standings={"smtp": standing}, clock=now, concurrency=WAITING, terms=terms)
        working = asyncio.create_task(sender.work(jobs, results.add, hold=True))
        assert await seen_until_connected(server, 3) == 1
        server.answers = {}
        assert await seen_until_connected(server, 4) <= 4
        await working
    found = Counter(states(results))
    assert found["sent"] == len(server.mails) == WAITING - found["retrying"]
    assert 2 <= found["retrying"] <= 4
    assert standing.breaker.state == "closed"
