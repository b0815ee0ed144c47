"""The Web Push provider: one encrypted message to the push service that a subscription names (RFC 8030, 5)."""

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from notify_streams import settings
from notify_streams.domain.answers import Answer, EndpointGone, Refused, Sent, TryLater, Unknown
from notify_streams.domain.rendered import RenderedPush
from notify_streams.ports import Message
from notify_streams.providers.es256 import read_key
from notify_streams.providers.http import Failure, Http, Reply
from notify_streams.providers.webpush import codes, payload, subscription
from notify_streams.providers.webpush.vapid import Vapid
from notify_streams.settings import SettingsError


@dataclass(frozen=True)
class WebPushProvider:
    """Implements `ports.Provider`.

    Repeatable: topic and tag are the same for every attempt. What waits at the push service is replaced, and what was
    shown is shown once.
    """

    http: Http
    vapid: Vapid
    own_host: str = ""
    insecure: bool = False
    name: str = "webpush"
    repeatable: bool = True

    @classmethod
    def of(
        cls, provider: settings.Provider, channel: settings.Channel, *, name: str = "webpush", public_url: str = ""
    ) -> "WebPushProvider":
        """From the settings. Raises SettingsError for a VAPID key or subject that is missing or none.

        `url` names a push service of one's own, that counts as the browsers' do. With `allow_private` subscriptions
        may lead to private addresses, and without TLS.
        """
        key = read_key(provider.vapid_key_file, f"providers.{name}.vapid_key_file")
        subject = provider.vapid_subject
        if not subject.startswith(("mailto:", "https://")) or not subject.isascii():
            raise SettingsError(f"providers.{name}.vapid_subject: a mailto: or https:// URL is needed (RFC 8292, 2.1)")
        http = Http.of(provider, channel, name=name, guarded=not provider.allow_private)
        return cls(http, Vapid(key, subject), urlsplit(provider.url).hostname or "", provider.allow_private, name)

    def takes(self, message: Message) -> bool:
        """Push to a browser's subscription, whatever the platform it was registered with."""
        return isinstance(message.rendered, RenderedPush) and message.address.startswith("{")

    async def send(self, message: Message, *, now: int) -> Answer:
        """Hand the message over. Whatever the push service or the network does is an Answer."""
        to = subscription.read(message.address)
        if to is None:
            return EndpointGone("no subscription")
        if not to.secure and not self.insecure:
            return Refused("a push service is reached by https only")
        plaintext = payload.body(message)
        if plaintext is None:
            return Refused("the link leaves no room for a text")
        headers = payload.headers(message, authorization=self.vapid.authorization(to.origin, now), now=now)
        once, salt = ec.generate_private_key(ec.SECP256R1()), os.urandom(payload.SALT_BYTES)
        content = payload.encrypted(plaintext, to, once=once, salt=salt)
        reply = await self.http.post(to.endpoint, content, headers)
        return _answer(reply, now, known=codes.is_known(to.host, self.own_host))

    async def close(self) -> None:
        """Let go of connections."""
        await self.http.close()


def _answer(reply: Reply | Failure, now: int, *, known: bool) -> Answer:
    """A host that a stranger named and that is not there, or not at work, is a matter of its subscriptions."""
    if isinstance(reply, Reply):
        return Sent() if reply.accepted else codes.meaning(reply.status, reply.retry_after(now), known=known)
    if isinstance(reply, Unknown) and not known:
        return TryLater(reply.detail, about="endpoint")
    if isinstance(reply, TryLater) and not known:
        return msgspec.structs.replace(reply, about="endpoint")
    return reply
