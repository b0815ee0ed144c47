"""The SES provider: one SendEmail, and what its answer means.

SendEmail has no idempotency token (Amazon SES API v2, "SendEmail", Request Body), so a repeat may be a second mail.
"""

from dataclasses import dataclass

from notify_streams import settings
from notify_streams.domain.answers import Answer, Refused, Sent
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.http import Http, Reply
from notify_streams.providers.mail.addresses import Malformed, Sender, sender
from notify_streams.providers.mail.required import base, required
from notify_streams.providers.ses import codes, payload
from notify_streams.providers.ses.auth import Keys, prepare, signed

_PATH = "/v2/email/outbound-emails"


@dataclass(frozen=True)
class SesProvider:
    """Implements `ports.Provider`."""

    http: Http
    url: str
    keys: Keys
    sender: Sender
    configuration_set: str = ""
    name: str = "ses"
    repeatable: bool = False

    @classmethod
    def of(
        cls, provider: settings.Provider, channel: settings.Channel, *, name: str = "ses", public_url: str = ""
    ) -> "SesProvider":
        """From the settings. Raises SettingsError that names what is missing."""
        required(provider, name, "region", "access_key_id", "secret_access_key")
        prepare()
        return cls(
            Http.of(provider, channel, name=name),
            base(provider, name, f"https://email.{provider.region}.amazonaws.com") + _PATH,
            Keys(provider.access_key_id, provider.secret_access_key, provider.region),
            sender(provider, name),
            provider.configuration_set,
            name,
        )

    def takes(self, message: Message) -> bool:
        """Every mail."""
        return isinstance(message.rendered, RenderedEmail)

    async def send(self, message: Message, *, now: int) -> Answer:
        """Hand the mail over. Whatever SES or the network does is an Answer."""
        if not isinstance(message.rendered, RenderedEmail):
            return Refused("no mail")
        try:
            body = payload.body(
                message, message.rendered, self.sender, configuration_set=self.configuration_set, now=now
            )
        except Malformed as error:
            return Refused(str(error))
        headers = signed("POST", self.url, body, {"Content-Type": "application/json"}, keys=self.keys, now=now)
        reply = await self.http.post(self.url, body, headers)
        return _meaning(reply, now) if isinstance(reply, Reply) else reply

    async def close(self) -> None:
        """Let go of connections."""
        await self.http.close()


def _meaning(reply: Reply, now: int) -> Answer:
    said = reply.json()
    if reply.accepted:
        name = said.get("MessageId")
        return Sent(name if isinstance(name, str) else None)
    words = str(said.get("message") or said.get("Message") or "")
    return codes.meaning(reply.status, codes.name_of(reply.headers, said), words, reply.retry_after(now))
