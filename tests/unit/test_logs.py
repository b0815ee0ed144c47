"""What gets into the log."""

import logging
import sys

from notify_streams.logs import Repeats, Withheld


def a_line(name: str, message: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, __file__, 1, message, args, None)


def test_an_outage_is_one_line_of_a_kind_every_ten_seconds_with_how_many_it_stands_for() -> None:
    now = [0.0]
    repeats, written = Repeats(clock=lambda: now[0]), []
    for tenth in range(201):
        now[0] = tenth / 10
        line = a_line("aiokafka.consumer.fetcher", "Failed fetch messages from %s", 1)
        if repeats.filter(line):
            written.append(line.getMessage())
    assert written == [
        "Failed fetch messages from 1",
        "Failed fetch messages from 1 (and 99 more like it)",
        "Failed fetch messages from 1 (and 99 more like it)",
    ]


def test_other_kinds_and_own_lines_are_not_held_back() -> None:
    repeats = Repeats(clock=lambda: 0.0)
    assert repeats.filter(a_line("aiokafka.client", "Unable to update metadata"))
    assert repeats.filter(a_line("aiokafka.client", "Topic is gone"))
    assert all(repeats.filter(a_line("notify_streams.streaming.settle", "batch.unsettled")) for _ in range(3))


def test_what_a_client_sent_is_not_quoted_when_the_server_cannot_parse_it() -> None:
    """SEC-09."""
    sent = "Bearer " + "marker"
    try:
        raise ValueError(f"Got more than 8190 bytes when reading: {sent}")
    except ValueError:
        error = sys.exc_info()
    line = logging.LogRecord("aiohttp.server", logging.ERROR, __file__, 1, "Error handling request", (), error)
    assert Withheld().filter(line)
    written = logging.Formatter("%(message)s").format(line)
    assert written.startswith("Error handling request: ValueError")
    assert "raise ValueError" in written
    assert sent not in written
