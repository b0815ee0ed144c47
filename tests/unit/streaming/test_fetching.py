from notify_streams.streaming.fetching import BUSY_MS, IDLE_MS, poll_patiently


class Fetcher:
    """The parts of aiokafka's that matter: what it holds, and how long the next request may wait."""

    def __init__(self) -> None:
        self._records: dict[str, object] = {}
        self._fetch_max_wait_ms = 1500

    def _get_actions_per_node(self, assignment: object) -> int:
        return self._fetch_max_wait_ms


def test_a_fetch_is_short_while_anything_waits_and_long_when_all_is_idle() -> None:
    fetcher = Fetcher()
    poll_patiently(fetcher)
    assert fetcher._get_actions_per_node(None) == IDLE_MS
    fetcher._records["in"] = object()
    assert fetcher._get_actions_per_node(None) == BUSY_MS
    fetcher._records.clear()
    assert fetcher._get_actions_per_node(None) == IDLE_MS


def test_what_nobody_reads_keeps_no_fetch_short() -> None:
    fetcher = Fetcher()
    poll_patiently(fetcher, lambda tp: tp != "changelog")
    fetcher._records["changelog"] = object()
    assert fetcher._get_actions_per_node(None) == IDLE_MS
    fetcher._records["in"] = object()
    assert fetcher._get_actions_per_node(None) == BUSY_MS
