"""How the pipeline stands, in a sentence, a picture and tables. Pure."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from notify_streams.gateway.console.figures import Window
from schemas.words import CHANNELS, LANES, Channel, Lane

Mood = Literal["ok", "warn", "bad"]
OLD_S, LATE_S, BEHIND = 30.0, 2.0, 10_000
_BREAKER: dict[int, str] = {0: "closed", 1: "half-open", 2: "open"}
_CHANNEL_ROLES: dict[Channel, str] = {
    channel: "inbox" if channel == "inapp" else f"sender-{channel}" for channel in CHANNELS
}


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """One role. Rates per second, ages in seconds; `notes` are what else is worth a word."""

    role: str
    processes: int
    rate: float
    lag: float
    oldest_s: float
    notes: tuple[str, ...] = ()
    mood: Mood = "ok"


class LaneRow(msgspec.Struct, frozen=True, kw_only=True):
    """One lane, end to end, in the inbox and at providers. Seconds; None where nothing arrived."""

    lane: Lane
    rate: float
    oldest_s: float
    p50_s: float | None
    p99_s: float | None


class ProviderRow(msgspec.Struct, frozen=True, kw_only=True):
    """One provider. `calls` per second, `failed` the share of them that was not taken, `waited_s` for the limit."""

    provider: str
    channel: str
    breaker: str
    since: float | None
    calls: float
    failed: float
    p50_s: float | None
    p95_s: float | None
    waited_s: float | None
    alerts: tuple[str, ...]
    outcomes: dict[str, float]
    mood: Mood


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """The whole. `sentence` is what somebody would say who looked at it; `silent` are processes that do not answer."""

    sentence: str
    mood: Mood
    seconds: float
    accepted: float
    hops: tuple[Hop, ...]
    lanes: tuple[LaneRow, ...]
    providers: tuple[ProviderRow, ...]
    decisions: dict[str, float]
    dead_letters: float
    timers: float | None
    timer_late_p99_s: float | None
    connections: float
    silent: tuple[str, ...]


def now(window: Window, *, silent: tuple[str, ...] = (), opened: Mapping[str, float] | None = None) -> Now:
    """From what happened in the window. `opened`: since when (s, wall clock) a provider's breaker is open."""
    providers = providers_of(window, opened or {})
    hops = tuple(_hops(window))
    accepted = window.rate("notify_events_total", outcome="accepted")
    p95 = window.quantile("notify_end_to_end_seconds", 0.95, deferred="no")
    mood, sentence = _said(hops, providers, silent, window.rate("notify_deliveries_total"), p95)
    return Now(
        sentence=sentence,
        mood=mood,
        seconds=window.seconds,
        accepted=accepted,
        hops=hops,
        lanes=tuple(_lane(window, lane) for lane in LANES),
        providers=providers,
        decisions=window.rates("notify_decisions_total", "decision"),
        dead_letters=window.rate("notify_dead_letters_total"),
        timers=window.total("notify_timers_pending"),
        timer_late_p99_s=window.quantile("notify_timer_lateness_seconds", 0.99),
        connections=window.total("notify_connections") or 0.0,
        silent=silent,
    )


def providers_of(window: Window, opened: Mapping[str, float]) -> tuple[ProviderRow, ...]:
    """All that any process has a breaker for, by name."""
    names: dict[str, float] = {}
    for labels, state in window.values("notify_breaker_state"):
        names[labels["provider"]] = max(state, names.get(labels["provider"], 0.0))
    return tuple(_provider(window, name, int(state), opened.get(name)) for name, state in sorted(names.items()))


def _provider(window: Window, name: str, state: int, since: float | None) -> ProviderRow:
    outcomes = window.rates("notify_attempts_total", "outcome", provider=name)
    channels = window.rates("notify_attempts_total", "channel", provider=name)
    calls, sent = sum(outcomes.values()), outcomes.get("sent", 0.0)
    alerts = [labels["alert"] for labels, on in window.values("notify_provider_alert", provider=name) if on]
    failed = (calls - sent) / calls if calls else 0.0
    mood: Mood = "bad" if state == 2 or alerts else "warn" if state == 1 or failed > 0.01 else "ok"
    return ProviderRow(
        provider=name,
        channel=next(iter(channels), ""),
        breaker=_BREAKER.get(state, "unknown"),
        since=since if state == 2 else None,
        calls=calls,
        failed=failed,
        p50_s=window.quantile("notify_provider_request_seconds", 0.5, provider=name),
        p95_s=window.quantile("notify_provider_request_seconds", 0.95, provider=name),
        waited_s=window.quantile("notify_limiter_wait_seconds", 0.95, provider=name),
        alerts=tuple(sorted(set(alerts))),
        outcomes={outcome: rate for outcome, rate in sorted(outcomes.items()) if rate},
        mood=mood,
    )


def _hops(window: Window) -> list[Hop]:
    roles: dict[str, set[str]] = {}
    for process, samples in window.now.by_process.items():
        for name, labels in samples:
            if name == "notify_consumer_lag":
                roles.setdefault(dict(labels).get("role", ""), set()).add(process)
    return [_hop(window, role, len(processes)) for role, processes in roles.items()]


def _hop(window: Window, role: str, processes: int) -> Hop:
    lag = window.total("notify_consumer_lag", role=role) or 0.0
    oldest = window.greatest("notify_queue_age_seconds", role=role) or 0.0
    notes = tuple(_notes(window, role))
    mood: Mood = "bad" if lag > BEHIND else "warn" if oldest > OLD_S and lag else "ok"
    rate = window.rate("notify_stage_records_total", role=role)
    return Hop(role=role, processes=processes, rate=rate, lag=lag, oldest_s=oldest, notes=notes, mood=mood)


def _notes(window: Window, role: str) -> list[str]:
    if role == "orchestrator":
        decided = window.rates("notify_decisions_total", "decision")
        total = sum(decided.values())
        names = {"suppress": "suppressed", "defer": "deferred", "collect": "collected"}
        return [f"{word} {decided[name] / total:.0%}" for name, word in names.items() if total and decided.get(name)]
    for channel, own in _CHANNEL_ROLES.items():
        if own == role:
            p95 = window.quantile("notify_end_to_end_seconds", 0.95, channel=channel, deferred="no")
            failed = window.rate("notify_deliveries_total", channel=channel, state="failed")
            notes = [] if p95 is None else [f"p95 {seconds(p95)}"]
            return notes + ([f"{failed:.1f} failed/s"] if failed else [])
    if role == "scheduler":
        pending = window.total("notify_timers_pending")
        return [] if pending is None else [f"{pending:,.0f} wait"]
    return []


def _lane(window: Window, lane: Lane) -> LaneRow:
    return LaneRow(
        lane=lane,
        rate=window.rate("notify_stage_records_total", role="orchestrator", lane=lane),
        oldest_s=window.greatest("notify_queue_age_seconds", lane=lane) or 0.0,
        p50_s=window.quantile("notify_end_to_end_seconds", 0.5, lane=lane, deferred="no"),
        p99_s=window.quantile("notify_end_to_end_seconds", 0.99, lane=lane, deferred="no"),
    )


def _said(
    hops: tuple[Hop, ...],
    providers: tuple[ProviderRow, ...],
    silent: tuple[str, ...],
    rate: float,
    p95: float | None,
) -> tuple[Mood, str]:
    """What is wrong comes after what goes on; what is right in a few words."""
    words = [f"{rate:,.0f} deliveries a second" + (f", p95 {seconds(p95)}" if p95 is not None else "")]
    bad = [f"{p.provider} is {p.breaker}" if p.breaker == "open" else "" for p in providers]
    wrong = [word for word in bad if word]
    wrong += [f"{p.provider}: {', '.join(p.alerts)}" for p in providers if p.alerts]
    wrong += [f"{hop.role} is {hop.lag:,.0f} records behind" for hop in hops if hop.mood == "bad"]
    wrong += [f"{', '.join(silent)} {'does' if len(silent) == 1 else 'do'} not answer"] if silent else []
    slow = [f"{hop.role} works on what is {seconds(hop.oldest_s)} old" for hop in hops if hop.mood == "warn"]
    slow += [f"{p.provider} fails {p.failed:.1%} of its calls" for p in providers if p.mood == "warn"]
    if p95 is not None and p95 > LATE_S:
        slow.append(f"p95 is above {LATE_S:.0f} s")
    healthy = sum(p.mood == "ok" for p in providers)
    if providers:
        words.append(f"{healthy} of {len(providers)} providers healthy")
    if not hops:
        return "warn", "No process of the pipeline has been seen yet."
    mood: Mood = "bad" if wrong else "warn" if slow else "ok"
    return mood, ". ".join([*words, *wrong, *slow]) + "."


def seconds(value: float) -> str:
    """A span as people read it: 80 ms, 0.6 s, 12 s, 4 min, 3 h."""
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    if value < 9.95:
        return f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.0f} h"
