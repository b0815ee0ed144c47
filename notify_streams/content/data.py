"""What a template sees: the payload's members under what every rendering has."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from notify_streams.content.guards import READER
from notify_streams.content.locales import Reader, babel_locale, zone_of
from notify_streams.domain.rendered import Unfit
from schemas.content import Actor, Content
from schemas.deliveries import DeliveryV1


class Figure(float):
    """A number that is written out digit for digit as the producer wrote it, and reckons like any other."""

    def __new__(cls, text: str) -> "Figure":  # noqa: D102
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str

    def __str__(self) -> str:
        return self.text


_decode_payload = msgspec.json.Decoder(float_hook=Figure).decode


def seen(content: Content, delivery: DeliveryV1, language: str, *, turns: int | None = None) -> dict[str, Any]:
    """All variables of one rendering of a type's templates. Raises ValueError for a payload that is no object.

    A payload's null counts as missing; a payload's member of a name in `variables.GIVEN` is not seen. `count` is of the
    notifications that this speaks for, `actors` the names of the newest who caused them, `others` how many there are
    besides: 1, the actor's name, and 0 where it is an ordinary one. `turns` bounds the loops.
    """
    payload = _decode_payload(content.payload)
    if not isinstance(payload, dict):
        raise Unfit("the payload is no object")
    members = {k: v for k, v in payload.items() if v is not None}
    return members | given(content, delivery, language, turns=turns)


def given(content: Content, delivery: DeliveryV1, language: str, *, turns: int | None = None) -> dict[str, Any]:
    """What every rendering has, without the payload."""
    reader = Reader(babel_locale(delivery.locale, language), zone_of(delivery.zone))
    if turns is not None:
        reader.turns = turns
    return {
        "actor": _plain(content.actor),
        "object": _plain(content.object),
        "user": {"id": delivery.user_id},
        "notification": {"id": delivery.notification_id},
        "locale": language,
        "direction": reader.direction,
        READER: reader,
        **_who(content),
    }


def instant(ms: int) -> str:
    """As the filters for dates and times take it."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


def _who(content: Content) -> dict[str, Any]:
    group = content.group
    if group is None:
        return {"count": 1, "actors": _names([content.actor] if content.actor else []), "others": 0}
    names = _names(group.actors)
    return {"count": group.count, "actors": names, "others": group.others + len(group.actors) - len(names)}


def _names(actors: Iterable[Actor]) -> list[str]:
    """Whoever has no name is one of the others."""
    return [actor.name for actor in actors if actor.name]


def _plain(value: msgspec.Struct | None) -> Mapping[str, Any]:
    return {} if value is None else msgspec.structs.asdict(value)
