"""Which providers a channel has by the settings; what cannot work is refused at start, by the setting's name."""

import re
from importlib import import_module
from typing import Any

import msgspec
import pytest

from notify_streams import chains
from notify_streams.settings import Channel, Provider, Retry, Settings, SettingsError
from schemas.words import Channel as ChannelName


def settings(channel: ChannelName, *names: str, **providers: Provider) -> Settings:
    return Settings(channels={channel: Channel(providers=names)}, providers=providers)


def test_the_chain_is_in_the_order_of_the_settings() -> None:
    known = settings("email", "ses", "backup", smtp=Provider(), backup=Provider(kind="smtp", rate=7))
    assert list(chains.chain(known, "email")) == ["ses", "backup"]
    assert chains.rates(chains.chain(known, "email")) == {"ses": 500.0, "backup": 7}


@pytest.mark.parametrize(
    ("channel", "names", "providers", "why"),
    [
        ("email", (), {}, "channels.email.providers: at least one of smtp, ses, sendgrid is needed"),
        ("email", ("pigeon",), {}, "channels.email.providers: no provider 'pigeon'; there are smtp, ses, sendgrid"),
        ("email", ("mine",), {"mine": Provider()}, "providers.mine.kind: one of smtp, ses, sendgrid is needed"),
        ("email", ("mine",), {"mine": Provider(kind="x")}, "channels.email.providers: no provider 'x'"),
        ("email", ("smtp", "twilio"), {}, "channels.email.providers: 'twilio' carries sms, not email"),
        ("email", ("smtp", "smtp"), {}, "names one twice"),
        ("email", ("smtp",), {"smtp": Provider(rate=0)}, "providers.smtp.rate: a number above 0 is needed"),
        ("email", ("smtp",), {"smtp": Provider(rate=float("nan"))}, "providers.smtp.rate"),
        ("push", ("fcm",), {}, "providers.fcm.credentials_file"),
        ("push", ("apns",), {}, "providers.apns."),
        ("push", ("webpush",), {}, "providers.webpush."),
        ("sms", ("twilio",), {}, "providers.twilio."),
        ("webhook", ("webhook",), {}, "providers.webhook."),
        ("email", ("ses",), {}, "providers.ses."),
        ("email", ("sendgrid",), {}, "providers.sendgrid."),
        ("push", ("ours",), {"ours": Provider(kind="fcm")}, "providers.ours.credentials_file"),
    ],
)
def test_what_cannot_work_is_refused_by_the_settings_name(
    channel: ChannelName, names: tuple[str, ...], providers: dict[str, Any], why: str
) -> None:
    with pytest.raises(SettingsError, match=re.escape(why)):
        chains.providers(settings(channel, *names, **providers), channel)


@pytest.mark.parametrize(
    ("known", "key"),
    [(Channel(concurrency=0), "concurrency"), (Channel(retry=Retry(attempts=0)), "retry.attempts")],
)
def test_a_channel_that_could_send_nothing_is_refused(known: Channel, key: str) -> None:
    known = msgspec.structs.replace(known, providers=("smtp",))
    with pytest.raises(SettingsError, match=f"channels.email.{key}: at least 1 is needed"):
        chains.chain(Settings(channels={"email": known}), "email")


@pytest.mark.parametrize("kind", chains._KINDS)
def test_every_kind_has_its_adapter(kind: str) -> None:
    assert hasattr(import_module(f"notify_streams.providers.{kind}.adapter"), chains._KINDS[kind].adapter)


async def test_each_call_makes_connections_of_its_own() -> None:
    one, two = chains.providers(Settings(), "email"), chains.providers(Settings(), "email")
    assert [p.name for p in one] == ["smtp"]
    assert one[0] is not two[0]
