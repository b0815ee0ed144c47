"""What of the sources is of one run, and what is of earlier ones that share its state directory."""

import struct
from collections import Counter

import msgspec

from notify_streams.domain.hooks import Hook
from notify_streams.domain.ids import delivery_id
from notify_streams.local.demo import sources
from notify_streams.local.demo.messages import PRODUCER, Entry
from notify_streams.local.demo.sources import Decided
from schemas.timers import Entry as TableEntry
from tests.demo_runs import FAILED, SENT, an_entry


def a_webhook(to: str) -> Entry:
    return Entry(n=2, at=an_entry(SENT).at, event="accepted", provider="webhook", to=to, delivery_id=to)


def test_a_message_of_an_earlier_run_and_a_producers_webhook_are_not_the_runs() -> None:
    found = Decided(deliveries_of_others={delivery_id(FAILED, "email", "home")})
    entries = [an_entry(SENT), an_entry(FAILED), a_webhook(f"{PRODUCER}run-1"), a_webhook("/hooks/partners/user-02")]
    mine = sources.ours(found, entries)
    assert [entry.provider for entry in mine] == ["smtp", "webhook"]
    assert sources.mails_of(mine) == [delivery_id(SENT, "email", "home")]


def test_what_a_producer_was_told_is_by_its_own_address() -> None:
    hook = Hook("demo-2-shop", f"http://127.0.0.1:8025{PRODUCER}run-2", ("*",))
    assert sources.told([a_webhook(f"{PRODUCER}run-1"), a_webhook(f"{PRODUCER}run-2")], hook) == {f"{PRODUCER}run-2"}


def test_receipts_of_earlier_runs_are_taken_off_where_they_came_during_this_one() -> None:
    found = Decided(receipts_of_others=[("ses", 999), ("ses", 1000), ("twilio", 2000)])
    assert sources.posted(found, Counter(ses=3, twilio=1), 1000) == Counter(ses=2)


def an_entry_of_the_table(payload: bytes) -> bytes:
    return msgspec.msgpack.encode(TableEntry(b"user-01", "timer", 1, "timers", payload))


def test_of_the_timers_that_wait_those_of_the_run_count_and_a_digests_window_is_nobodys() -> None:
    due = struct.pack(">BQ", 1, 2000)
    mine = b'{"notification_id": "n-1", "source": "/mine", "channels": ["inapp"]}'
    entries = {
        due + b"a": an_entry_of_the_table(mine),
        due + b"b": an_entry_of_the_table(mine.replace(b"/mine", b"/other")),
        due + b"c": an_entry_of_the_table(b'{"window": "digest/marketing"}'),
        due + b"d": None,
    }
    [timer] = sources.timers_of(entries, lambda source: source == "/mine")
    assert (timer.notification_id, timer.channels, timer.due_at) == ("n-1", ("inapp",), 2000)
