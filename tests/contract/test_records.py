"""What every record store promises, in memory and on Cassandra."""

import random
from typing import Any

import msgspec
import pytest

from notify_streams.domain.status import fold
from notify_streams.ports import Records
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.records.memory import MemoryRecords
from notify_streams.stores.cassandra import Session
from schemas.codec import encode
from schemas.content import Content
from schemas.facts import Fact
from schemas.profiles import ProfileV1
from tests.facts import NOON, a_decision, a_receipt, an_id, an_inbox_fact, an_outcome

DAY = 86_400_000


@pytest.fixture
async def records(backing: Session | None) -> Records:
    return MemoryRecords() if backing is None else await CassandraRecords.open(backing)


def as_set(facts: object) -> set[bytes]:
    assert isinstance(facts, list)
    return {encode(fact) for fact in facts}


def some_facts(notification_id: str) -> list[Fact]:
    return [
        a_decision(notification_id=notification_id),
        a_decision(notification_id=notification_id, revision=1, now=NOON + 5000),
        an_outcome("retrying", notification_id=notification_id, next_at=NOON + 3000),
        an_outcome("sent", notification_id=notification_id, attempt=2, at=NOON + 3100, provider_message_id="<m@x>"),
        an_inbox_fact(notification_id),
    ]


async def test_all_facts_of_a_notification_come_back_as_they_were(records: Records) -> None:
    facts, other = some_facts(one := an_id()), some_facts(an_id())
    await records.write([*facts, *other])
    assert as_set(await records.facts(one)) == as_set(facts)


async def test_of_an_unknown_notification_nothing_is_known(records: Records) -> None:
    assert list(await records.facts(an_id())) == []


async def test_many_notifications_are_looked_up_at_once(records: Records) -> None:
    known, unknown = [an_id() for _ in range(45)], an_id()
    await records.write([fact for one in known for fact in some_facts(one)])
    found = await records.facts_of([*known, unknown])
    assert {one: len(facts) for one, facts in found.items()} == {**dict.fromkeys(known, 5), unknown: 0}
    assert await records.facts_of([]) == {}


async def test_repeats_in_any_order_change_nothing(records: Records) -> None:
    facts = some_facts(one := an_id())
    for _ in range(3):
        await records.write(random.sample(facts, len(facts)))
    found = list(await records.facts(one))
    assert len(found) == len(facts)
    assert as_set(found) == as_set(facts)


async def test_two_outcomes_of_one_attempt_at_different_times_are_two_facts(records: Records) -> None:
    one = an_id()
    await records.write([an_outcome("sent", notification_id=one, at=NOON + n) for n in range(2)])
    assert len(list(await records.facts(one))) == 2


async def test_a_digests_outcome_is_known_of_every_member(records: Records) -> None:
    digest, members = an_id(), (an_id(), an_id())
    outcome = an_outcome("sent", notification_id=digest, members=members)
    await records.write([outcome])
    for one in (digest, *members):
        assert list(await records.facts(one)) == [outcome]


async def test_a_decision_of_256_kib_is_kept_beside_small_ones(records: Records) -> None:
    ids = [an_id() for _ in range(5)]
    content = Content(payload=msgspec.Raw(b'{"text":"' + b"x" * 256 * 1024 + b'"}'))
    large = [a_decision(notification_id=one, content=content) for one in ids[:2]]
    await records.write([*large, *(a_decision(notification_id=one) for one in ids[2:])])
    assert [len(facts) for facts in (await records.facts_of(ids)).values()] == [1] * 5


async def test_what_was_decided_for_a_user_can_be_found(records: Records) -> None:
    user, ids = an_id(), sorted(an_id() for _ in range(3))
    await records.write([a_decision(notification_id=one, user_id=user, revision=r) for one in ids for r in range(2)])
    assert list(await records.notifications_of(user)) == ids
    assert list(await records.notifications_of(an_id())) == []


async def test_failures_are_listed_newest_first_over_days(records: Records) -> None:
    start = NOON + random.randrange(1000) * 10 * DAY
    failed = [an_outcome("failed", notification_id=an_id(), channel="sms", at=start + n * DAY // 4) for n in range(20)]
    sent = an_outcome("sent", notification_id=an_id(), channel="sms", at=start + 5)
    elsewhere = an_outcome("failed", notification_id=an_id(), channel="push", at=start + 5)
    await records.write([*random.sample(failed, 20), sent, elsewhere])
    until = failed[-1].at
    assert list(await records.failures("sms", since=start, until=until, limit=100)) == failed[-2::-1]
    assert list(await records.failures("sms", since=start, until=until + 1, limit=7)) == failed[:-8:-1]
    assert list(await records.failures("sms", since=start + 1, until=failed[1].at, limit=7)) == []


async def test_copies_of_a_receipt_are_one_row_and_two_words_are_two(records: Records) -> None:
    """WHK-02"""
    one = an_id()
    read = a_receipt("read", notification_id=one, at=NOON + 9000)
    copies = [a_receipt("delivered", notification_id=one, received_at=NOON + 3000)] * 46
    await records.write([*copies, read])
    await records.write([*copies, read])
    assert as_set(list(await records.facts(one))) == {encode(copies[0]), encode(read)}
    assert len(await records.facts(one)) == 2


async def test_a_receipt_without_a_time_of_its_own_keeps_the_first_it_arrived_at(records: Records) -> None:
    """SMS-07: what arrives again an hour later does not make it later; the fold takes the earlier row."""
    one = an_id()
    copies = [
        a_receipt("delivered", notification_id=one, receipt_id="r", at=at, received_at=at)
        for at in (NOON + 9000, NOON + 2000)
    ]
    await records.write(copies)
    status = fold(one, await records.facts(one))
    assert status is not None
    assert [d.delivered_at for c in status.channels for d in c.deliveries] == [NOON + 2000]


async def test_a_digests_receipts_are_known_of_every_member(records: Records) -> None:
    digest, member, other = an_id(), an_id(), an_id()
    outcome = an_outcome("sent", notification_id=digest, members=(member,))
    receipt = a_receipt("bounced", notification_id=digest)
    await records.write([outcome, a_decision(notification_id=digest), receipt, an_outcome(notification_id=other)])
    assert as_set(list(await records.facts(member))) == {encode(outcome), encode(receipt)}
    found = await records.facts_of([member, other, digest])
    assert {one: len(facts) for one, facts in found.items()} == {member: 2, other: 1, digest: 3}


async def test_what_came_back_is_listed_among_the_failures(records: Records) -> None:
    start = NOON - random.randrange(1, 1000) * 10 * DAY
    of: dict[str, Any] = {"channel": "webhook", "provider": "x"}
    refused = an_outcome("failed", notification_id=an_id(), channel="webhook", at=start + 1)
    bounced = a_receipt("bounced", notification_id=an_id(), at=start + 2, **of)
    failed = a_receipt("failed", notification_id=an_id(), at=start + 3, **of)
    delivered = a_receipt("delivered", notification_id=an_id(), at=start + 4, **of)
    await records.write([delivered, failed, bounced, refused])
    listed = await records.failures("webhook", since=start, until=start + 9, limit=9)
    assert list(listed) == [failed, bounced, refused]


async def test_an_older_profile_never_replaces_a_newer_one(records: Records) -> None:
    user = an_id()
    assert await records.profile(user) is None
    for version in random.sample(range(6), 6):
        await records.write_profiles({user: ProfileV1(version=version, locale=f"en-{version}")})
    assert await records.profile(user) == ProfileV1(version=5, locale="en-5")


async def test_a_catalogue_is_found_by_its_hash(records: Records) -> None:
    hash_ = an_id()
    assert await records.catalogue(hash_) is None
    await records.write_catalogues({hash_: b'{"types":{}}'})
    await records.write_catalogues({hash_: b'{"types":{}}'})
    assert await records.catalogue(hash_) == b'{"types":{}}'
