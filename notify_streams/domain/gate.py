"""Whether a delivery may still be sent when its sender meets it."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from schemas.deliveries import DeliveryV1
from schemas.words import Reason


def why_not(delivery: DeliveryV1, now: int, deliver_only_to: Sequence[str]) -> Reason | None:
    """The reason to end it without a call, or None. `now` in ms; at `expires_at` itself it is too late.

    `deliver_only_to` are patterns of the addresses that this environment may reach; empty means all.
    """
    if now >= delivery.expires_at:
        return Reason.EXPIRED
    address = "" if delivery.content is None else delivery.content.address or ""
    if deliver_only_to and not any(fnmatchcase(address.lower(), pattern.lower()) for pattern in deliver_only_to):
        return Reason.GUARDED
    return None
