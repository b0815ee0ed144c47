"""An agent's input as batches: whatever has arrived, at once, up to a limit."""

from collections.abc import AsyncIterator
from typing import Any

from faust.types import EventT, StreamT


async def batches(stream: StreamT[bytes], limit: int) -> AsyncIterator[list[EventT[bytes]]]:
    """Yield lists of 1 to `limit` events of one agent's topic; acknowledge each list when the next is asked for.

    Nothing waits for a batch to fill: under load it fills while the last one is worked on. (Faust's own
    `take_events` polls fifty times a second when idle, and passes every event through a chain of coroutines.)
    What was buffered before a rebalance is left alone: it is fetched again from the committed offset. Stock code
    acknowledges it unseen. A list whose body raises or is cancelled is not acknowledged.
    """
    await stream.maybe_start()
    channel: Any = stream.channel
    app, queue = stream.app, channel.queue
    in_flight = app.consumer.unacked
    while not stream.should_stop:
        try:
            events = [await queue.get()]
        except StopAsyncIteration:  # how a stopping app ends its streams
            return
        while len(events) < limit and not queue.empty():
            events.append(queue.get_nowait())
        generation = app.consumer_generation_id
        if not app.flow_control.is_active():
            continue
        events = [event for event in events if event.message.generation_id == generation]
        for event in events:
            event.message.tracked = True
            in_flight.add(event.message)
        if events:
            yield events
            for event in events:
                event.ack()
