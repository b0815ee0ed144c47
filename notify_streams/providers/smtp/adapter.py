"""The SMTP provider: a mail in, an answer out."""

import asyncio
import contextlib
from dataclasses import dataclass

import aiosmtplib

from notify_streams import settings
from notify_streams.domain.answers import Answer, Refused, Sent
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.mail.addresses import Malformed, Sender, sender
from notify_streams.providers.mail.headers import message_id
from notify_streams.providers.smtp.conversation import Conversation, Stale
from notify_streams.providers.smtp.payload import envelope
from notify_streams.providers.smtp.pool import Connection, Pool, client_of


@dataclass(frozen=True)
class SmtpProvider:
    """Implements `ports.Provider`. SMTP knows no idempotency key, so what became of a mail can stay unknown."""

    pool: Pool
    sender: Sender
    timeout: float
    name: str = "smtp"
    repeatable: bool = False

    @classmethod
    def of(
        cls, provider: settings.Provider, channel: settings.Channel, *, name: str = "smtp", public_url: str = ""
    ) -> "SmtpProvider":
        """From the settings. Raises SettingsError for an address, a sender or a login that cannot work."""
        timeout = settings.seconds(channel.attempt_timeout)
        return cls(Pool(client_of(provider, name, timeout), channel.concurrency), sender(provider, name), timeout, name)

    def takes(self, message: Message) -> bool:
        """Every mail."""
        return isinstance(message.rendered, RenderedEmail)

    async def send(self, message: Message, *, now: int) -> Answer:
        """Hand the mail over. Whatever the server or the network does is an Answer."""
        if not isinstance(message.rendered, RenderedEmail):
            return Refused("no mail")
        try:
            conversation = Conversation(envelope(message, message.rendered, self.sender, now=now))
        except Malformed as error:
            return Refused(str(error))
        async with self.pool.slots:
            try:
                async with asyncio.timeout(self.timeout):
                    answer = await self._converse(conversation)
            except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
                return conversation.interrupted(error)
        return Sent(message_id(message, self.sender)) if isinstance(answer, Sent) else answer

    async def close(self) -> None:
        """Let go of connections."""
        await self.pool.close()

    async def _converse(self, conversation: Conversation) -> Answer:
        """Over a kept connection; over a new one where there is none or the server has given it up."""
        if kept := self.pool.kept():
            with contextlib.suppress(Stale):
                return await self._over(kept, conversation, kept=True)
        return await self._over(await self.pool.opened(), conversation, kept=False)

    async def _over(self, connection: Connection, conversation: Conversation, *, kept: bool) -> Answer:
        try:
            answer = await conversation.run(connection.client, kept=kept, clean=connection.clean)
        except BaseException:
            connection.client.close()
            raise
        self.pool.keep(Connection(connection.client, clean=isinstance(answer, Sent)))
        return answer
