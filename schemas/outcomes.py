"""What became of deliveries: a provider's answer to an attempt, or the reason why none was made."""

from typing import Literal

import msgspec

from schemas.words import Channel, Lane, Millis, Reason, Sequence

OutcomeState = Literal["sent", "failed", "expired", "suppressed", "cancelled", "retrying", "unknown"]


class OutcomeV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="outcome.v1", tag_field="schema"):
    """Published on `notify.outcomes`, keyed by user id. Instants are ms since the epoch, UTC.

    `attempt` counts calls to a provider from 1; 0 means that none was made. `detail` is the provider's own code or
    words, never an address. `next_at` is when the next attempt is due (retrying, unknown). Reason `held` is said
    before an attempt and in place of it: `attempt` is then the last one before; so is reason `limited`. `segments` of a
    text message, as it was sent.
    """

    delivery_id: str
    notification_id: str
    user_id: str
    type: str
    channel: Channel
    endpoint_id: str
    state: OutcomeState
    at: Millis
    attempt: int = 0
    lane: Lane = "normal"
    provider: str = ""
    provider_message_id: str | None = None
    reason: Reason | None = None
    detail: str = ""
    next_at: Millis | None = None
    accepted_at: Millis = 0
    source: str = ""
    segments: int = 0
    tenant: str = ""
    broadcast_id: str | None = None
    replay: str | None = None
    members: tuple[str, ...] = ()
    traceparent: str | None = None


class InboxWrite(msgspec.Struct, frozen=True, array_like=True):
    """One inbox item that is in Cassandra: ids, the sequence it got, and whose it is and of what source."""

    notification_id: str
    delivery_id: str
    sequence: Sequence
    user_id: str = ""
    source: str = ""


class InboxOutcomesV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="inbox-outcomes.v1", tag_field="schema"
):
    """Published on `notify.outcomes`: all items that one batch wrote on one partition. `at` in ms."""

    at: Millis
    written: tuple[InboxWrite, ...]


decode_outcome = msgspec.json.Decoder(OutcomeV1 | InboxOutcomesV1).decode
