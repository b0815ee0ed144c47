"""What a digest and an aggregation say of their notifications."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.digest_lines import LINES_BYTES, SHOWN_ACTORS, group, newest
from schemas.codec import encode
from schemas.content import Actor, Content
from schemas.notifications import NotificationV1
from tests.builders import MINUTE, NOW, a_notification

ANN, BEN, CEM, DAN = (Actor(f"user-{n}", name) for n, name in enumerate(("Ann", "Ben", "Cem", "Dan")))


def an_item(
    number: int,
    *,
    at: int = 0,
    type: str = "social.like",
    key: str | None = None,
    actor: Actor | None = None,
    payload: bytes = b"{}",
) -> NotificationV1:
    return a_notification(
        notification_id=f"n-{number:04d}",
        type=type,
        accepted_at=NOW + at,
        aggregation_key=key,
        content=Content(payload=msgspec.Raw(payload), actor=actor),
    )


def payloads(items: list[NotificationV1], *, shown: int = 20) -> list[bytes]:
    return [bytes(line.payload) for line in group(items, shown=shown, digest=True).lines]


def test_three_events_within_a_moment_are_three_lines_in_event_order() -> None:
    """DIG-01: 300 ms, three producers, delivered to us in another order."""
    items = [an_item(number, at=number * 100, payload=b'{"n":%d}' % number) for number in (2, 0, 1)]
    said = group(items, shown=20, digest=True)
    assert [bytes(line.payload) for line in said.lines] == [b'{"n":0}', b'{"n":1}', b'{"n":2}']
    assert (said.count, said.more) == (3, 0)


def test_of_one_instant_the_ids_give_the_order() -> None:
    items = [an_item(number, payload=b'{"n":%d}' % number) for number in (2, 0, 1)]
    assert payloads(items) == [b'{"n":0}', b'{"n":1}', b'{"n":2}']
    assert newest(items).notification_id == "n-0002"


def test_nothing_has_no_newest() -> None:
    with pytest.raises(ValueError, match="empty"):
        newest([])


def test_one_survivor_is_counted_once_and_shown() -> None:
    """DIG-05."""
    said = group([an_item(1, payload=b'{"n":1}', actor=ANN)], shown=20, digest=True)
    assert (said.count, said.more, len(said.lines)) == (1, 0, 1)
    assert (said.lines[0].count, said.lines[0].actor, bytes(said.lines[0].payload)) == (1, ANN, b'{"n":1}')


def test_notifications_of_one_type_and_aggregation_key_are_one_line_with_the_newest_ones_content() -> None:
    items = [
        an_item(1, at=1, key="post:9", actor=ANN, payload=b'{"n":1}'),
        an_item(2, at=2, payload=b'{"n":2}'),
        an_item(3, at=3, key="post:9", actor=BEN, payload=b'{"n":3}'),
        an_item(4, at=4, key="post:9", type="social.comment", payload=b'{"n":4}'),
    ]
    said = group(items, shown=20, digest=True)
    assert [(bytes(line.payload), line.count, line.at) for line in said.lines] == [
        (b'{"n":2}', 1, NOW + 2),
        (b'{"n":3}', 2, NOW + 3),
        (b'{"n":4}', 1, NOW + 4),
    ]
    assert (said.lines[1].actor, said.lines[1].actors, said.lines[1].others) == (BEN, (BEN, ANN), 0)


def test_without_an_aggregation_key_each_is_a_line_of_its_own() -> None:
    assert len(group([an_item(1), an_item(2, key="")], shown=20, digest=True).lines) == 2


def test_what_is_beyond_the_lines_shown_is_counted_by_notifications() -> None:
    items = [an_item(number, at=number) for number in range(3)] + [an_item(n, at=n, key="k") for n in range(10, 15)]
    said = group(items, shown=3, digest=True)
    assert (len(said.lines), said.count, said.more) == (3, 8, 5)


def test_an_aggregation_names_distinct_actors_newest_first_and_counts_the_others() -> None:
    """Ann and 5 others: who liked it twice is one person, who has no name is one of the others."""
    people = [DAN, BEN, CEM, ANN, BEN, Actor("user-8"), Actor("user-9", "Eve")]
    items = [an_item(n, at=n, key="post:9", actor=actor) for n, actor in enumerate(people)] + [an_item(99, at=99)]
    said = group(items, shown=20, digest=False)
    assert [actor.id for actor in said.actors] == ["user-9", "user-8", "user-1"]
    assert (said.count, said.others, said.lines) == (8, 3, ())


def test_an_actor_has_the_name_that_came_last() -> None:
    items = [an_item(1, at=1, actor=Actor("user-1", "Ann")), an_item(2, at=2, actor=Actor("user-1", "Anna"))]
    assert group(items, shown=1, digest=False).actors == (Actor("user-1", "Anna"),)


def test_a_payload_as_large_as_an_event_gives_way_to_smaller_ones_but_never_to_nothing() -> None:
    large, small = an_item(1, payload=b'"%s"' % (b"x" * 200_000)), an_item(2, at=MINUTE, payload=b'{"n":2}')
    both = group([large, small], shown=20, digest=True)
    assert ([bytes(line.payload) for line in both.lines], both.more) == ([b'{"n":2}'], 1)
    alone = group([large], shown=20, digest=True)
    assert (len(alone.lines), alone.count, alone.more) == (1, 1, 0)


def test_a_name_that_nobody_would_read_is_one_of_the_others() -> None:
    said = group([an_item(1, actor=Actor("user-1", "x" * 5000)), an_item(2, actor=ANN)], shown=1, digest=False)
    assert (said.actors, said.others) == ((ANN,), 1)


def test_what_has_no_content_in_the_clear_is_counted_all_the_same() -> None:
    sealed = msgspec.structs.replace(an_item(1), content=None)
    assert group([sealed, an_item(2)], shown=20, digest=True).count == 2
    assert group([sealed], shown=20, digest=False).actors == ()


_items = st.lists(
    st.builds(
        lambda at, type_, key, actor, size: (at, type_, key, actor, size),
        st.integers(0, 5),
        st.sampled_from(["social.like", "social.comment"]),
        st.sampled_from([None, "a", "b"]),
        st.sampled_from([None, ANN, BEN, CEM, DAN, Actor("user-8"), Actor("user-9", "x" * 2000)]),
        st.sampled_from([0, 10, 30_000, 100_000]),
    ),
    min_size=1,
    max_size=25,
)


@given(_items, st.integers(1, 8), st.randoms(use_true_random=False))
def test_every_notification_is_in_exactly_one_line_or_in_more_whatever_the_order_given(
    drawn: list[tuple[int, str, str | None, Actor | None, int]], shown: int, chance: random.Random
) -> None:
    items = [
        an_item(number, at=at, type=type_, key=key, actor=actor, payload=b'"%s"' % (b"x" * size))
        for number, (at, type_, key, actor, size) in enumerate(drawn)
    ]
    said, mixed = group(items, shown=shown, digest=True), chance.sample(items, len(items))
    assert group(mixed, shown=shown, digest=True) == said
    assert sum(line.count for line in said.lines) + said.more == said.count == len(items)
    assert 1 <= len(said.lines) <= shown
    assert [line.at for line in said.lines] == sorted(line.at for line in said.lines)
    sizes = [len(encode(line)) for line in said.lines]
    assert len(sizes) == 1 or sum(sizes) <= LINES_BYTES
    for line in said.lines:
        assert len(line.actors) <= SHOWN_ACTORS
        assert len(line.actors) + line.others <= line.count


@given(_items, st.randoms(use_true_random=False))
def test_an_aggregation_counts_all_and_its_actors_add_up(
    drawn: list[tuple[int, str, str | None, Actor | None, int]], chance: random.Random
) -> None:
    items = [an_item(number, at=at, actor=actor) for number, (at, _, _, actor, _) in enumerate(drawn)]
    said = group(items, shown=20, digest=False)
    assert group(chance.sample(items, len(items)), shown=20, digest=False) == said
    assert said.count == len(items)
    assert len(said.actors) + said.others == len({actor.id for _, _, _, actor, _ in drawn if actor})
    assert len(encode(said)) < 4096
