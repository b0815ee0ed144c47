"""How long the broker may hold a fetch: long while all is idle, short while anything waits."""

from collections.abc import Callable
from typing import Any

IDLE_MS, BUSY_MS = 500, 25


def poll_patiently(fetcher: Any, is_read: Callable[[Any], bool] = lambda _: True) -> None:
    """Let each fetch request of this aiokafka fetcher choose its own wait.

    `is_read` says whether anybody takes the records of a partition: a table's changelog stays assigned after its
    recovery, and the first record that the worker writes to it comes back and waits in the fetcher for good.

    aiokafka keeps one fetch in flight per broker. While a busy partition still has records buffered, the next
    fetch goes out for the idle partitions alone; Faust's fixed 1.5 s then starves the busy one. An idle worker
    on the other hand should not ask forty times a second.
    """
    plan = fetcher._get_actions_per_node

    def plan_with_wait(assignment: Any) -> Any:
        fetcher._fetch_max_wait_ms = BUSY_MS if any(is_read(tp) for tp in fetcher._records) else IDLE_MS
        return plan(assignment)

    fetcher._get_actions_per_node = plan_with_wait
