"""What `chaos providers` does when: the weather of each provider and the kills of each sender, from a seed."""

import random
from collections.abc import Mapping

import msgspec

from notify_streams.local.programs import SENDERS as OTHER_SENDERS
from notify_streams.providers.simulator.script import Weather
from schemas.words import Channel

CARRIED: Mapping[Channel, tuple[str, ...]] = {
    "email": ("smtp",),
    "push": ("apns", "fcm", "webpush"),
    "sms": ("twilio",),
    "webhook": ("webhook",),
}
SENDERS = ("sender-email", *OTHER_SENDERS)
PROVIDERS = tuple(provider for providers in CARRIED.values() for provider in providers)
TROUBLES = ("5xx", "429", "hung", "reset", "dropped")
_BAD_SHARE = 0.6  # of a slot; the rest of it is fine
_RETRY_AFTER_S = 3


class Plan(msgspec.Struct, frozen=True):
    """`events` are deliveries per channel, published in `span_s`. Each provider has `rounds` of every trouble in it,
    each sender `kills`; then at most `settle_s` until nothing waits any more.
    """

    events: int = 10_000
    users: int = 600
    span_s: float = 240.0
    rounds: int = 2
    kills: int = 4
    settle_s: float = 300.0
    seed: int = 5


QUICK = Plan(events=500, users=60, span_s=45.0, rounds=1, kills=2, settle_s=80.0)


class Change(msgspec.Struct, frozen=True, order=True):
    """`at` seconds after the first event. The weather of a provider, or, without one, a kill of `whom`."""

    at: float
    whom: str
    trouble: str | None = None


def schedule(plan: Plan) -> list[Change]:
    """In order of time, the same for the same plan. Every trouble is over, and every kill done, at the span's end."""
    chance = random.Random(plan.seed)
    return sorted(
        [change for provider in PROVIDERS for change in _weathers(plan, provider, chance)]
        + [change for sender in SENDERS for change in _kills(plan, sender, chance)]
    )


def weather(provider: str, trouble: str) -> Weather:
    """What is put to the simulator. SMTP's word for 5xx and 429 is 451: its own 5xx is a refusal for good."""
    busy = 451 if provider == "smtp" else 503
    match trouble:
        case "5xx":
            return Weather(provider, refused=0.6, code=busy)
        case "429":
            code = 451 if provider == "smtp" else 429
            return Weather(provider, refused=0.4, code=code, headers={"Retry-After": str(_RETRY_AFTER_S)})
        case "hung":
            return Weather(provider, hung=0.1)
        case "reset":
            return Weather(provider, reset=0.3)
        case "dropped":
            return Weather(provider, dropped=0.3)
        case _:
            return Weather(provider)


def _weathers(plan: Plan, provider: str, chance: random.Random) -> list[Change]:
    troubles = [trouble for _ in range(plan.rounds) for trouble in chance.sample(TROUBLES, len(TROUBLES))]
    slot = plan.span_s / len(troubles)
    found = []
    for number, trouble in enumerate(troubles):
        begins = slot * (number + (1 - _BAD_SHARE) * chance.random())
        found += [Change(begins, provider, trouble), Change(begins + slot * _BAD_SHARE, provider, "fine")]
    return found


def _kills(plan: Plan, sender: str, chance: random.Random) -> list[Change]:
    slot = plan.span_s / plan.kills
    return [Change(slot * (number + 0.1 + 0.7 * chance.random()), sender) for number in range(plan.kills)]
