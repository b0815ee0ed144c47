"""A sender over ports that do as they are told, and batches for it."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from agents.delivering import Job, Results, Sender
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import DeliveryKeys, Message
from notify_streams.ports import Provider as ProviderPort
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from schemas.content import Content
from schemas.deliveries import DeliveryV1
from schemas.stops import OPEN, Gate
from tests.builders import POLICY, a_delivery, an_id
from tests.fakes import Clock, Provider, Renderer, arrived


def a_sender(
    provider: ProviderPort | None = None,
    keys: DeliveryKeys | None = None,
    *,
    renderer: Renderer | None = None,
    interrupted: Callable[[], bool] = lambda: False,
    clock: Clock | None = None,
    concurrency: int = 4,
    deliver_only_to: Sequence[str] = (),
    gate: Callable[[int, bytes], Gate] = lambda *_: OPEN,
) -> Sender:
    """One whose gates are all open unless it is given others."""
    return Sender(
        provider or Provider(),
        renderer or Renderer(),
        keys or MemoryDeliveryKeys(),
        MemoryDeliveryKeys(),
        POLICY,
        concurrency=concurrency,
        deliver_only_to=deliver_only_to,
        gate=gate,
        jitter=lambda: 0.0,
        interrupted=interrupted,
        clock=clock or Clock(),
    )


async def work(sender: Sender, *deliveries: DeliveryV1, hold: bool = True) -> Results:
    """What follows from a batch of these."""
    return await sender.work([Job(arrived(b"", d.user_id.encode()), d) for d in deliveries], hold=hold)


def mail(user: str = "ann", said: str = '"x"', **changes: Any) -> DeliveryV1:
    """A delivery of its own, to this user."""
    content = Content(payload=msgspec.Raw(said.encode()), address=f"{user}@example.com")
    return a_delivery(an_id(), user_id=user, **{"content": content, **changes})


def states(results: Results) -> list[str]:
    """What is said of each, in the order in which it came out."""
    return [outcome.state for _, outcome in results.outcomes]


def subject_of(message: Message) -> str:
    """Of a mail."""
    assert isinstance(message.rendered, RenderedEmail)
    return message.rendered.subject
