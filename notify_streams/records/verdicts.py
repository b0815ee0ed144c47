"""Decisions and their verdicts in words."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import assert_never

from notify_streams.domain.local_times import rules_of
from notify_streams.domain.zones import ZONES
from schemas.decisions import Collect, DecisionV1, Defer, Deliver, Suppress, Verdict
from schemas.notifications import NotificationV1
from schemas.words import IN_WORDS, Channel, Reason

NAMES: dict[Channel, str] = {
    "inapp": "the inbox",
    "email": "mail",
    "push": "push",
    "sms": "text message",
    "webhook": "webhook",
}
_TOLD_ALONE = 5


def why(reason: Reason | None) -> str:
    """A reason in words."""
    return "no reason was given" if reason is None else IN_WORDS[reason]


def clock(at_ms: int, zone: str | None = None) -> str:
    """An instant as people write it, in UTC; where a zone is given, with what its clocks show."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    utc = at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
    return f"{utc} ({at.astimezone(rules_of(zone)):%H:%M} in {zone})" if zone in ZONES else utc


def occasion(decision: DecisionV1) -> str:
    """That it was decided, and on what occasion where that is not the first."""
    notification = decision.notification
    if decision.state.joining:
        return "left out when its digest was made up"
    if not notification.revision:
        return "decided"
    whom = f" for {notification.endpoint_id}" if notification.endpoint_id else ""
    return f"decided again{whom} (revision {notification.revision})"


def said(decision: DecisionV1) -> str:
    """All verdicts of a decision."""
    return "; ".join(in_words(v, decision) for v in decision.verdicts) or "there is no channel to send it on"


def in_words(verdict: Verdict, decision: DecisionV1) -> str:
    """One verdict of this decision."""
    name, zone = NAMES[verdict.channel], decision.profile.zone
    match verdict:
        case Deliver():
            return _sent(verdict, decision.notification.endpoint_id, zone)
        case Defer():
            return f"{name} waits until {clock(verdict.until, zone)}, because {why(verdict.reason)}"
        case Collect():
            waits = f"{name} waits for {window(verdict.window)} until {clock(verdict.until, zone)}"
            return f"{waits}, because {why(verdict.reason)}"
        case Suppress():
            return f"not {'to' if verdict.channel == 'inapp' else 'by'} {name}, because {why(verdict.reason)}"
        case _:
            assert_never(verdict)


def window(key: str) -> str:
    """What is waited for in a window."""
    kind, _, rest = key.partition("/")
    if kind == "digest":
        return f"the digest of {rest}"
    type_, _, aggregation_key = rest.partition("/")
    return f"more of {type_} about {aggregation_key}"


def headline(digest: NotificationV1) -> str:
    """What a digest or an aggregation is, from its own decision."""
    count = f"{len(digest.members)} notification{'s' if len(digest.members) > 1 else ''}"
    channel, _, rest = digest.event_id.partition("/")
    kind, _, about = rest.rpartition("/")[0].partition("/")
    name = next((words for known, words in NAMES.items() if known == channel), channel)
    if kind == "digest":
        return f"A digest of {about} by {name} for {digest.user_id}: {count}"
    type_, _, aggregation_key = about.partition("/")
    as_one = " told as one" if len(digest.members) > 1 else ""
    return f"{type_} about {aggregation_key} by {name} for {digest.user_id}: {count}{as_one}"


def members(digest: NotificationV1) -> str:
    """The ids that it speaks for, of many the first."""
    told = digest.members[:_TOLD_ALONE]
    more = len(digest.members) - len(told)
    return f"it speaks for {', '.join(told)}" + (f" and {more} more" if more else "")


def listed(names: Sequence[str]) -> str:
    """As in a sentence."""
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def _sent(verdict: Deliver, endpoint_id: str | None, zone: str | None) -> str:
    if verdict.channel == "inapp":
        return f"send it to {NAMES['inapp']}"
    to = (endpoint_id,) if endpoint_id in verdict.endpoint_ids and endpoint_id is not None else verdict.endpoint_ids
    held = "" if verdict.hold_from is None else f", before it is quiet at {clock(verdict.hold_from, zone)}"
    return f"send it by {NAMES[verdict.channel]} to {listed(to)}{held}"
