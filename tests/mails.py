"""Builders for what mail providers are given, and providers at a server of the test's own."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import msgspec

from notify_streams import settings
from notify_streams.domain.answers import Answer
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message, Provider
from notify_streams.providers.sendgrid.adapter import SendGridProvider
from notify_streams.providers.ses.adapter import SesProvider

KEY_ID, SECRET_KEY, API_KEY = "AKIDEXAMPLE", "s3cret/access+key", "SG.s3cret-api-key"
_CREDENTIALS: dict[str, dict[str, Any]] = {
    "ses": {"region": "eu-west-1", "access_key_id": KEY_ID, "secret_access_key": SECRET_KEY},
    "sendgrid": {"api_key": API_KEY},
}
_KINDS: dict[str, Callable[..., Provider]] = {"ses": SesProvider.of, "sendgrid": SendGridProvider.of}


def a_message(address: str = "ann@example.com", **changes: Any) -> Message:
    """An order confirmed for Ann, with all that a mail of a provider can hold."""
    plain = {
        "delivery_id": str(uuid4()),
        "rendered": RenderedEmail("Order 123, Zoë", "Hello\n.\nBye", "<p>Hello</p>"),
        "locale": "en",
        "type": "order.confirmed",
        "category": "orders",
        "tenant": "shop",
        "reference": "r3f-erence_",
    }
    return Message(**{"address": address, **plain, **changes})


def a_provider(kind: str, **changes: Any) -> Provider:
    """SES or SendGrid as its settings say."""
    channel = settings.Channel(
        concurrency=changes.pop("concurrency", 4), attempt_timeout=changes.pop("attempt_timeout", "2s")
    )
    provider = settings.Provider(**{**_CREDENTIALS[kind], **changes})
    return _KINDS[kind](provider, channel, name=kind, public_url="https://notify.example")


@contextlib.asynccontextmanager
async def service_at(kind: str, url: str, **changes: Any) -> AsyncIterator[Provider]:
    provider = a_provider(kind, url=url, **changes)
    try:
        yield provider
    finally:
        await provider.close()


def kind_of(answer: Answer) -> Answer:
    """Without its words."""
    return msgspec.structs.replace(answer, detail="")
