"""Made-up deliveries with the types' own samples: what `notify config check` renders."""

from schemas.catalogue import Catalogue, NotificationType
from schemas.content import Actor, Content, Group, Line, Object
from schemas.deliveries import DeliveryV1
from schemas.words import Channel

_PEOPLE = (Actor("user-7", "Ann"), Actor("user-8", "Ben"), Actor("user-9", "Cem"))
_OBJECT = Object("post", "9")
_AT = 1_796_032_800_000  # 2026-11-30T10:00:00Z


def samples_of(name: str, type_: NotificationType, channel: Channel, locale: str) -> list[DeliveryV1]:
    """One notification; where several can be told together, also two of two people and eight of six."""
    groups: list[Group | None] = [None]
    if type_.aggregate or (type_.digestible and channel == "inapp"):
        groups += [Group(count=2, actors=_PEOPLE[:2]), Group(count=8, actors=_PEOPLE, others=3)]
    contents = [Content(payload=type_.sample, actor=_PEOPLE[0], object=_OBJECT, group=group) for group in groups]
    return [_delivery(name, channel, locale, content) for content in contents]


def digest_samples(catalogue: Catalogue, channel: Channel, locale: str) -> list[DeliveryV1]:
    """One line; three lines and more; one line of several notifications; as many lines as are shown."""
    types = {name: type_ for name, type_ in catalogue.types.items() if type_.digestible and channel in type_.channels}
    (first, type_), lines = next(iter(types.items())), [_line(name, type_) for name, type_ in types.items()]
    several = _line(first, type_, count=8, actors=_PEOPLE, others=3)
    many = (lines * catalogue.windows.shown)[: catalogue.windows.shown]
    groups = (
        Group(count=1, lines=tuple(lines[:1])),
        Group(count=7, lines=tuple((lines * 3)[:3]), more=4),
        Group(count=8, lines=(several,)),
        Group(count=len(many), lines=tuple(many)),
    )
    return [_delivery(first, channel, locale, Content(group=group)) for group in groups]


def _line(
    name: str, type_: NotificationType, *, count: int = 1, actors: tuple[Actor, ...] = _PEOPLE[:1], others: int = 0
) -> Line:
    return Line(
        type=name,
        at=_AT,
        count=count,
        payload=type_.sample,
        actor=actors[0],
        object=_OBJECT,
        actors=actors,
        others=others,
    )


def _delivery(name: str, channel: Channel, locale: str, content: Content) -> DeliveryV1:
    return DeliveryV1(
        delivery_id="sample",
        notification_id="sample",
        user_id="user-42",
        type=name,
        channel=channel,
        endpoint_id="sample",
        accepted_at=_AT,
        expires_at=_AT,
        decided_at=_AT,
        locale=locale,
        content=content,
    )
