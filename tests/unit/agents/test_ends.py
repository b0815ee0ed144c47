"""What follows for an address from how a delivery ended."""

import pytest

from agents.sending import ends
from agents.sending.ends import Said
from schemas.addresses import SuppressAddressV1
from schemas.words import Reason
from tests.builders import HOUR, NOW, a_delivery, an_outcome


@pytest.mark.parametrize(
    ("reason", "suppression", "until"),
    [(Reason.RECIPIENT_OPTED_OUT, "opt_out", None), (Reason.MAILBOX_FULL, "mailbox_full", NOW + 500 + HOUR)],
)
def test_a_recipient_who_wants_nothing_more_is_suppressed_for_good_and_a_full_mailbox_for_a_while(
    reason: Reason, suppression: str, until: int | None
) -> None:
    failed = an_outcome(state="failed", reason=reason)
    word = ends.of(a_delivery(), failed, Said(rests_ms=HOUR)).word
    assert isinstance(word, SuppressAddressV1)
    assert (word.reason, word.until, word.by) == (suppression, until, "provider/smtp")


@pytest.mark.parametrize("reason", [Reason.RECIPIENT_OPTED_OUT, Reason.ENDPOINT_GONE, Reason.REFUSED])
def test_a_producers_own_webhook_says_nothing_of_an_address_and_falls_back_nowhere(reason: Reason) -> None:
    told = a_delivery(hook="shop", fallback=("push",))
    end = ends.of(told, an_outcome(told, state="failed", reason=reason), Said(rests_ms=HOUR))
    assert (end.word, end.back) == (None, None)
