"""What the records of each topic were about, whoever wrote them and however often."""

import orjson
import pytest

from notify_streams.domain.accept import Limits
from notify_streams.domain.send_back import send_back
from notify_streams.replay.derive import Derived, Raw, Reader, reading
from notify_streams.replay.plan import REPLAYABLE
from schemas.codec import encode
from schemas.decisions import CatalogueV1
from schemas.notifications import FlushV1
from tests.builders import NOW, a_catalogue, a_delivery, a_notification, an_event
from tests.decisions import a_recorded_decision

READER = Reader(a_catalogue(), Limits(), {"/shop/*": "shop"})
HEADERS = {"content-type": b"application/cloudevents+json"}


def read(topic: str, value: bytes | None, headers: dict[str, bytes | None] | None = None) -> Derived:
    return reading(topic, REPLAYABLE[topic], READER)(Raw(3, 17, NOW, b"ann", value, headers or {}))


def test_an_event_is_read_as_ingest_reads_it() -> None:
    event = orjson.dumps(an_event(data={"recipients": ["ann", "bob"]}))
    made = read("events.high", event, {**HEADERS})
    assert not isinstance(made, str)
    assert [n.user_id for n in made] == ["ann", "bob"]
    assert {(n.accepted_at, n.tenant, n.lane) for n in made} == {(NOW, "shop", "normal")}


def test_what_ingest_refuses_is_rejected_here_as_well() -> None:
    assert read("events.high", b"{", {**HEADERS}) == "rejected"
    assert read("events.high", None) == "tombstones"


def test_a_notification_that_came_back_stands_for_itself_on_its_channels() -> None:
    plain = a_notification(origin="")
    again = a_notification(
        origin="timer/x/1", revision=3, due_at=NOW, attempt=2, by="ses", uncounted=1, endpoint_id="home", replay="r"
    )
    assert read("notifications.low", encode(again)) == (plain,)


def test_a_delivery_stands_for_its_notification_on_its_channel_whatever_its_endpoint() -> None:
    one, other = a_delivery(endpoint_id="home", attempt=4), a_delivery(endpoint_id="work")
    assert read("deliveries.email.low", encode(one)) == read("deliveries.email.low", encode(other))
    made = read("deliveries.email.low", encode(one))
    assert not isinstance(made, str)
    assert (made[0].channels, made[0].endpoint_id) == (("email",), None)
    assert made[0].content is not None
    assert made[0].content.address is None
    assert send_back(one).endpoint_id == "home"


def test_a_decision_embeds_its_notification() -> None:
    decision = a_recorded_decision()
    assert read("decisions", encode(decision)) == (decision.notification,)


@pytest.mark.parametrize(
    ("topic", "value", "aside"),
    [
        ("notifications.low", encode(FlushV1(channel="email", window="w", number=1, due_at=0)), "other"),
        ("deliveries.webhook.low", encode(a_delivery(channel="webhook", hook="shop")), "other"),
        ("decisions", encode(CatalogueV1(hash="h", body=b"{}")), "other"),  # type: ignore[arg-type]
        ("notifications.low", b'{"schema": "notification.v1"}', "unreadable"),
        ("deliveries.email.low", b"\xff", "unreadable"),
        ("decisions", None, "tombstones"),
    ],
)
def test_what_is_about_no_notification_is_set_aside_with_a_name(topic: str, value: bytes | None, aside: str) -> None:
    assert read(topic, value) == aside
