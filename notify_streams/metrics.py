"""Every metric's name, labels and meaning. Labels are bounded: never a user id, an address or a token."""

from prometheus_client import Counter, Gauge, Histogram

_FAST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300)

EVENTS = Counter("notify_events_total", "Events by what became of them", ["outcome"])
DECISIONS = Counter("notify_decisions_total", "Verdicts per channel", ["channel", "decision", "reason"])
DELIVERIES = Counter("notify_deliveries_total", "Deliveries by what became of them", ["channel", "state"])
ATTEMPTS = Counter("notify_attempts_total", "Calls to a provider", ["channel", "provider", "outcome"])
PROVIDER_SECONDS = Histogram(
    "notify_provider_request_seconds", "Duration of a call to a provider", ["provider"], buckets=_FAST
)
BREAKER_STATE = Gauge("notify_breaker_state", "0 lets calls through, 1 tries one, 2 lets none through", ["provider"])
LIMITER_WAIT = Histogram(
    "notify_limiter_wait_seconds", "Wait for a permit to call a provider", ["provider"], buckets=_FAST
)
PROVIDER_ALERTS = Gauge(
    "notify_provider_alert",
    "1 while a provider refuses our credentials (misconfigured), calls too many addresses dead (gone: none is removed)"
    " or refuses us as a sender (blocked: LOW is paused)",
    ["provider", "alert"],
)
PROVIDER_TROUBLE = Counter(
    "notify_provider_trouble_total",
    "Answers that somebody has to look at: misconfigured, blocked, gone_kept (an address that was not removed)",
    ["provider", "trouble"],
)
DELIVERY_ATTEMPTS = Histogram(
    "notify_delivery_attempts",
    "Calls to a provider that a delivery had taken when it ended",
    ["channel", "outcome"],
    buckets=(0, 1, 2, 3, 4, 5, 6, 8, 12),
)
END_TO_END = Histogram(
    "notify_end_to_end_seconds",
    "From acceptance, or the last due time, to the provider's acceptance or the inbox write",
    ["channel", "lane", "deferred"],
    buckets=_FAST,
)
QUEUE_AGE = Gauge("notify_queue_age_seconds", "Age of the record last taken up, 0 once all is done", ["role", "lane"])
STAGE_SECONDS = Histogram("notify_stage_seconds", "Duration of a batch", ["role"], buckets=_FAST)
STAGE_RECORDS = Counter("notify_stage_records_total", "Records processed", ["role", "lane"])
TIMERS_PENDING = Gauge("notify_timers_pending", "Timers put and not yet released, by this process's count")
TIMERS_OVERDUE = Gauge(
    "notify_timers_overdue_seconds", "How long ago the oldest timer was due that is not yet released"
)
TIMER_LATENESS = Histogram("notify_timer_lateness_seconds", "Release after due time", buckets=_FAST)
DEAD_LETTERS = Counter("notify_dead_letters_total", "Records that could not be processed", ["stage"])
DUPLICATES = Counter("notify_duplicates_total", "Repeats that had no second effect", ["stage"])
UNRESOLVED = Counter(
    "notify_hook_receipts_unresolved_total",
    "Receipts whose producer was not known when they came; told within the hour if their outcome follows.",
)
MISROUTED = Counter("notify_misrouted_total", "Records that came on another key's partition", ["topic"])
CONSUMER_LAG = Gauge("notify_consumer_lag", "Records behind the end of the log", ["role", "topic"])
UNACCOUNTED = Gauge("notify_unaccounted", "Accepted notifications without a final or pending state")
RECEIPTS = Counter(
    "notify_receipts_total",
    "Events of providers' callbacks by what became of them, and what they say (a block is a bounce that judges us)",
    ["provider", "outcome", "state"],
)
UNSUBSCRIBES = Counter(
    "notify_unsubscribes_total", "Categories or channels switched off by a link in a message", ["type", "category"]
)
BYPASSED = Counter("notify_bypassed_total", "Work done without an expendable engine that was away", ["engine"])
HTTP_SECONDS = Histogram(
    "notify_http_request_seconds",
    "From a request's head to its answer, by route; streams are not in it",
    ["route", "method", "status"],
    buckets=_FAST,
)
PROBE_FAILED = Gauge(
    "notify_probe_failed", "1 while the last synthetic notification did not arrive in time", ["channel"]
)
PROBE_SECONDS = Histogram(
    "notify_probe_seconds", "From the post of a synthetic event to its arrival", ["channel"], buckets=_FAST
)
CONNECTIONS = Gauge("notify_connections", "Live streams that are open", ["transport"])
STREAMS_ENDED = Counter("notify_streams_ended_total", "Live streams that the gateway ended", ["transport", "code"])
STREAM_RESETS = Counter("notify_stream_resets_total", "Streams that could not go on where their client was")


def nothing_waits() -> None:
    """All that was there is done: no queue is as old as what was taken from it last."""
    for metric in QUEUE_AGE.collect():
        for sample in metric.samples:
            QUEUE_AGE.labels(**sample.labels).set(0)
