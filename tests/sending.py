"""A sender over ports that do as they are told, and batches for it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from agents.sending.building import Shared, a_lane
from agents.sending.composing import Composer
from agents.sending.jobs import AddressWord, End, Job
from agents.sending.saying import Terms
from agents.sending.sender import Sender
from agents.sending.standing import Standing
from agents.sending.waits import Waits
from notify_streams.domain.answers import Sent
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.domain.throttle import Grant
from notify_streams.ports import DeliveryKeys, Limiter, Message, Unread
from notify_streams.ports import Provider as ProviderPort
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from schemas.content import Content
from schemas.deliveries import DeliveryV1
from schemas.notifications import NotificationV1
from schemas.outcomes import OutcomeV1
from schemas.stops import OPEN, Gate
from schemas.timers import PutTimerV1
from schemas.words import Lane
from tests.builders import POLICY, a_catalogue, a_delivery, an_id
from tests.fakes import Clock, Provider, Renderer, arrived

SECRET = "s" * 32
TERMS = Terms(policy=POLICY)


class Unlimited:
    """A limiter that grants everything, and keeps what it was told to pause."""

    def __init__(self) -> None:
        self.pauses: list[tuple[str, int]] = []
        self.asked: list[tuple[str, Lane, int]] = []

    async def take(self, provider: str, lane: Lane, wanted: int) -> Grant:
        self.asked.append((provider, lane, wanted))
        return Grant(wanted)

    async def pause(self, provider: str, for_ms: int) -> None:
        self.pauses.append((provider, for_ms))


class Results:
    """What followed from a batch, as it came out."""

    def __init__(self) -> None:
        self.ends: list[tuple[Job, End]] = []

    def add(self, job: Job, end: End) -> None:
        self.ends.append((job, end))

    @property
    def outcomes(self) -> list[tuple[Job, OutcomeV1]]:
        return [(job, end.outcome) for job, end in self.ends if end.outcome is not None]

    @property
    def timers(self) -> list[tuple[Job, PutTimerV1]]:
        return [(job, end.timer) for job, end in self.ends if end.timer is not None]

    @property
    def dead(self) -> list[tuple[Job, OutcomeV1]]:
        return [(job, end.outcome) for job, end in self.ends if end.is_dead and end.outcome is not None]

    @property
    def again(self) -> list[tuple[Job, NotificationV1]]:
        return [(job, end.back) for job, end in self.ends if end.back is not None]

    @property
    def words(self) -> list[AddressWord]:
        return [end.word for _, end in self.ends if end.word is not None]


def a_sender(
    provider: ProviderPort | Sequence[ProviderPort] | None = None,
    keys: DeliveryKeys | None = None,
    *,
    own_memory: DeliveryKeys | None = None,
    renderer: Renderer | None = None,
    interrupted: Callable[[], bool] = lambda: False,
    clock: Clock | None = None,
    concurrency: int = 4,
    deliver_only_to: Sequence[str] = (),
    gate: Callable[[int, bytes], Gate] = lambda *_: OPEN,
    lane: Lane = "normal",
    limiter: Limiter | None = None,
    own: Limiter | None = None,
    terms: Terms = TERMS,
    standings: dict[str, Standing] | None = None,
    jitter: Callable[[], float] = lambda: 0.0,
    public_url: str = "",
    unread: Unread | None = None,
) -> Sender:
    """One whose gates are all open unless it is given others."""
    providers = provider if isinstance(provider, Sequence) else (provider or Provider(),)
    waits = Waits(interrupted)
    shared = Shared(
        terms=msgspec.structs.replace(terms, deliver_only_to=deliver_only_to),
        concurrency=concurrency,
        standings=standings if standings is not None else {p.name: Standing(p.name) for p in providers},
        keys=keys or MemoryDeliveryKeys(),
        own_memory=own_memory or MemoryDeliveryKeys(),
        limiter=limiter or Unlimited(),
        own_limiter=own or Unlimited(),
        waits=waits,
        compose=Composer(renderer or Renderer(), a_catalogue(), SECRET, public_url).message,
        gate=gate,
        jitter=jitter,
        clock=clock or Clock(),
        unread=unread,
    )
    return a_lane(shared, providers, lane)


async def work(sender: Sender, *deliveries: DeliveryV1, hold: bool = True) -> Results:
    """What follows from a batch of these."""
    results = Results()
    await sender.work([Job(arrived(b"", d.user_id.encode()), d) for d in deliveries], results.add, hold=hold)
    return results


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


def named(name: str, *answers: Any, **changes: Any) -> Provider:
    """One of several in a chain."""
    provider = Provider(*(answers or (Sent(f"{name}-1"),)), **changes)
    provider.name = name
    return provider


async def until(happened: Callable[[], bool], within_s: float = 5.0) -> None:
    """Let the others run until it has happened."""
    async with asyncio.timeout(within_s):
        while not happened():  # noqa: ASYNC110  whatever is waited for knows of no test
            await asyncio.sleep(0.002)
