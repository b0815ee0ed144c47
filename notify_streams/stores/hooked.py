"""Whose notification a delivery was of, for what providers say of it later: receipts name deliveries, not sources.

Outcomes and receipts of a user come on the same partition number, so the process that met the one mostly meets the
other: its memory is asked first. Redis knows what others met; while it is away memory alone answers.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from redis.asyncio import Redis

from notify_streams.metrics import BYPASSED
from notify_streams.ports import Unavailable
from notify_streams.stores.redis import Expendable

T = TypeVar("T")
KEPT_S = 7 * 86_400  # as long as topics are
EARLY_S = 3600
_REMEMBERED = 100_000


class Hooked:
    """Sources by delivery id, and receipts that came before the outcome of their delivery."""

    def __init__(self, redis: Expendable) -> None:
        self._redis = redis
        self._sources: OrderedDict[str, str] = OrderedDict()
        self._early: OrderedDict[str, tuple[bytes, ...]] = OrderedDict()

    async def met(self, sources: Mapping[str, str]) -> list[tuple[str, bytes]]:
        """Remember the sources of these deliveries; what was said early of them, with the delivery's id."""
        if not sources:
            return []
        for id_, source in sources.items():
            _keep(self._sources, id_, source)
        early = {(id_, raw) for id_ in sources for raw in self._early.pop(id_, ())}
        try:
            early |= await self._redis.call(lambda client: _met(client, sources))
        except Unavailable:
            BYPASSED.labels(engine="redis").inc()
        return sorted(early)

    async def sources(self, receipts: Sequence[tuple[str, bytes]]) -> Mapping[str, str]:
        """Those of these deliveries, as far as known. What is said of the others is kept for an hour, until they are
        met: the one is written before the other is looked for, on both sides.
        """
        unknown = [(id_, raw) for id_, raw in receipts if id_ not in self._sources]
        for id_, raw in unknown:
            kept = self._early.get(id_, ())
            _keep(self._early, id_, kept if raw in kept else (*kept, raw))
        found = {id_: self._sources[id_] for id_, _ in receipts if id_ in self._sources}
        if not unknown:
            return found
        try:
            return found | await self._redis.call(lambda client: _sources(client, unknown))
        except Unavailable:
            BYPASSED.labels(engine="redis").inc()
            return found


def _keep(kept: OrderedDict[str, T], key: str, value: T) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _REMEMBERED:
        kept.popitem(last=False)


async def _met(client: Redis, sources: Mapping[str, str]) -> set[tuple[str, bytes]]:
    async with client.pipeline(transaction=False) as pipe:
        for id_, source in sources.items():
            pipe.set(f"hook:source:{id_}", source, ex=KEPT_S)
        for id_ in sources:
            pipe.smembers(f"hook:early:{id_}")
        answers = await pipe.execute()
    return {(id_, raw) for id_, said in zip(sources, answers[len(sources) :], strict=True) for raw in said}


async def _sources(client: Redis, receipts: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    ids = list(dict.fromkeys(id_ for id_, _ in receipts))
    async with client.pipeline(transaction=False) as pipe:
        for id_, raw in receipts:
            pipe.sadd(f"hook:early:{id_}", raw)
            pipe.expire(f"hook:early:{id_}", EARLY_S)
        pipe.mget([f"hook:source:{id_}" for id_ in ids])
        answers = await pipe.execute()
    return {id_: source.decode() for id_, source in zip(ids, answers[-1], strict=True) if source is not None}
