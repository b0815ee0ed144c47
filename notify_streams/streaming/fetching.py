"""How long the broker may hold a fetch: long while all is idle, short while anything waits."""

from typing import Any

IDLE_MS, BUSY_MS = 500, 25


def poll_patiently(fetcher: Any) -> None:
    """Let each fetch request of this aiokafka fetcher choose its own wait.

    aiokafka keeps one fetch in flight per broker. While a busy partition still has records buffered, the next
    fetch goes out for the idle partitions alone; Faust's fixed 1.5 s then starves the busy one. An idle worker
    on the other hand should not ask forty times a second.
    """
    plan = fetcher._get_actions_per_node

    def plan_with_wait(assignment: Any) -> Any:
        fetcher._fetch_max_wait_ms = BUSY_MS if fetcher._records else IDLE_MS
        return plan(assignment)

    fetcher._get_actions_per_node = plan_with_wait
