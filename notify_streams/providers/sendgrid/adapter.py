"""The SendGrid provider: one mail/send, and what its answer means.

mail/send has no idempotency key (Twilio SendGrid, "Mail Send", Request Body), so a repeat may be a second mail.
"""

from dataclasses import dataclass, field

from notify_streams import settings
from notify_streams.domain.answers import Answer, Refused, Sent
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.http import Http, Reply
from notify_streams.providers.mail.addresses import Malformed, Sender, sender
from notify_streams.providers.mail.required import base, required
from notify_streams.providers.sendgrid import codes, payload

DEFAULT_URL = "https://api.sendgrid.com"
_PATH = "/v3/mail/send"


@dataclass(frozen=True)
class SendGridProvider:
    """Implements `ports.Provider`."""

    http: Http
    url: str
    api_key: str = field(repr=False)
    sender: Sender
    name: str = "sendgrid"
    repeatable: bool = False

    @classmethod
    def of(
        cls, provider: settings.Provider, channel: settings.Channel, *, name: str = "sendgrid", public_url: str = ""
    ) -> "SendGridProvider":
        """From the settings. Raises SettingsError that names what is missing."""
        required(provider, name, "api_key")
        url = base(provider, name, DEFAULT_URL) + _PATH
        return cls(Http.of(provider, channel, name=name), url, provider.api_key, sender(provider, name), name)

    def takes(self, message: Message) -> bool:
        """Every mail."""
        return isinstance(message.rendered, RenderedEmail)

    async def send(self, message: Message, *, now: int) -> Answer:
        """Hand the mail over. Whatever SendGrid or the network does is an Answer."""
        if not isinstance(message.rendered, RenderedEmail):
            return Refused("no mail")
        try:
            body = payload.body(message, message.rendered, self.sender)
        except Malformed as error:
            return Refused(str(error))
        headers = {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"}
        reply = await self.http.post(self.url, body, {**headers, "Accept": "application/json"})
        return _meaning(reply, now) if isinstance(reply, Reply) else reply

    async def close(self) -> None:
        """Let go of connections."""
        await self.http.close()


def _meaning(reply: Reply, now: int) -> Answer:
    if reply.accepted:
        return Sent(reply.headers.get("X-Message-Id"))
    wait = reply.retry_after(now)
    if wait is None and reply.status == 429:
        wait = codes.wait(reply.headers, now)
    return codes.meaning(reply.status, reply.json(), wait)
