"""The providers of a channel by the settings: which kinds there are, and which adapter each of them is."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import msgspec

from notify_streams.gateway.keys import KeyRing
from notify_streams.ports import Provider
from notify_streams.providers.webhook.adapter import WebhookProvider
from notify_streams.settings import Channel as ChannelSettings
from notify_streams.settings import Provider as ProviderSettings
from notify_streams.settings import Settings, SettingsError
from schemas.words import Channel


class Adapter(Protocol):
    """A class of `providers/KIND/adapter.py`."""

    def of(self, provider: ProviderSettings, channel: ChannelSettings, *, name: str, public_url: str) -> Provider:
        """From the settings. Raises SettingsError naming what is missing or cannot be used."""


class _Kind(msgspec.Struct, frozen=True):
    channel: Channel
    adapter: str


_KINDS = {
    "smtp": _Kind("email", "SmtpProvider"),
    "ses": _Kind("email", "SesProvider"),
    "sendgrid": _Kind("email", "SendGridProvider"),
    "fcm": _Kind("push", "FcmProvider"),
    "apns": _Kind("push", "ApnsProvider"),
    "webpush": _Kind("push", "WebPushProvider"),
    "twilio": _Kind("sms", "TwilioProvider"),
    "webhook": _Kind("webhook", "WebhookProvider"),
}


def chain(settings: Settings, channel: Channel) -> dict[str, ProviderSettings]:
    """By name, in the order of `channels.CHANNEL.providers`. Raises SettingsError for one that cannot be in it."""
    place = f"channels.{channel}.providers"
    names = settings.channels[channel].providers if channel in settings.channels else ()
    if not names:
        raise SettingsError(f"{place}: at least one of {_of(channel)} is needed")
    if len(set(names)) < len(names):
        raise SettingsError(f"{place}: {list(names)} names one twice")
    known = settings.channels[channel]
    for key, number in (("concurrency", known.concurrency), ("retry.attempts", known.retry.attempts)):
        if number < 1:
            raise SettingsError(f"channels.{channel}.{key}: at least 1 is needed")
    found: dict[str, ProviderSettings] = {}
    for name in names:
        chosen = settings.providers.get(name, ProviderSettings())
        kind = _KINDS.get(chosen.kind or name)
        if kind is None and (chosen.kind or name not in settings.providers):
            raise SettingsError(f"{place}: no provider {chosen.kind or name!r}; there are {_of(channel)}")
        if kind is None:
            raise SettingsError(f"providers.{name}.kind: one of {_of(channel)} is needed")
        if kind.channel != channel:
            raise SettingsError(f"{place}: {name!r} carries {kind.channel}, not {channel}")
        if not chosen.rate > 0:
            raise SettingsError(f"providers.{name}.rate: a number above 0 is needed")
        found[name] = chosen
    return found


def providers(settings: Settings, channel: Channel) -> list[Provider]:
    """Made new, with connections of their own. Raises SettingsError."""
    known, public_url = settings.channels.get(channel, ChannelSettings()), settings.gateway.public_url
    made = [
        _adapter(chosen.kind or name).of(chosen, known, name=name, public_url=public_url)
        for name, chosen in chain(settings, channel).items()
    ]
    return [_knowing_keys(settings, provider) for provider in made] if channel == "webhook" else made


def rates(chosen: Mapping[str, ProviderSettings]) -> dict[str, float]:
    """Calls per second, by name."""
    return {name: provider.rate for name, provider in chosen.items()}


def _knowing_keys(settings: Settings, provider: Provider) -> Provider:
    """Producers' own webhooks are signed with the secrets of their keys."""
    ring = KeyRing(Path(settings.auth.keys_file))
    return replace(provider, hooks=ring.webhook_secret) if isinstance(provider, WebhookProvider) else provider


def _adapter(kind: str) -> Adapter:
    """Imported when it is needed: a sender of texts needs no HTTP/2."""
    module = import_module(f"notify_streams.providers.{kind}.adapter")
    return cast(Adapter, getattr(module, _KINDS[kind].adapter))


def _of(channel: Channel) -> str:
    return ", ".join(name for name, kind in _KINDS.items() if kind.channel == channel)
