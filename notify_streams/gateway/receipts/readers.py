"""Per provider of the settings: how its callbacks are checked and read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from notify_streams.gateway.receipts import dsn, forms, sendgrid, ses, sns, twilio
from notify_streams.gateway.receipts.fetching import Sns
from notify_streams.gateway.receipts.said import Callback, Confirmation, Ignored, Item, Refusal, unknown, unsigned
from notify_streams.gateway.receipts.taking import Source
from notify_streams.settings import Provider, Settings, SettingsError, milliseconds
from schemas.words import Channel

K = TypeVar("K")
CHANNELS: Mapping[str, Channel] = {"ses": "email", "sendgrid": "email", "smtp": "email", "twilio": "sms"}


class Reader(Protocol):
    """One vendor with one set of credentials."""

    async def read(self, callback: Callback) -> list[Item] | Refusal:
        """Whatever the bytes are it is one of these. Raises Unavailable where the signature cannot be checked now."""


@dataclass(frozen=True, slots=True)
class SendGrid:
    """Without a key nothing can be shown to be SendGrid's, and nothing is taken."""

    key: EllipticCurvePublicKey | None

    async def read(self, callback: Callback) -> list[Item] | Refusal:
        """See Reader."""
        if self.key is None:
            return unsigned("this provider has no verification_key: its events cannot be told from anybody's")
        return sendgrid.read(callback, self.key)


@dataclass(frozen=True, slots=True)
class Reports:
    """Delivery reports of mail servers, posted by whoever gets them."""

    key: bytes

    async def read(self, callback: Callback) -> list[Item] | Refusal:
        """See Reader."""
        if not self.key:
            return unsigned("this provider has no signing_key: its reports cannot be told from anybody's")
        return dsn.read(callback, self.key)


@dataclass(frozen=True, slots=True)
class Twilio:
    """Its auth token signs both ways."""

    auth_token: str

    async def read(self, callback: Callback) -> list[Item] | Refusal:
        """See Reader."""
        if not self.auth_token:
            return unsigned("this provider has no auth_token: its callbacks cannot be told from anybody's")
        if twilio.SIGNATURE not in callback.headers:
            return unsigned("the request carries no X-Twilio-Signature")
        fields = forms.fields(callback.body, callback.headers.get("content-type", ""))
        if fields is None:
            return unknown("the body is no form")
        return twilio.read(callback, fields, self.auth_token)


@dataclass(frozen=True, slots=True)
class Ses:
    """SES's events come through SNS."""

    topics: tuple[str, ...]
    hosts: tuple[str, ...]
    fetched: Sns

    async def read(self, callback: Callback) -> list[Item] | Refusal:
        """See Reader."""
        if callback.headers.get("x-amz-sns-rawdelivery", "").lower() == "true":
            return unsigned("raw message delivery is switched on for the subscription: such messages are not signed")
        envelope = sns.envelope_of(callback.body)
        if isinstance(envelope, str):
            return unknown(envelope)
        refused = sns.why_not_trusted(envelope, topics=self.topics, hosts=self.hosts, now=callback.now)
        if refused is not None:
            return unsigned(refused)
        certificate = await self.fetched.certificate(envelope.SigningCertURL)
        if certificate is None:
            return unsigned("there is no signing certificate where the message says")
        refused = sns.why_forged(envelope, certificate, callback.now)
        return unsigned(refused) if refused is not None else await self._signed(envelope)

    async def _signed(self, envelope: sns.Envelope) -> list[Item] | Refusal:
        match envelope.Type:
            case "Notification":
                return [ses.read(envelope.Message)]
            case "SubscriptionConfirmation":
                url = envelope.SubscribeURL or ""
                if not sns.is_subscribe_url(url, self.hosts):
                    return unknown("the subscription is not confirmed at a host of Amazon SNS")
                if not await self.fetched.confirm(url):
                    return unknown("Amazon SNS does not take the confirmation")
                return [Confirmation(url)]
            case _:
                return [Ignored()]


def readers_of(settings: Settings, sns_: Sns) -> dict[str, tuple[Reader, Source]]:
    """By provider; those that send no callbacks are not among them. Raises SettingsError for a key that is none."""
    found: dict[str, tuple[Reader, Source]] = {}
    for name, provider in settings.providers.items():
        kind = provider.kind or name
        channel = CHANNELS.get(kind)
        if channel is None:
            continue
        carried = settings.channels.get(channel)
        rests = "24h" if carried is None else carried.rests_after_full
        source = Source(name=name, channel=channel, rests_ms=milliseconds(rests))
        found[name] = _reader(kind, name, provider, sns_), source
    return found


def _reader(kind: str, name: str, provider: Provider, sns_: Sns) -> Reader:
    match kind:
        case "ses":
            return Ses(provider.sns_topics, provider.sns_certificate_hosts, sns_)
        case "twilio":
            return Twilio(provider.auth_token)
        case "smtp":
            return Reports(_key(f"providers.{name}.signing_key", provider.signing_key, dsn.key_of) or b"")
        case _:
            key = _key(f"providers.{name}.verification_key", provider.verification_key, sendgrid.verification_key)
            return SendGrid(key)


def _key(setting: str, text: str, read: Callable[[str], K]) -> K | None:
    try:
        return read(text) if text else None
    except ValueError as error:
        raise SettingsError(f"{setting}: {error}") from None
