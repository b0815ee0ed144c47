"""Facts in memory: for tests, and as the contract's plainest reading."""

from collections.abc import Mapping, Sequence

from schemas.facts import Fact
from schemas.profiles import ProfileV1
from schemas.receipts import ReceiptV1
from schemas.words import Channel

from .rows import Failure, digests_of, failure_of, place_of


class MemoryRecords:
    """Facts by place: a repeat is the same entry."""

    def __init__(self) -> None:
        self._facts: dict[str, dict[tuple[str, str], Fact]] = {}
        self._users: dict[str, set[str]] = {}
        self._catalogues: dict[str, bytes] = {}
        self._profiles: dict[str, ProfileV1] = {}

    async def write(self, facts: Sequence[Fact]) -> None:
        """See ports.RecordStore."""
        for fact in facts:
            place = place_of(fact)
            for notification_id in place.notification_ids:
                self._facts.setdefault(notification_id, {})[place.kind, place.key] = fact
            if place.user_id is not None:
                self._users.setdefault(place.user_id, set()).update(place.notification_ids)

    async def facts(self, notification_id: str) -> Sequence[Fact]:
        """See ports.RecordStore."""
        own = list(self._facts.get(notification_id, {}).values())
        digests = [self._facts.get(digest, {}).values() for digest in digests_of(notification_id, own)]
        return own + [fact for facts in digests for fact in facts if isinstance(fact, ReceiptV1)]

    async def facts_of(self, notification_ids: Sequence[str]) -> Mapping[str, Sequence[Fact]]:
        """See ports.Records."""
        return {given: await self.facts(given) for given in notification_ids}

    async def notifications_of(self, user_id: str) -> Sequence[str]:
        """See ports.Records."""
        return sorted(self._users.get(user_id, ()))

    async def failures(self, channel: Channel, *, since: int, until: int, limit: int) -> Sequence[Failure]:
        """See ports.Records."""
        failed = {
            (-failure.at, failure.delivery_id): failure
            for facts in self._facts.values()
            for failure in map(failure_of, facts.values())
            if failure is not None and failure.channel == channel
        }
        return [failed[place] for place in sorted(failed) if since <= -place[0] < until][:limit]

    async def write_catalogues(self, bodies: Mapping[str, bytes]) -> None:
        """See ports.Records."""
        self._catalogues.update(bodies)

    async def catalogue(self, hash_: str) -> bytes | None:
        """See ports.Records."""
        return self._catalogues.get(hash_)

    async def write_profiles(self, profiles: Mapping[str, ProfileV1]) -> None:
        """See ports.RecordStore."""
        for user, profile in profiles.items():
            known = self._profiles.get(user)
            if known is None or known.version < profile.version:
                self._profiles[user] = profile

    async def profile(self, user_id: str) -> ProfileV1 | None:
        """See ports.RecordStore."""
        return self._profiles.get(user_id)
