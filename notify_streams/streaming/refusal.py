"""Whether the consumer group has refused this process for good.

aiokafka's coordinator tries again by itself while the broker is away, moves or rebalances. Any other error (an
assignment protocol that the group does not share, a fenced instance id, a right that was taken away) it hands to
whoever next polls its consumer, and stands still until then: no join, no heartbeat. Faust asks the fetcher instead of
the consumer, so nobody ever takes the error, and the process would live on without a partition.
"""

import asyncio
from concurrent.futures import Future
from typing import Any


class Refusal:
    """Noted on the consumer's thread, waited for on the main one."""

    def __init__(self) -> None:
        self._noted: Future[BaseException] = Future()

    def watch(self, coordinator: Any) -> None:
        """Note the first error that this started aiokafka group coordinator gives up on."""
        push = coordinator._push_error_to_user

        def noted(error: BaseException) -> Any:
            self.note(error)
            return push(error)

        coordinator._push_error_to_user = noted
        coordinator._coordination_task.add_done_callback(self._routine_ended)

    def note(self, error: BaseException) -> None:
        """The group will not have us; later ones say nothing new."""
        if not self._noted.done():
            self._noted.set_result(error)

    @property
    def reason(self) -> BaseException | None:
        """What the coordinator gave up on; None while it has not."""
        return self._noted.result() if self._noted.done() else None

    async def wait(self) -> None:
        """Return once there is a reason; cancelling it takes nothing back."""
        await asyncio.shield(asyncio.wrap_future(self._noted))

    def _routine_ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.note(error)
