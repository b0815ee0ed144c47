"""What the machinery of a sender costs per delivery: `python -m tests.bench.sending [DELIVERIES]`.

In one process, a provider that takes 100 ms, keys in memory, 256 calls at once, batches of 500. The whole of it: claim,
gate, message with its signed reference, order, slot, permit, breaker, marks, outcome; neither Kafka nor templates.
"""

import asyncio
import sys
import time

import uvloop

from agents.sending.jobs import End, Job
from notify_streams.domain.answers import Answer, Sent
from notify_streams.ports import Message
from notify_streams.providers.limiter import LocalLimiter
from tests.fakes import arrived
from tests.sending import a_sender, mail

BATCH, AT_ONCE, TAKES_S = 500, 256, 0.1


class Slow:
    """Takes everything, after a while."""

    name, repeatable = "fcm", False

    def takes(self, message: Message) -> bool:
        return True

    async def send(self, message: Message, *, now: int) -> Answer:
        await asyncio.sleep(TAKES_S)
        return Sent("m")

    async def close(self) -> None:
        """Nothing is open."""


async def run(count: int) -> str:
    limiter = LocalLimiter({"fcm": 1e6}, share=1.0, clock=time.monotonic)
    sender = a_sender(Slow(), concurrency=AT_ONCE, limiter=limiter)
    jobs = [Job(arrived(b"", f"u{n}".encode()), mail(f"u{n}")) for n in range(count)]
    ended = list[End]()
    cpu, began, under_way = time.process_time(), time.monotonic(), set[asyncio.Task[None]]()
    for at in range(0, count, BATCH):
        work = asyncio.ensure_future(sender.work(jobs[at : at + BATCH], lambda _, end: ended.append(end), hold=True))
        under_way.add(work)
        work.add_done_callback(under_way.discard)
        await asyncio.sleep(0)
        await sender.room(AT_ONCE)
    await asyncio.gather(*under_way)
    used, took = time.process_time() - cpu, time.monotonic() - began
    assert len(ended) == count
    return f"{count:,} deliveries: {used / count * 1e6:.0f} us of CPU each, {count / took:,.0f}/s"


if __name__ == "__main__":
    print(uvloop.run(run(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)))
