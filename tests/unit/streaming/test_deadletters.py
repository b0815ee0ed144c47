"""Records that nobody can handle: kept as they came, and not without end."""

from typing import Any

import pytest

from notify_streams import __version__
from notify_streams.streaming.deadletters import DeadLetters, TooMany
from tests.builders import NOW
from tests.fakes import Recording, arrived

AT = NOW + 5


def letters(max_run: int = 20) -> DeadLetters:
    return DeadLetters("ingest", max_run)


def test_a_dead_letter_says_where_it_came_from_and_why() -> None:
    outgoing = Recording()
    event = arrived(b'{"a":', b"ann", topic="notify.events.high", partition=3, offset=41, headers=[("ce_id", b"1")])
    letters().keep(event, "invalid_json", "$: truncated", outgoing, now=AT, attempts=2)
    [letter] = outgoing.records
    assert (letter.topic, letter.partition, letter.key, letter.value) == ("dead-letters", 3, b"ann", b'{"a":')
    assert letter.headers == {
        "ce_id": b"1",
        "notify-original-topic": b"notify.events.high",
        "notify-original-partition": b"3",
        "notify-original-offset": b"41",
        "notify-original-timestamp": str(NOW).encode(),
        "notify-attempts": b"2",
        "notify-error-class": b"invalid_json",
        "notify-error": b"$: truncated",
        "notify-stage": b"ingest",
        "notify-failed-at": str(AT).encode(),
        "notify-version": __version__.encode(),
    }


def test_headers_of_one_name_stay_and_a_letter_that_was_put_back_tells_of_its_last_death() -> None:
    class Kept(Recording):
        def add(self, *args: Any) -> None:
            super().add(*args)
            self.names = [name for name, _ in args[4]]

    outgoing = Kept()
    headers = [("ce_x", b"1"), ("ce_x", b"2"), ("notify-stage", b"sender-email"), ("notify-due-at", b"3")]
    letters().keep(arrived(b"", headers=headers), "x", "y", outgoing, now=AT)
    assert outgoing.names[:3] == ["ce_x", "ce_x", "notify-due-at"]
    assert outgoing.names.count("notify-stage") == 1
    assert outgoing.records[0].headers["notify-stage"] == b"ingest"


@pytest.mark.parametrize("key", [b"ann", b"\xff\xfe", b"", None])
@pytest.mark.parametrize("value", [b"", b"\x00\xff", None])
def test_key_and_value_stay_as_they_came(key: bytes | None, value: bytes | None) -> None:
    outgoing = Recording()
    letters().keep(arrived(value, key), "x", "y", outgoing, now=AT)
    assert (outgoing.records[0].key, outgoing.records[0].value) == (key, value)


def test_what_is_too_large_is_cut_and_says_how_long_it_was() -> None:
    outgoing = Recording(limit=200_000)
    event = arrived(b"v" * 3_000_000, b"k" * 200_000, headers=[("big", b"h" * 200_000)])
    letters().keep(event, "event_too_large", "$: 3000000 bytes", outgoing, now=AT)
    [letter] = outgoing.records
    assert letter.value == b"v" * 65_536
    assert letter.headers["notify-truncated"] == b"3000000"
    assert (letter.headers["notify-stage"], "big" in letter.headers) == (b"ingest", False)


@pytest.mark.parametrize("reason", ["x" * 10_000, "half of a pair \ud800", "line\nbreak"])
def test_any_reason_fits_into_a_header(reason: str) -> None:
    outgoing = Recording()
    letters().keep(arrived(b""), "x", reason, outgoing, now=AT)
    assert len(outgoing.records[0].headers["notify-error"]) <= 2_000


def bury(dead: DeadLetters, count: int = 1, partition: int = 0) -> None:
    for _ in range(count):
        dead.bury(arrived(b"", partition=partition), ValueError("no"), Recording(), now=AT)


def test_what_our_code_cannot_process_names_the_error() -> None:
    outgoing = Recording()
    letters().bury(arrived(b""), KeyError("gone"), outgoing, now=AT)
    headers = outgoing.records[0].headers
    assert (headers["notify-error-class"], headers["notify-error"]) == (b"KeyError", b"'gone'")


def test_twenty_in_a_row_are_borne_and_one_more_stops_the_worker_before_it_is_kept() -> None:
    dead, outgoing = letters(), Recording()
    bury(dead, 20)
    with pytest.raises(TooMany, match="21 in a row"):
        dead.bury(arrived(b""), ValueError("no"), outgoing, now=AT)
    assert outgoing.records == []


def test_one_good_record_in_between_ends_the_row() -> None:
    dead = letters()
    bury(dead, 20)
    dead.handled(arrived(b""))
    bury(dead, 20)


def test_partitions_are_counted_apart() -> None:
    dead = letters()
    bury(dead, 20, partition=0)
    bury(dead, 20, partition=1)


def test_more_than_one_in_twenty_of_the_last_thousand_stop_the_worker() -> None:
    dead = letters()
    for n in range(1_000):
        bury(dead) if n % 20 == 0 else dead.handled(arrived(b""))
    dead.handled(arrived(b""))  # a dead one leaves the window, so one more is borne
    bury(dead)
    with pytest.raises(TooMany, match="51 of the last 1000"):
        bury(dead)


def test_before_a_thousand_were_met_only_the_row_counts() -> None:
    dead = letters()
    for _ in range(40):
        bury(dead, 10)
        dead.handled(arrived(b""))


def test_what_its_sender_got_wrong_never_stops_the_worker() -> None:
    dead, outgoing = letters(), Recording()
    for _ in range(3_000):
        dead.keep(arrived(b""), "invalid_json", "$: truncated", outgoing, now=AT)
        dead.handled(arrived(b""))
    assert len(outgoing.records) == 3_000
