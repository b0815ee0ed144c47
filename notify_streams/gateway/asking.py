"""A command on the log, and its answer from the log."""

import asyncio
from dataclasses import dataclass

from notify_streams.gateway.publisher import Publisher
from notify_streams.gateway.results import Answer, Results


@dataclass(frozen=True, slots=True)
class Asking:
    """Gives commands to whoever owns the state, and waits for what they say."""

    publisher: Publisher
    results: Results
    timeout_s: float

    async def ask(self, topic: str, key: bytes, value: bytes, command_id: str) -> Answer | None:
        """The answer; None when it did not come in time. Raises Unavailable when it is not known to be on the log."""
        future = self.results.expect(command_id)
        try:
            await self.publisher.publish(topic, key, value)
            async with asyncio.timeout(self.timeout_s):
                return await future
        except TimeoutError:
            return None
        finally:
            future.cancel()
