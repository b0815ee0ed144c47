"""Delivery keys in Redis: who may call the provider for a delivery, and how a call ended.

A key's value is `STATE|OWNER|ATTEMPT|SINCE|REST`. `claimed` may be taken over at once: its holder has not called
yet, and cannot any more, since `calling` is set only by whoever holds the claim. `calling` of the same attempt says
that somebody called the provider in REST and never said how it ended. `ended` and `unknown` carry the outcome for 24
hours; they never take the place of a later attempt or of `final`, which takes any place: the provider took it. What has
failed may be tried by a later attempt: a dead letter that somebody puts back. `settled` takes the place of `calling`
and `unknown`: a receipt said that it arrived; REST is the provider and its name for the message.
"""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import msgspec

from notify_streams.domain.outcomes import is_in_doubt
from notify_streams.ports import Claim
from notify_streams.stores.redis import Expendable
from schemas.codec import encode
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeV1

_TTL_S = 24 * 3600
_decode_outcome = msgspec.json.Decoder(OutcomeV1).decode

_CLAIM = """
local answers = {}
for i, key in ipairs(KEYS) do
  local attempt = tonumber(ARGV[2 + i])
  local value = redis.call('GET', key)
  local answer = 'mine'
  if value then
    local state, owner, made, since, outcome = string.match(value, '^(%w+)|([^|]*)|(%d+)|(%d+)|(.*)$')
    made = tonumber(made)
    if state == 'final' or ((state == 'ended' or state == 'unknown') and made >= attempt) then
      answer = 'done|' .. outcome
    elseif state == 'settled' then
      answer = 'settled|' .. since .. '|' .. made .. '|' .. outcome
    elseif state == 'calling' and made == attempt then
      answer = 'unknown|' .. since .. '|' .. made .. '|' .. outcome
    elseif made and made > attempt then
      answer = 'done|'
    end
  end
  if answer == 'mine' then
    redis.call('SET', key, 'claimed|' .. ARGV[1] .. '|' .. attempt .. '|0|', 'EX', ARGV[2])
  end
  answers[i] = answer
end
return answers
"""
_ENDED = """
for i, key in ipairs(KEYS) do
  local was, made = string.match(redis.call('GET', key) or '', '^(%w+)|[^|]*|(%d+)|')
  local is, attempt = string.match(ARGV[1 + i], '^(%w+)|[^|]*|(%d+)|')
  local over = was == 'final' or was == 'settled'
  if is == 'final' or not made or (not over and tonumber(made) <= tonumber(attempt)) then
    redis.call('SET', key, ARGV[1 + i], 'EX', ARGV[1])
  end
end
return 1
"""
_CALLING = """
local answers = {}
for i, key in ipairs(KEYS) do
  local attempt, by = ARGV[2 + 2 * i], ARGV[3 + 2 * i]
  local mine = 'claimed|' .. ARGV[1] .. '|' .. attempt .. '|'
  local value = redis.call('GET', key)
  if not value or string.sub(value, 1, #mine) == mine then
    redis.call('SET', key, 'calling|' .. ARGV[1] .. '|' .. attempt .. '|' .. ARGV[3] .. '|' .. by, 'EX', ARGV[2])
    answers[i] = 1
  else
    answers[i] = 0
  end
end
return answers
"""
_UNCALLED = """
for i, key in ipairs(KEYS) do
  local mark = 'calling|' .. ARGV[1] .. '|' .. ARGV[1 + 2 * i] .. '|' .. ARGV[2 + 2 * i] .. '|'
  if string.sub(redis.call('GET', key) or '', 1, #mark) == mark then
    redis.call('SET', key, 'claimed|' .. ARGV[1] .. '|' .. ARGV[1 + 2 * i] .. '|0|', 'EX', ARGV[2])
  end
end
return 1
"""
_SETTLE = """
local value = redis.call('GET', KEYS[1])
local state, made, by = string.match(value or '', '^(%w+)|[^|]*|(%d+)|%d+|(.*)$')
if state == 'unknown' then by = string.match(by, '"provider":"([^"]*)"') or '' end
if state ~= 'unknown' and state ~= 'calling' then return 0 end
redis.call('SET', KEYS[1], 'settled||' .. made .. '|' .. ARGV[1] .. '|' .. by .. '|' .. ARGV[2], 'EX', ARGV[3])
return 1
"""


class RedisDeliveryKeys:
    """Implements `ports.DeliveryKeys` for one process."""

    def __init__(self, redis: Expendable) -> None:
        self._redis = redis
        self.owner = uuid4().hex
        self._claim = redis.client.register_script(_CLAIM)
        self._calling = redis.client.register_script(_CALLING)
        self._uncalled = redis.client.register_script(_UNCALLED)
        self._ended = redis.client.register_script(_ENDED)
        self._settle = redis.client.register_script(_SETTLE)

    async def claim(self, deliveries: Sequence[DeliveryV1]) -> Sequence[Claim]:
        """See ports.DeliveryKeys."""
        attempts = [d.attempt for d in deliveries]
        answers: list[bytes] = await self._run(self._claim, deliveries, [self.owner, _TTL_S, *attempts])
        return [_claim_of(answer.decode()) for answer in answers]

    async def calling(self, deliveries: Sequence[DeliveryV1], now: int, by: Sequence[str] = ()) -> Sequence[bool]:
        """See ports.DeliveryKeys."""
        names = by or [""] * len(deliveries)
        each = [word for d, name in zip(deliveries, names, strict=True) for word in (d.attempt, name)]
        answers = await self._run(self._calling, deliveries, [self.owner, _TTL_S, now, *each])
        return [answer == 1 for answer in answers]

    async def uncalled(self, deliveries: Sequence[DeliveryV1], since: Sequence[int]) -> None:
        """See ports.DeliveryKeys."""
        each = [word for d, at in zip(deliveries, since, strict=True) for word in (d.attempt, at)]
        await self._run(self._uncalled, deliveries, [self.owner, _TTL_S, *each])

    async def ended(self, outcomes: Sequence[OutcomeV1]) -> None:
        """See ports.DeliveryKeys."""
        if not outcomes:
            return
        keys, values = [key_of(outcome.delivery_id) for outcome in outcomes], [self._value(o) for o in outcomes]
        await self._redis.call(lambda _: self._ended(keys=keys, args=[_TTL_S, *values]))

    async def settle(self, delivery_id: str, at: int, message_id: str | None = None) -> bool:
        """See ports.DeliveryKeys."""
        args: list[str | int] = [at, message_id or "", _TTL_S]
        settled: int = await self._redis.call(lambda _: self._settle(keys=[key_of(delivery_id)], args=args))
        return settled == 1

    def _value(self, outcome: OutcomeV1) -> bytes:
        state = "final" if outcome.state == "sent" else "unknown" if is_in_doubt(outcome) else "ended"
        return f"{state}|{self.owner}|{outcome.attempt}|{outcome.at}|".encode() + encode(outcome)

    async def _run(self, script: Any, deliveries: Sequence[DeliveryV1], args: list[Any]) -> list[Any]:
        if not deliveries:
            return []
        keys = [key_of(delivery.delivery_id) for delivery in deliveries]
        answers: list[Any] = await self._redis.call(lambda _: script(keys=keys, args=args))
        return answers


def key_of(delivery_id: str) -> str:
    """The delivery's key."""
    return f"delivery:{delivery_id}"


def _claim_of(answer: str) -> Claim:
    status, _, rest = answer.partition("|")
    if status == "done":
        return Claim("done", _decode_outcome(rest.encode()) if rest else None)
    if status == "mine":
        return Claim("mine")
    since, attempt, said = rest.split("|", 2)
    if status == "unknown":
        return Claim("unknown", since=int(since), provider=said, attempt=int(attempt))
    provider, _, message_id = said.partition("|")
    return Claim("settled", since=int(since), message_id=message_id or None, provider=provider, attempt=int(attempt))
