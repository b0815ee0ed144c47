"""The words that must not be misspelt: channels, lanes, states, reasons."""

from enum import StrEnum
from typing import Annotated, Literal, get_args

import msgspec

Channel = Literal["inapp", "email", "push", "sms", "webhook"]
Lane = Literal["high", "normal", "low"]

MAX_MS = 253_402_300_799_999  # the last millisecond of the year 9999: what calendars and databases can hold
Millis = Annotated[int, msgspec.Meta(ge=0, le=MAX_MS)]  # an instant, since the epoch, UTC
Sequence = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]

CHANNELS: tuple[Channel, ...] = get_args(Channel)
LANES: tuple[Lane, ...] = get_args(Lane)  # in order of precedence, high first
LANE_BYTES: dict[Lane, int] = {lane: rank for rank, lane in enumerate(LANES)}


class State(StrEnum):
    """Where a delivery, or a channel of a notification, stands."""

    ACCEPTED = "accepted"
    PENDING = "pending"
    QUEUED = "queued"
    DEFERRED = "deferred"
    COLLECTED = "collected"
    SENT = "sent"
    DELIVERED = "delivered"
    FAILED = "failed"
    SUPPRESSED = "suppressed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


FINAL = frozenset({State.SENT, State.DELIVERED, State.FAILED, State.SUPPRESSED, State.EXPIRED, State.CANCELLED})


class Reason(StrEnum):
    """Why a channel did not, or not yet, get a notification."""

    EXPIRED = "expired"
    ERASED = "erased"
    CANCELLED = "cancelled"
    CHANNEL_NOT_OFFERED = "channel_not_offered"
    CHANNEL_EXCLUDED = "channel_excluded"
    OPTED_OUT_OF_CHANNEL = "opted_out_of_channel"
    OPTED_OUT_OF_CATEGORY = "opted_out_of_category"
    NO_ENDPOINT = "no_endpoint"
    ENDPOINT_UNVERIFIED = "endpoint_unverified"
    ENDPOINT_SUPPRESSED = "endpoint_suppressed"
    SCHEDULED = "scheduled"
    COLLAPSED = "collapsed"
    READ = "read"
    QUIET_HOURS = "quiet_hours"
    QUIET_PAST_EXPIRY = "quiet_past_expiry"
    BUDGET_SPENT = "budget_spent"
    DIGEST = "digest"
    AGGREGATED = "aggregated"
    GUARDED = "guarded"
    TEMPLATE_FAILED = "template_failed"
    ENDPOINT_GONE = "endpoint_gone"
    REFUSED = "refused"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    HELD = "held"
    LIMITED = "limited"
    FALLBACK = "fallback"
    FAILED_OVER = "failed_over"
    MISCONFIGURED = "misconfigured"
    MAILBOX_FULL = "mailbox_full"
    SENDER_BLOCKED = "sender_blocked"
    RECIPIENT_OPTED_OUT = "recipient_opted_out"
    NO_PROVIDER = "no_provider"
    SETTLED = "settled"
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    UNDELIVERED = "undelivered"
    UNKNOWN_OUTCOME = "unknown_outcome"


IN_WORDS: dict[Reason, str] = {
    Reason.EXPIRED: "it was too late: the notification had expired",
    Reason.ERASED: "the user's data was erased",
    Reason.CANCELLED: "it was cancelled before it was sent",
    Reason.CHANNEL_NOT_OFFERED: "this installation does not carry the channel",
    Reason.CHANNEL_EXCLUDED: "the channel was left out for this attempt",
    Reason.OPTED_OUT_OF_CHANNEL: "the user has switched the channel off",
    Reason.OPTED_OUT_OF_CATEGORY: "the user has switched the category off on this channel",
    Reason.NO_ENDPOINT: "the user has no address for this channel",
    Reason.ENDPOINT_UNVERIFIED: "no address of the user for this channel is verified",
    Reason.ENDPOINT_SUPPRESSED: "every address of the user for this channel is on the suppression list",
    Reason.SCHEDULED: "the event asks to be sent later",
    Reason.COLLAPSED: "a newer one under the same collapse key has replaced it",
    Reason.READ: "the user had read it in the inbox",
    Reason.QUIET_HOURS: "it is the user's quiet hours",
    Reason.QUIET_PAST_EXPIRY: "the user's quiet hours end only after it expires",
    Reason.BUDGET_SPENT: "the user has had as many notifications as one may get in an hour or a day",
    Reason.DIGEST: "the user wants this category as a digest",
    Reason.AGGREGATED: "more about the same thing may follow, and they go together",
    Reason.GUARDED: "this environment may not send to that address",
    Reason.TEMPLATE_FAILED: "its template could not be rendered",
    Reason.ENDPOINT_GONE: "the provider says that the address does not exist",
    Reason.REFUSED: "the provider refused the message for good",
    Reason.ATTEMPTS_EXHAUSTED: "the last attempt failed too",
    Reason.PROVIDER_UNAVAILABLE: "the provider could not take it just now",
    Reason.HELD: "its sender could not go on and put it off before it was tried",
    Reason.LIMITED: "its provider's rate was used up, and it was put off before it was tried",
    Reason.FALLBACK: "it is sent here only if the channel before it fails",
    Reason.FAILED_OVER: "this provider could not take it, and the next one is tried",
    Reason.MISCONFIGURED: "the provider refuses our credentials or our configuration",
    Reason.MAILBOX_FULL: "the mailbox is full",
    Reason.SENDER_BLOCKED: "the provider does not take mail from us, for its reputation or by a block",
    Reason.RECIPIENT_OPTED_OUT: "the recipient has told the provider that nothing more may come from us",
    Reason.NO_PROVIDER: "none of this installation's providers carries it",
    Reason.SETTLED: "a receipt said that it had arrived after all",
    Reason.BOUNCED: "the provider had taken it, and it came back",
    Reason.COMPLAINED: "the recipient reported it as unwanted",
    Reason.UNDELIVERED: "the provider had taken it, and could not deliver it",
    Reason.UNKNOWN_OUTCOME: "nobody knows whether the provider took it",
}

# How a channel ends for these reasons; what is not named is suppressed.
ENDS: dict[Reason, Literal["expired", "cancelled", "failed"]] = {
    Reason.EXPIRED: "expired",
    Reason.QUIET_PAST_EXPIRY: "expired",
    Reason.CANCELLED: "cancelled",
    Reason.COLLAPSED: "cancelled",
    Reason.READ: "cancelled",
    Reason.TEMPLATE_FAILED: "failed",
    Reason.NO_PROVIDER: "failed",
}
