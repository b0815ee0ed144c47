"""How often something was done lately, in one process and in all."""

from dataclasses import dataclass, field

from notify_streams.gateway.counting import WINDOW_S, Counting
from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka


@dataclass
class OneRedis:
    """Counts as Redis does, without a clock."""

    counts: dict[bytes, int] = field(default_factory=dict)
    away: bool = False
    left: int = WINDOW_S

    async def ask(self, *commands: tuple[bytes, ...]) -> list[int]:
        if self.away:
            raise Unavailable("redis is away")
        answers = []
        for name, key, *_ in commands:
            if name == b"INCR":
                self.counts[key] = self.counts.get(key, 0) + 1
            answers.append({b"INCR": self.counts[key], b"EXPIRE": 1, b"TTL": self.left}[name])
        return answers


async def test_all_gateways_count_together() -> None:
    redis = OneRedis(left=77)
    one, other = Counting(redis, Kafka()), Counting(redis, Kafka())
    assert [await gateway.add({"ann": 2}, 0.0) for gateway in (one, other, one, other)] == [None, None, 77, 77]


async def test_with_redis_away_each_counts_for_itself_and_what_it_has_counted_stays() -> None:
    redis = OneRedis()
    counting = Counting(redis, Kafka())
    assert await counting.add({"ann": 2}, 0.0) is None
    redis.away = True
    assert [await counting.add({"ann": 2}, at) for at in (60.0, 120.0)] == [None, WINDOW_S - 120]
    assert await Counting(redis, Kafka()).add({"ann": 2}, 0.0) is None


async def test_a_count_that_redis_has_lost_is_still_known_here() -> None:
    redis = OneRedis()
    counting = Counting(redis, Kafka())
    for _ in range(2):
        await counting.add({"ann": 2}, 0.0)
    redis.counts.clear()
    assert await counting.add({"ann": 2}, 1.0) == WINDOW_S - 1


async def test_ten_minutes_after_the_first_all_begins_anew() -> None:
    counting = Counting(OneRedis(away=True), Kafka())
    assert [await counting.add({"ann": 1}, at) for at in (0.0, 599.0, 600.0, 601.0)] == [None, 1, None, 599]


async def test_every_limit_counts_and_the_longest_wait_is_told() -> None:
    counting = Counting(OneRedis(away=True), Kafka())
    assert await counting.add({"ann/home": 1, "ann": 2}, 0.0) is None
    assert await counting.add({"ann/work": 1, "ann": 2}, 100.0) is None
    assert await counting.add({"ann/work": 1, "ann": 2}, 100.0) == WINDOW_S
    assert await counting.add({"ann/else": 1, "ann": 2}, 100.0) == WINDOW_S - 100
    assert await counting.add({"ben": 1}, 100.0) is None


async def test_whom_it_is_about_is_not_in_redis() -> None:
    redis = OneRedis()
    await Counting(redis, Kafka(prefix="shop.", generation=3)).add({"codes/ann@example.com": 1}, 0.0)
    [key] = redis.counts
    assert key.startswith(b"shop.:3:counted:")
    assert b"ann" not in key


async def test_the_memory_for_it_is_bounded() -> None:
    counting = Counting(OneRedis(away=True), Kafka())
    for n in range(50_010):
        await counting.add({str(n): 1}, 0.0)
    assert len(counting._local._counts) == 50_000
    assert await counting.add({"50009": 1}, 0.0) == WINDOW_S
