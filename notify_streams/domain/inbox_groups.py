"""What an aggregated item tells of: "Ann, Ben and 3 others", however many more come."""

from hashlib import blake2b

from msgspec.structs import replace

from notify_streams.domain.digest_lines import ACTOR_BYTES, SHOWN_ACTORS
from schemas.codec import encode
from schemas.content import Actor, Group
from schemas.deliveries import DeliveryV1
from schemas.inbox import InboxEntry, InboxGroup

OPEN_MS = 7 * 86_400_000
MOST_IDS = 20
_PRINT, _MOST_PRINTS = 4, 500


def group_key(source: str, type_: str, aggregation_key: str) -> bytes:
    """Sixteen bytes: nobody adds to what another source tells."""
    return blake2b(encode((source, type_, aggregation_key)), digest_size=16).digest()


def is_open(group: InboxGroup, entry: InboxEntry | None, now: int) -> bool:
    """Whether the next notification is told by the same item: not once that is archived, expired, or a week old."""
    return entry is not None and not entry.gone and entry.expires_at > now and now < group.opened_at + OPEN_MS


def joined(group: InboxGroup, delivery: DeliveryV1, kept_until: int) -> InboxGroup:
    """With one notification more."""
    group = replace(group, count=group.count + 1, kept_until=max(group.kept_until, kept_until))
    actor = delivery.content.actor if delivery.content else None
    return group if actor is None else _with(group, actor)


def said(group: InboxGroup) -> Group:
    """As renderings take it."""
    return Group(count=group.count, actors=group.actors, others=group.distinct - len(group.actors))


def names(group: InboxGroup) -> tuple[tuple[str, ...], int]:
    """Who is named, and how many there are besides."""
    named = tuple(actor.name for actor in group.actors if actor.name)
    return named, group.distinct - len(named)


def _with(group: InboxGroup, actor: Actor) -> InboxGroup:
    print_ = blake2b(actor.id.encode(), digest_size=_PRINT).digest()
    prints = [group.prints[at : at + _PRINT] for at in range(0, len(group.prints), _PRINT)]
    distinct = group.distinct + (print_ not in prints)
    prints = [*(known for known in prints if known != print_), print_][-_MOST_PRINTS:]
    others = tuple(known for known in group.actors if known.id != actor.id)
    shown = (actor, *others)[:SHOWN_ACTORS] if len(encode(actor)) <= ACTOR_BYTES else others
    return replace(group, distinct=distinct, actors=shown, prints=b"".join(prints))
