"""What the files alone say about a run."""

from datetime import UTC, datetime

import pytest

from notify_streams import bootstrap
from notify_streams.local.demo.inputs import Inputs, inputs
from notify_streams.local.demo.lines import Run, post, read, record
from notify_streams.settings import Settings

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def hour() -> Inputs:
    run, known = Run.starting(NOW), Settings()
    records = [record(line, run) for line in read("hour.jsonl")]
    posts = [post(line, run) for line in read("hour_http.jsonl")]
    return inputs(
        records,
        posts,
        bootstrap.catalogue(known),
        bootstrap.limits(known),
        now=round(NOW.timestamp() * 1000),
    )


def test_every_line_is_one_term(hour: Inputs) -> None:
    assert hour.published == len(hour.identities) + hour.rejected + hour.tombstones + hour.repeated


def test_no_term_is_empty(hour: Inputs) -> None:
    assert min(len(hour.identities), hour.rejected, hour.tombstones, hour.repeated) > 0


def test_every_notification_has_a_channel_to_decide(hour: Inputs) -> None:
    assert all(notification.channels for notification in hour.notifications.values())
    assert hour.per_channel().total() == sum(len(n.channels) for n in hour.notifications.values())


def test_an_event_that_is_repeated_names_one_person() -> None:
    met: dict[tuple[str, str], int] = {}
    for line in [*read("hour.jsonl"), *read("hour_http.jsonl")]:
        if line.event and "id" in line.event:
            key = line.event["source"], line.event["data"].get("dedupe_key") or line.event["id"]
            met[key] = met.get(key, 0) + 1
            if met[key] > 1:
                assert len(line.event["data"]["recipients"]) == 1
