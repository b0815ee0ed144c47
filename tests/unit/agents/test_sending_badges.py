"""The number on an app's icon: how many are unread when the push is sent, if that is known."""

from collections.abc import Mapping, Sequence

from notify_streams.ports import Unavailable
from tests.fakes import Provider
from tests.sending import a_sender, mail, states, work


class Counts:
    """What is known, and who was asked for at once."""

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self.known, self.asked = known, list[list[str]]()

    async def unread(self, user_ids: Sequence[str]) -> Mapping[str, int]:
        self.asked.append(sorted(user_ids))
        if self.known is None:
            raise Unavailable("Redis is away")
        return self.known


async def test_a_message_says_how_many_are_unread_and_nothing_where_nobody_knows() -> None:
    provider, counts = Provider(), Counts({"ann": 7, "bob": 0})
    sender = a_sender(provider, unread=counts)
    results = await work(sender, mail("ann"), mail("bob"), mail("eve"), mail("ann"))
    assert states(results) == ["sent"] * 4
    badges = {(message.user_id, message.badge) for message in provider.mails}
    assert badges == {("ann", 7), ("bob", 0), ("eve", None)}
    assert counts.asked == [["ann", "bob", "eve"]]


async def test_a_push_is_sent_without_a_number_while_redis_is_away() -> None:
    provider = Provider()
    assert states(await work(a_sender(provider, unread=Counts(None)), mail())) == ["sent"]
    assert [message.badge for message in provider.mails] == [None]
