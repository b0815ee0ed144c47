"""What was decided about a notification, and from what."""

import msgspec

from schemas.notifications import NotificationV1
from schemas.profiles import Endpoint, Frequency, QuietHours
from schemas.words import Channel, Millis, Reason


class Deliver(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="deliver", tag_field="verdict"):
    """Send it on this channel to these endpoints; not after `hold_from` (ms), the next quiet period's start."""

    channel: Channel
    endpoint_ids: tuple[str, ...]
    hold_from: Millis | None = None


class Defer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="defer", tag_field="verdict"):
    """Decide this channel again at `until` (ms)."""

    channel: Channel
    until: Millis
    reason: Reason


class Collect(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="collect", tag_field="verdict"):
    """Keep it for the window `window` of this channel, `digest/CATEGORY` or `group/TYPE/AGGREGATION KEY`.

    One that is opened for it is over at `until` (ms).
    """

    channel: Channel
    window: str
    until: Millis
    reason: Reason


class Suppress(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="suppress", tag_field="verdict"):
    """Do not send it on this channel."""

    channel: Channel
    reason: Reason


Verdict = Deliver | Defer | Collect | Suppress


class ProfileSlice(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The part of a profile that one decision looked at. Endpoints come without their addresses."""

    version: int = 0
    zone: str | None = None
    locale: str | None = None
    channels: dict[Channel, bool] = {}
    category: dict[Channel, bool] = {}
    quiet_hours: tuple[QuietHours, ...] = ()
    digest: dict[Channel, Frequency] = {}
    digest_at: str | None = None
    endpoints: tuple[Endpoint, ...] = ()
    erased: bool = False


class StateSlice(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The part of a user's state that one decision looked at.

    `stopped` is why it may not be sent any more, on the channels `stopped_on` (none named means all). `hour` and `day`
    are how many notifications the attention budget was charged with in the sliding hour and day before, `paid` whether
    this is one of them. `joining` is said of what waited in a window, when that is over: may it still be sent? Of an
    aggregation, `grouped`, also by the budget.
    """

    stopped: Reason | None = None
    stopped_on: tuple[Channel, ...] = ()
    hour: int = 0
    day: int = 0
    paid: bool = False
    joining: bool = False
    grouped: bool = False


class DecisionV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="decision.v1", tag_field="schema"):
    """Published on `notify.decisions`, keyed by user id: one per (notification, revision), with its exact inputs.

    `notification` is without its origin, which differs between partition counts; `catalogue` is the hash under
    which the catalogue itself is on the topic; `rules` is the version of the rules that `decide` followed; `now` in ms.
    """

    notification: NotificationV1
    profile: ProfileSlice
    state: StateSlice
    now: Millis
    catalogue: str
    tzdata: str
    verdicts: tuple[Verdict, ...]
    rules: int = 1


class CatalogueV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="catalogue.v1", tag_field="schema"
):
    """Published on `notify.decisions` by whoever starts to decide with it: what a catalogue hash stands for."""

    hash: str
    body: msgspec.Raw


decode_decision = msgspec.json.Decoder(DecisionV1 | CatalogueV1).decode
