"""Address changes in; commands on their users' own partitions, the table, and answers out."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from agents.registry import Batch, NoAddressChange, Registry
from notify_streams.domain.addresses import address_key
from notify_streams.streaming.deadletters import DeadLetters
from schemas.addresses import AddressChange, ClaimAddressV1, Held, ShowAddressV1, SuppressAddressV1
from schemas.codec import encode
from schemas.commands import DropAddressV1, MarkAddressV1, PutEndpointV1, decode_command
from schemas.profiles import Address
from tables.addresses import Addresses
from tests.builders import MAILBOX, NOW
from tests.fakes import Clock, Recording, Table, an_app, arrived

TOKEN = "t" * 64
KEY = address_key("push", TOKEN).encode()


@pytest.fixture
def registry(folder: Path, clock: Clock) -> Registry:
    addresses = Addresses(Table(folder / "addresses", "notify.addresses-changelog"), "notify.")
    return Registry(an_app(), addresses, DeadLetters("registry", 20), generation=1, clock=clock)


def a_claim(user: str, **changes: Any) -> ClaimAddressV1:
    given = {"channel": "push", "at": NOW, "command_id": f"c-{user}", "endpoint_id": "phone", "platform": "ios"}
    return ClaimAddressV1(**{**given, "content": Address(TOKEN), **changes}, user_id=user)


def taken(registry: Registry, *changes: AddressChange, key: bytes = KEY, offset: int = 0) -> tuple[Recording, Batch]:
    """One batch, as far as its commands."""
    outgoing, batch = Recording(), Batch()
    for at, change in enumerate(changes, offset):
        registry.take(arrived(encode(change), key, partition=registry.partitions.of(key), offset=at), batch, outgoing)
    return outgoing, batch


def kept(registry: Registry, *changes: AddressChange, key: bytes = KEY, offset: int = 0) -> Recording:
    """The same, and what it leaves written."""
    outgoing, batch = taken(registry, *changes, key=key, offset=offset)
    registry.keep(batch, outgoing)
    return outgoing


def test_within_a_batch_each_change_meets_what_the_one_before_left(registry: Registry) -> None:
    """TOK-06"""
    outgoing = kept(registry, a_claim("ann"), a_claim("ben"))
    commands = [(r.key, decode_command(r.value or b"")) for r in outgoing.records if r.topic == "user-commands"]
    assert [(key, type(command)) for key, command in commands] == [
        (b"ann", PutEndpointV1),
        (b"ben", PutEndpointV1),
        (b"ann", DropAddressV1),
    ]
    state = registry.addresses.load(registry.partitions.of(KEY), KEY)
    assert state is not None
    assert ([o.user_id for o in state.owners], state.applied) == (["ben"], (1, 1))


def test_commands_go_to_their_users_own_partitions_and_the_changelog_to_the_addresses(registry: Registry) -> None:
    users = [f"user{n}" for n in range(20)]
    key = address_key("email", MAILBOX).encode()
    claims = [a_claim(user, channel="email", content=Address(MAILBOX), platform=None) for user in users]
    outgoing = kept(registry, *claims, SuppressAddressV1(channel="email", at=NOW, reason="manual"), key=key)
    assert {r.partition for r in outgoing.records if r.topic == "user-commands"} == {0, 1, 2, 3}
    for record in outgoing.records:
        of = key if record.topic == "addresses-changelog" else record.key
        assert record.partition == registry.partitions.of(of or b"")
    marks = [decode_command(value) for value in outgoing.of("user-commands")][len(users) :]
    assert [isinstance(mark, MarkAddressV1) and mark.suppressed for mark in marks] == ["manual"] * len(users)


def test_before_the_table_is_written_a_batch_comes_again_with_the_same_commands(registry: Registry) -> None:
    """The worker was killed after its commands were sent."""
    kept(registry, a_claim("ann"))
    first, _ = taken(registry, a_claim("ben"), a_claim("ann", at=NOW + 1), offset=1)
    again, batch = taken(registry, a_claim("ben"), a_claim("ann", at=NOW + 1), offset=1)
    assert first.records == again.records
    registry.keep(batch, again)
    after, _ = taken(registry, a_claim("ben"), a_claim("ann", at=NOW + 1), offset=1)
    assert after.records == []


def test_whoever_asks_is_answered_with_what_is_kept_after_the_change(registry: Registry) -> None:
    key = address_key("email", MAILBOX).encode()
    suppress = SuppressAddressV1(channel="email", at=NOW, by="/keys/ops", reason="manual", command_id="c-1")
    show = ShowAddressV1(channel="email", at=NOW, command_id="c-2")
    quiet = SuppressAddressV1(channel="email", at=NOW, by="receipts", reason="bounce")
    _, batch = taken(registry, show, suppress, quiet, show, key=key)
    answers = [(a.command_id, a.user_id, a.address and a.address.held) for _, a in batch.answers]
    manual, bounce = Held("manual", None, NOW, "/keys/ops"), Held("bounce", None, NOW, "receipts")
    assert answers == [("c-2", "", ()), ("c-1", "", (manual,)), ("c-2", "", (manual, bounce))]
    assert {where for where, _ in batch.answers} == {(registry.partitions.of(key), key)}


def test_a_repeat_is_answered_again(registry: Registry) -> None:
    key = address_key("email", MAILBOX).encode()
    suppress = SuppressAddressV1(channel="email", at=NOW, reason="manual", command_id="c-1")
    kept(registry, suppress, key=key)
    outgoing, batch = taken(registry, suppress, key=key)
    assert (outgoing.records, [a.command_id for _, a in batch.answers]) == ([], ["c-1"])


def test_a_change_astray_is_sent_on_as_it_came(registry: Registry) -> None:
    home, outgoing, batch = registry.partitions.of(KEY), Recording(), Batch()
    value = encode(a_claim("ann"))
    registry.take(arrived(value, KEY, partition=(home + 1) % 4, headers=[("traceparent", b"00-1")]), batch, outgoing)
    [record] = outgoing.records
    assert (record.topic, record.partition, record.key, record.value) == ("address-changes", home, KEY, value)
    assert (record.headers, batch.states) == ({"traceparent": b"00-1"}, {})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (KEY, None),
        (KEY, b"{"),
        (KEY, b'{"schema":"forget-all.v1"}'),
        (KEY, b'{"schema":"claim-address.v1","channel":"push","at":1}'),
        (KEY, encode(a_claim("a\nb"))),
        (KEY, encode(a_claim("ann", content=Address("u" * 64)))),
        (KEY, encode(SuppressAddressV1(channel="inapp", at=NOW, reason="manual"))),
        (b"\xff" * 32, encode(SuppressAddressV1(channel="push", at=NOW, reason="manual"))),
        (None, encode(a_claim("ann"))),
        (TOKEN.encode(), encode(a_claim("ann"))),
    ],
)
def test_what_is_no_change_of_its_key_is_its_writers_fault_and_says_nothing_of_the_address(
    registry: Registry, key: bytes | None, value: bytes | None
) -> None:
    outgoing, batch = Recording(), Batch()
    event = arrived(value, key, partition=registry.partitions.of(key or b""))
    with pytest.raises((NoAddressChange, msgspec.DecodeError)) as raised:
        registry.take(event, batch, outgoing)
    assert TOKEN not in str(raised.value)
    assert (outgoing.records, batch.states, batch.answers) == ([], {}, [])
