"""Whether this process may still write: the time of its last good heartbeat.

A worker that stood still longer than its session (SIGSTOP, a long pause) has been replaced. Whatever it still has
queued would land behind its successor's records in the same changelog, and idempotent producers do not fence that.
"""

import logging
import os
import time
from collections.abc import Callable
from typing import Any

from aiokafka.errors import NoError, RebalanceInProgressError
from aiokafka.protocol.group import HeartbeatRequest, SyncGroupRequest

log = logging.getLogger(__name__)
EX_TEMPFAIL = 75
_MARGIN_S = 2.0
_AS_MEMBER = (HeartbeatRequest, SyncGroupRequest)
_COUNTED = frozenset({NoError.errno, RebalanceInProgressError.errno})


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
        """Note each request that this aiokafka group coordinator gets answered as a member.

        A join counts too (by its SyncGroup): while the group waits for a slow member there is no heartbeat, and
        the first records after it must not look like those of the dead.
        """
        send = coordinator._send_req

        async def noted(request: Any) -> Any:
            sent_at = self._clock()
            answer = await send(request)
            if isinstance(request, _AS_MEMBER) and answer.error_code in _COUNTED:
                self.renew(sent_at)
            return answer

        coordinator._send_req = noted

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
