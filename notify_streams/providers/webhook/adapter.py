"""The webhook provider: one POST to a user's own server, signed as Standard Webhooks 1.0.0 says.

The delivery's id is the `webhook-id`, which receivers use as their idempotency key: a lost answer is sent again.
"""

from collections.abc import Callable
from dataclasses import dataclass

from yarl import URL

from notify_streams import settings
from notify_streams.domain.answers import Answer, Refused, Sent
from notify_streams.domain.rendered import RenderedWebhook
from notify_streams.domain.urls import may_be_called
from notify_streams.ports import Message
from notify_streams.providers.http import Http, Reply
from notify_streams.providers.webhook import codes, payload, signing

Secrets = Callable[[str], str | None]


def _nobody(_: str) -> str | None:
    return None


@dataclass(frozen=True)
class WebhookProvider:
    """Implements `ports.Provider`. `hooks` knows the secret of a key's own webhook (`Message.hook`) by its name."""

    http: Http
    keys: tuple[bytes, ...]
    allow_private: bool = False
    name: str = "webhook"
    repeatable: bool = True
    hooks: Secrets = _nobody

    @classmethod
    def of(
        cls, provider: settings.Provider, channel: settings.Channel, *, name: str = "webhook", public_url: str = ""
    ) -> "WebhookProvider":
        """From the settings. Raises SettingsError for a `signing_key` that is missing or none; two, with a space
        between them, both sign.
        """
        try:
            keys = tuple(signing.key_of(secret) for secret in provider.signing_key.split()[:2])
        except ValueError as error:
            raise settings.SettingsError(f"providers.{name}.signing_key: {error}") from error
        if not keys:
            raise settings.SettingsError(f"providers.{name}.signing_key: is missing")
        http = Http.of(provider, channel, name=name, guarded=not provider.allow_private, about="endpoint")
        return cls(http, keys, provider.allow_private, name)

    def takes(self, message: Message) -> bool:
        """Every webhook."""
        return isinstance(message.rendered, RenderedWebhook)

    async def send(self, message: Message, *, now: int) -> Answer:
        """Hand it over. Whatever the server or the network does is an Answer."""
        if not isinstance(message.rendered, RenderedWebhook):
            return Refused("no webhook")
        if not may_be_called(message.address, allow_private=self.allow_private):
            return Refused("the address is none that is called")
        keys = self._keys(message.hook)
        if not keys:
            return Refused("its key is revoked or has no webhook any more")
        body = payload.body(message, message.rendered)
        signed = signing.headers(keys, message.delivery_id, body, now=now)
        reply = await self.http.post(_ascii(message.address), body, {"Content-Type": "application/json", **signed})
        if not isinstance(reply, Reply):
            return reply
        return Sent() if reply.accepted else codes.meaning(reply.status, reply.retry_after(now))

    async def close(self) -> None:
        """Let go of connections."""
        await self.http.close()

    def _keys(self, hook: str) -> tuple[bytes, ...]:
        if not hook:
            return self.keys
        try:
            return (signing.key_of(self.hooks(hook) or ""),)
        except ValueError:  # what somebody has written into the keys file by hand is no secret
            return ()


def _ascii(address: str) -> str:
    """As it goes over the wire: what a person spelt in letters of their own is encoded, the rest stays as it is."""
    return address if address.isascii() else str(URL(address))
