"""An agent's input as batches: whatever has arrived, at once, up to a limit."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

from faust.types import EventT, StreamT

from notify_streams.streaming.intake import Batch


async def batches(stream: StreamT[bytes], limit: int, gather_s: float = 0.0) -> AsyncIterator[list[EventT[bytes]]]:
    """Yield lists of 1 to `limit` records of one agent's topic; each counts as done when the next is asked for.

    Nothing waits for a batch to fill, but for `gather_s` while records keep coming: under load it fills while the
    last one is worked on. (Faust's own `take_events` polls fifty times a second when idle, and passes every event
    through a chain of coroutines.) What was buffered before a rebalance is left alone: it is fetched again from the
    committed offset. Stock code acknowledges it unseen. A list whose body raises or is cancelled is not acknowledged,
    nor is anything after it.
    """
    consumer: Any = stream.app.consumer
    intake = consumer.intake(stream.channel)
    await stream.maybe_start()
    while not stream.should_stop:
        batch: Batch = await intake.take(limit, gather_s)
        try:
            yield cast("list[EventT[bytes]]", batch)
        except BaseException:  # the agent was cancelled, or raised and this generator is being closed
            if not batch.held:
                batch.give_up()
            raise
        if not batch.held:
            batch.done()
        await asyncio.sleep(0)  # a backlog gives no other reason to wait: HIGH would stand behind LOW batches


def interrupted(app: Any) -> bool:
    """Whether a list in hand may be put back: a stop has begun, or a rebalance has stopped the flow.

    Faust calls it a rebalance until some moments after the flow has begun again. What is delivered in those is not
    fetched once more: put back, it would hold up its partition's commits until a restart, and nobody would process it.
    """
    return bool(app.should_stop or (app.rebalancing and not app.consumer.flow_active))


def put_back(batch: object) -> None:
    """The list that `batches` yielded was not processed and never will be here: `interrupted` said so.

    It comes again to whoever has its partitions next. Nothing after it is acknowledged until then.
    """
    taken = cast(Batch, batch)
    taken.held = True
    taken.give_up()
