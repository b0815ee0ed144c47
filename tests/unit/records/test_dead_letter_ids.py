"""What can be the id of no dead letter is said to be none before any broker is asked."""

import pytest

from notify_streams.records.dead_letters import DeadLetterLog, NoSuchLetter
from notify_streams.settings import Kafka


@pytest.mark.parametrize("id_", ["", "abc", "1", "1-", "-1-0", "99-0", "0-0-0", "0-" + "9" * 5000, "0-\u0661", " 0-0"])
async def test_what_can_be_no_letter_is_none(id_: str) -> None:
    log = DeadLetterLog(Kafka(bootstrap="127.0.0.1:1"))  # where nobody answers
    with pytest.raises(NoSuchLetter):
        await log.one(id_)
    with pytest.raises(NoSuchLetter):
        await log.redrive(["0-0", id_])
