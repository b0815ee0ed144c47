"""What `notify inspect` shows of one delivery."""

import pytest

from notify_streams.cli.inspect import _print
from notify_streams.domain.status import fold
from tests.facts import A_NOTIFICATION, NOON, a_decision, a_receipt, an_outcome, to_mail


def test_receipts_stand_between_the_attempts_by_time(capsys: pytest.CaptureFixture[str]) -> None:
    delivered, bounced = a_receipt("delivered"), a_receipt("bounced", at=NOON + 9000, detail="5.1.1")
    status = fold(A_NOTIFICATION, [a_decision(to_mail("home")), bounced, an_outcome("sent"), delivered])
    assert status is not None
    _print(status)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0][1] == "failed"
    assert [line[2:] for line in lines[3:]] == [
        ["sent", "1", "14:13:21.000Z", "smtp"],
        ["delivered", "receipt", "14:13:22.000Z", "ses"],
        ["bounced", "receipt", "14:13:29.000Z", "ses", "5.1.1"],
    ]
