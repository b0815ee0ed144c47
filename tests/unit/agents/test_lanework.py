"""What a sender's agent does with records before they are deliveries."""

from collections.abc import Sequence
from typing import Any, cast

from agents.senders import Lanework
from agents.sending.jobs import Ended, Job
from agents.sending.publishing import Input, Publishing
from agents.sending.sender import Sender
from agents.sending.waits import Waits
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.intake import Batch
from schemas.codec import encode
from tests.fakes import arrived
from tests.sending import mail

DELIVERY = encode(mail())
DEEP = DELIVERY[:-1] + b',"more":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


class Taken:
    """A sender and what it publishes, as far as an agent meets them."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.buried: list[tuple[Any, Exception]] = []

    async def work(self, jobs: Sequence[Job], ended: Ended, *, hold: bool) -> None:
        self.jobs += jobs

    async def room(self, at_most: int) -> None:
        """There is."""

    def bury(self, of: Input, event: Any, error: Exception) -> None:
        self.buried.append((event, error))


async def test_a_record_that_is_no_delivery_is_buried_alone_whatever_reading_it_raises() -> None:
    """RTY-10: an exception that ended the agent would leave its batch under way for ever."""
    taken = Taken()
    work = Lanework(
        cast(Sender, taken),
        cast(Publishing, taken),
        DeadLetters("sender-email", 20),
        Waits(lambda: False),
        role="sender-email",
        lane="high",
        ahead=10,
    )
    batch = Batch()
    batch.extend([arrived(DEEP), arrived(b"{"), arrived(None), arrived(DELIVERY)])
    await work.begin(cast(Any, batch))
    assert [type(error) for _, error in taken.buried[:1]] == [RecursionError]
    assert (len(taken.buried), len(taken.jobs)) == (3, 1)
