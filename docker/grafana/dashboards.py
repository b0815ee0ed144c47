"""Writes the dashboards beside it: `python docker/grafana/dashboards.py`. A test sees that they are in step."""

import json
from pathlib import Path
from typing import Any

Panel = dict[str, Any]
HERE = Path(__file__).parent / "dashboards"
_WIDTH, _HEIGHT = 24, 7
_SOURCE = {"type": "prometheus", "uid": "${source}"}


def panel(
    title: str, *queries: tuple[str, str], unit: str = "short", width: int = 8, kind: str = "timeseries"
) -> Panel:
    """One picture of some queries, each with its legend. Units are Grafana's names."""
    targets = [
        {"refId": chr(65 + i), "expr": expr, "legendFormat": legend, "datasource": _SOURCE}
        for i, (expr, legend) in enumerate(queries)
    ]
    defaults: dict[str, Any] = {"unit": unit, "min": 0}
    if kind == "timeseries":
        defaults["custom"] = {"lineWidth": 1, "fillOpacity": 8, "showPoints": "never"}
    return {
        "title": title,
        "type": kind,
        "datasource": _SOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "gridPos": {"w": width, "h": _HEIGHT},
    }


def quantile(q: float, metric: str, by: str, where: str = "") -> str:
    """A quantile of a histogram over five minutes, by these labels."""
    labels = ", ".join(filter(None, (by, "le")))
    return f"histogram_quantile({q}, sum by ({labels}) (rate({metric}_bucket{where}[5m])))"


def rate(metric: str, by: str, where: str = "") -> str:
    """How many a second, by these labels."""
    return f"sum by ({by}) (rate({metric}{where}[5m]))"


def dashboard(name: str, title: str, panels: list[Panel], variable: tuple[str, str] | None = None) -> dict[str, Any]:
    """Panels from left to right, and then below. `variable`: a label to choose by, and the metric that knows it."""
    x = y = 0
    for number, one in enumerate(panels, 1):
        place = one["gridPos"]
        if x + place["w"] > _WIDTH:
            x, y = 0, y + _HEIGHT
        place.update(x=x, y=y)
        one["id"] = number
        x += place["w"]
    variables: list[dict[str, Any]] = [
        {"name": "source", "type": "datasource", "query": "prometheus", "label": "Source"}
    ]
    if variable:
        label, metric = variable
        query = f"label_values({metric}, {label})"
        choice = {"name": label, "type": "query", "datasource": _SOURCE, "query": query, "refresh": 2}
        variables.append({**choice, "includeAll": True, "multi": True, "allValue": ".*", "label": label.capitalize()})
    return {
        "uid": f"notify-{name}",
        "title": f"notify-streams · {title}",
        "tags": ["notify-streams"],
        "timezone": "browser",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": variables},
        "panels": panels,
    }


def overview() -> dict[str, Any]:
    """Is all well?"""
    timers = quantile(0.99, "notify_timer_lateness_seconds", "")
    return dashboard(
        "overview",
        "Overview",
        [
            panel("Events", (rate("notify_events_total", "outcome"), "{{outcome}}"), unit="ops"),
            panel("Decisions", (rate("notify_decisions_total", "decision"), "{{decision}}"), unit="ops"),
            panel(
                "Deliveries", (rate("notify_deliveries_total", "channel, state"), "{{channel}} {{state}}"), unit="ops"
            ),
            panel("End to end, p95 by channel", ("notify:end_to_end_seconds:p95", "{{channel}}"), unit="s"),
            panel(
                "End to end, p50 p95 p99 by lane",
                *(
                    (quantile(q, "notify_end_to_end_seconds", "lane", '{deferred="no"}'), f"{{{{lane}}}} p{q:.0%}"[:-1])
                    for q in (0.5, 0.95, 0.99)
                ),
                unit="s",
            ),
            panel(
                "Age of what is taken up",
                ("max by (role, lane) (notify_queue_age_seconds)", "{{role}} {{lane}}"),
                unit="s",
            ),
            panel("Lag", ("sum by (role) (notify_consumer_lag)", "{{role}}")),
            panel(
                "Timers: how late, p99; oldest due",
                (timers, "p99"),
                ("max(notify_timers_overdue_seconds)", "oldest"),
                unit="s",
            ),
            panel("Timers that wait", ("sum(notify_timers_pending)", "timers")),
            panel("Dead letters", ("sum by (stage) (increase(notify_dead_letters_total[15m]))", "{{stage}}")),
            panel("Requests answered, last hour", ("notify:http:available_ratio_1h", "share"), unit="percentunit"),
            panel("Requests, p99", (quantile(0.99, "notify_http_request_seconds", "route"), "{{route}}"), unit="s"),
            panel("Live streams", ("sum by (transport) (notify_connections)", "{{transport}}")),
            panel("Repeats without effect", (rate("notify_duplicates_total", "stage"), "{{stage}}"), unit="ops"),
            panel("Unaccounted for", ("max(notify_unaccounted)", "notifications")),
        ],
    )


def failures() -> dict[str, Any]:
    """What fails, where and why."""
    here = '{channel=~"$channel"}'
    failed = '{channel=~"$channel", state="failed"}'
    return dashboard(
        "failures",
        "Failures by channel",
        [
            panel("Share that fails", ('notify:failed:ratio{channel=~"$channel"}', "{{channel}}"), unit="percentunit"),
            panel("Failed", (rate("notify_deliveries_total", "channel", failed), "{{channel}}"), unit="ops"),
            panel(
                "How deliveries end",
                (rate("notify_deliveries_total", "channel, state", here), "{{channel}} {{state}}"),
                unit="ops",
            ),
            panel(
                "Attempts by outcome",
                (rate("notify_attempts_total", "channel, outcome", here), "{{channel}} {{outcome}}"),
                unit="ops",
                width=12,
            ),
            panel(
                "Attempts per delivery, p95",
                (quantile(0.95, "notify_delivery_attempts", "channel, outcome", here), "{{channel}} {{outcome}}"),
                width=12,
            ),
            panel(
                "Not sent, by reason",
                (
                    rate("notify_decisions_total", "channel, reason", '{channel=~"$channel", decision="suppress"}'),
                    "{{channel}} {{reason}}",
                ),
                unit="ops",
                width=12,
            ),
            panel("Receipts", (rate("notify_receipts_total", "provider, state"), "{{provider}} {{state}}"), unit="ops"),
            panel("Unsubscribed", ("sum by (type) (increase(notify_unsubscribes_total[1h]))", "{{type}}"), width=4),
        ],
        ("channel", "notify_deliveries_total"),
    )


def providers() -> dict[str, Any]:
    """Who carries what, and how well."""
    here = '{provider=~"$provider"}'
    waits = quantile(0.95, "notify_limiter_wait_seconds", "provider", here)
    return dashboard(
        "providers",
        "Providers",
        [
            panel(
                "Breaker: 0 lets through, 1 tries, 2 lets none through",
                (f"max by (provider) (notify_breaker_state{here})", "{{provider}}"),
                kind="state-timeline",
                width=12,
            ),
            panel(
                "Refuses us",
                (f"max by (provider, alert) (notify_provider_alert{here})", "{{provider}} {{alert}}"),
                kind="state-timeline",
                width=12,
            ),
            panel(
                "Calls by outcome",
                (rate("notify_attempts_total", "provider, outcome", here), "{{provider}} {{outcome}}"),
                unit="ops",
                width=12,
            ),
            panel(
                "Calls, p50",
                (quantile(0.5, "notify_provider_request_seconds", "provider", here), "{{provider}}"),
                unit="s",
                width=6,
            ),
            panel(
                "Calls, p99",
                (quantile(0.99, "notify_provider_request_seconds", "provider", here), "{{provider}}"),
                unit="s",
                width=6,
            ),
            panel("Wait for a permit, p95", (waits, "{{provider}}"), unit="s"),
            panel(
                "Somebody has to look",
                (
                    f"sum by (provider, trouble) (increase(notify_provider_trouble_total{here}[15m]))",
                    "{{provider}} {{trouble}}",
                ),
            ),
            panel(
                "Receipts by what became of them",
                (rate("notify_receipts_total", "provider, outcome", here), "{{provider}} {{outcome}}"),
                unit="ops",
            ),
        ],
        ("provider", "notify_breaker_state"),
    )


def roles() -> dict[str, Any]:
    """How each role keeps up, and what it costs."""
    here = '{role=~"$role"}'
    return dashboard(
        "roles",
        "Roles",
        [
            panel("Records", (rate("notify_stage_records_total", "role, lane", here), "{{role}} {{lane}}"), unit="ops"),
            panel("Lag by topic", (f"sum by (role, topic) (notify_consumer_lag{here})", "{{role}} {{topic}}")),
            panel(
                "Age of what is taken up",
                (f"max by (role, lane) (notify_queue_age_seconds{here})", "{{role}} {{lane}}"),
                unit="s",
            ),
            panel("A batch, p95", (quantile(0.95, "notify_stage_seconds", "role", here), "{{role}}"), unit="s"),
            panel(
                "CPU", ("sum by (instance) (rate(process_cpu_seconds_total[5m]))", "{{instance}}"), unit="percentunit"
            ),
            panel("Memory", ("process_resident_memory_bytes", "{{instance}}"), unit="bytes"),
            panel(
                "Records on a wrong partition", ("sum by (topic) (increase(notify_misrouted_total[15m]))", "{{topic}}")
            ),
            panel(
                "Done without an engine that was away",
                (rate("notify_bypassed_total", "engine"), "{{engine}}"),
                unit="ops",
            ),
            panel("Streams that had to list again", ("sum(increase(notify_stream_resets_total[15m]))", "resets")),
        ],
        ("role", "notify_consumer_lag"),
    )


def written() -> dict[str, str]:
    """Each file's name and text."""
    made = {"overview": overview(), "failures": failures(), "providers": providers(), "roles": roles()}
    return {f"{name}.json": json.dumps(value, indent=1) + "\n" for name, value in made.items()}


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for file, text in written().items():
        (HERE / file).write_text(text)
