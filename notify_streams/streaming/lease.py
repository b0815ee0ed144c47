"""Whether this process may still write: the time of its last good heartbeat.

A worker that stood still longer than its session (SIGSTOP, a long pause) has been replaced. Whatever it still has
queued would land behind its successor's records in the same changelog, and idempotent producers do not fence that.
"""

import logging
import os
import time
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)
EX_TEMPFAIL = 75
_MARGIN_S = 2.0


class Lease:
    """Counts from when a heartbeat was *sent*: an answer can lie in the socket for as long as we were stopped."""

    def __init__(
        self,
        session_timeout: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        leave: Callable[[int], Any] = os._exit,
    ) -> None:
        self._allowed = session_timeout - _MARGIN_S
        self._clock, self._leave = clock, leave
        self._renewed_at: float | None = None

    def watch(self, coordinator: Any) -> None:
        """Note each heartbeat that this aiokafka group coordinator gets answered well."""
        beat = coordinator._do_heartbeat

        async def noted() -> bool:
            sent_at = self._clock()
            good: bool = await beat()
            if good:
                self.renew(sent_at)
            return good

        coordinator._do_heartbeat = noted

    def renew(self, at: float) -> None:
        """The group counted us as a member at this instant of the clock."""
        self._renewed_at = at if self._renewed_at is None else max(at, self._renewed_at)

    def check(self) -> None:
        """End the process at once when somebody else may own its partitions by now; before any join: fine."""
        if self._renewed_at is None:
            return
        age = self._clock() - self._renewed_at
        if age > self._allowed:
            log.critical("lease.expired seconds=%.1f allowed=%.1f", age, self._allowed)
            self._leave(EX_TEMPFAIL)
