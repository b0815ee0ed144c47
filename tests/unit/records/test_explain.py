"""The story of a notification, word for word."""

from notify_streams.records.explain import Story, explain
from schemas.decisions import Defer, Deliver, Suppress
from schemas.facts import Fact
from schemas.words import IN_WORDS, Reason
from tests.facts import A_NOTIFICATION, NOON, a_decision, a_receipt, an_inbox_fact, an_outcome, to_mail

TO_INBOX = Deliver(channel="inapp", endpoint_ids=("inbox",))
NO_PUSH = Suppress(channel="push", reason=Reason.OPTED_OUT_OF_CATEGORY)


def story_of(*facts: Fact) -> Story:
    story = explain(A_NOTIFICATION, facts)
    assert story is not None
    return story


def test_of_nothing_there_is_no_story() -> None:
    assert explain(A_NOTIFICATION, []) is None


def test_the_story_is_told_in_order_and_in_words() -> None:
    story = story_of(
        an_outcome("sent", attempt=2, at=NOON + 3000, provider_message_id="<m@x>"),
        an_outcome(
            "retrying", at=NOON + 500, next_at=NOON + 3000, reason=Reason.PROVIDER_UNAVAILABLE, detail="451 4.7.1"
        ),
        an_inbox_fact(),
        a_decision(TO_INBOX, to_mail("home"), NO_PUSH),
    )
    assert story.headline == "order.confirmed for user-42 from /shop/orders (event order-123-confirmed)"
    assert [line.text for line in story.lines] == [
        "accepted on the normal lane, to be sent before 2026-09-21 15:13:20.000Z",
        "decided: send it to the inbox; send it by mail to home; "
        "not by push, because the user has switched the category off on this channel",
        "written to the inbox as number 17",
        "mail to home, attempt 1 through smtp: not now, the provider could not take it just now (451 4.7.1); "
        "next attempt 2026-09-21 14:13:23.000Z",
        "mail to home, attempt 2 through smtp: sent, known there as <m@x>",
    ]
    assert story.ending == (
        "The inbox: sent.",
        "Mail: sent.",
        "Push: suppressed, because the user has switched the category off on this channel.",
    )


def test_what_was_not_sent_is_named_with_its_reason() -> None:
    story = story_of(a_decision(TO_INBOX, NO_PUSH), an_inbox_fact())
    assert story.not_sent == {"push": IN_WORDS[Reason.OPTED_OUT_OF_CATEGORY]}


def test_a_deferred_channel_says_until_when_and_why() -> None:
    story = story_of(a_decision(Defer(channel="email", until=NOON + 60_000, reason=Reason.SCHEDULED)))
    assert story.ending == ("Mail: waits until 2026-09-21 14:14:20.000Z, because the event asks to be sent later.",)


def test_what_is_odd_is_said_at_the_end() -> None:
    story = story_of(an_outcome("sent"))
    assert story.ending[-1] == "The decision itself is not recorded (yet)."


def test_what_the_provider_said_later_is_part_of_the_story() -> None:
    """EML-05, and a bounce that comes after it."""
    sent: list[Fact] = [a_decision(to_mail("home")), an_outcome("sent")]
    delayed = a_receipt("delayed", detail="4.4.7")
    arrived = [a_receipt("delivered", at=NOON + 3000), a_receipt("read", at=NOON + 4000)]
    story = story_of(*sent, delayed, *arrived, a_receipt("complained", at=NOON + 5000))
    assert [line.text for line in story.lines[3:]] == [
        "mail to home: ses has not got rid of it yet and goes on trying (4.4.7)",
        "mail to home: delivered, says ses",
        "mail to home: opened, says ses",
        "mail to home: its recipient has reported it to ses as unwanted",
    ]
    assert story.ending == (
        "Mail: delivered, and read 2026-09-21 14:13:24.000Z.",
        "Its recipient reported it as unwanted.",
    )
    bounced = a_receipt("bounced", at=NOON + 5000, permanent=True, detail="5.1.1")
    story = story_of(*sent, a_receipt("delivered", at=NOON + 3000), bounced)
    assert story.lines[-1].text == "mail to home: it came back, says ses: there is no such address (5.1.1)"
    assert story.ending == ("Mail: failed, because the provider had taken it, and it came back.",)


def test_every_reason_has_words() -> None:
    assert set(IN_WORDS) == set(Reason)
