"""Every point of our Kafka transport on a real broker, beside the stock behaviour that made it necessary."""

import asyncio

from aiokafka import AIOKafkaProducer

from notify_streams.streaming.outgoing import Outgoing, TooLarge
from tests.workers import Kafka, Worker, handled, numbered


async def both(broker: Kafka, app: str, **fields: object) -> tuple[Worker, Worker]:
    """Our transport and the stock one over the same topics, each in a group of its own."""
    ours = await broker.start(app, role="ours", instance=0, **fields)
    stock_fields: dict[str, object] = {"style": "take", **fields}
    stock = await broker.start(app, role="stock", instance=0, stock=True, **stock_fields)
    return ours, stock


async def done(broker: Kafka, count: int, *workers: Worker, within: float = 40) -> None:
    await broker.until(lambda: all(worker.values.total() >= count for worker in workers), within)


async def test_records_are_delivered_without_tasks_where_stock_code_makes_several_for_each(broker: Kafka) -> None:
    await broker.make("in")
    await broker.fill("in", numbered(3000))

    ours, stock = await both(broker, "echo")
    await done(broker, 3000, ours, stock)

    counts, stock_counts = await asyncio.gather(ours.stats(), stock.stats())
    assert counts["tasks"] < 1500
    assert stock_counts["tasks"] > 2 * 3000


async def test_a_busy_lane_does_not_wait_for_the_long_poll_of_an_idle_one(broker: Kafka) -> None:
    """While the busy partition's buffer is full, stock asks for the idle one alone, and waits for nothing."""
    await broker.make("in")
    await broker.fill("in", numbered(1000))

    options = {"stream_buffer_maxsize": 50, "broker_max_poll_records": 50}
    ours, stock = await both(broker, "echo", options=options, limit=20, pause_s=0.005)
    await done(broker, 1000, ours, stock, within=60)

    counts, stock_counts = await asyncio.gather(ours.stats(), stock.stats())
    took, stock_took = counts["last"] - counts["first"], stock_counts["last"] - stock_counts["first"]
    assert stock_took > 3
    assert took < stock_took / 2


async def test_full_buffers_are_waited_for_and_not_slept_upon(broker: Kafka) -> None:
    """Stock sleeps a second whenever the buffers of all partitions are full."""
    await broker.make("in")
    await broker.fill("in", [*numbered(500), *numbered(500, partition=1)])

    options = {"stream_buffer_maxsize": 50, "broker_max_poll_records": 50}
    ours, stock = await both(broker, "echo", options=options, limit=20, pause_s=0.005)
    await done(broker, 1000, ours, stock, within=60)

    counts, stock_counts = await asyncio.gather(ours.stats(), stock.stats())
    took, stock_took = counts["last"] - counts["first"], stock_counts["last"] - stock_counts["first"]
    assert stock_took > 3
    assert took < stock_took / 2


async def test_nothing_in_flight_is_committed_past(broker: Kafka) -> None:
    """Two batches of a partition, the second done first; then SIGKILL. Stock commits past the first: it is lost."""
    await broker.make("in")
    await broker.fill("in", numbered(10))
    fields = {"limit": 5, "concurrency": 2, "hold": ["0"]}
    ours, stock = await both(broker, "echo", **fields)
    await broker.until(lambda: ours.values.total() == 5 and stock.values.total() >= 5)
    await asyncio.sleep(1.5)  # some commits go by
    await asyncio.gather(ours.child.kill(), stock.child.kill())

    broker.release()
    again, stock_again = await both(broker, "echo")
    await broker.fill("in", [(0, "u", "end")])
    await broker.until(lambda: "end" in again.values and "end" in stock_again.values)

    assert set(handled(ours, again)) == {*map(str, range(10)), "end"}
    assert "0" not in handled(stock, stock_again)


async def test_a_rebalance_repeats_nothing_that_was_done(broker: Kafka) -> None:
    """With a commit interval of a minute. Stock forgets what it has to commit before it commits it."""
    await broker.make("in")
    await broker.fill("in", [*numbered(400), *((1, "v", f"b{number}") for number in range(400))])
    options = {"broker_commit_interval": 60.0}
    ours, stock = await both(broker, "echo", options=options)
    await done(broker, 800, ours, stock)

    second = await broker.start("echo", role="ours", instance=1, options=options)
    stock_second = await broker.start("echo", role="stock", instance=1, options=options, stock=True, style="take")
    await broker.until(lambda: second.is_ready)
    await broker.fill("in", [(0, "u", "end"), (1, "v", "bend")])
    await broker.until(lambda: {"end", "bend"} <= set(handled(ours, second)))

    assert handled(ours, second).total() == 802
    await broker.until(lambda: handled(stock, stock_second).total() >= 1600)


async def test_a_produce_request_whose_answer_is_lost_writes_once(broker: Kafka) -> None:
    """The producer repeats it; only an idempotent one lets the broker see that."""
    await broker.make("in", "out")
    await broker.fill("in", numbered(20))
    ours = await broker.start("forward", lose_answers=1)
    await broker.caught_up()
    written = [record.value for record in await broker.read("out")]
    assert len(written) == len(set(written)) == 20
    await ours.child.stop(10)

    stock = await broker.start("stock_forward", role="stock", stock=True, style="take", lose_answers=1)
    await done(broker, 20, stock)
    assert len(await broker.read("out")) > 40


async def test_a_send_does_not_ask_every_time_whether_the_producer_has_started(broker: Kafka) -> None:
    await broker.make("in", "out")
    await broker.fill("in", numbered(200))

    ours = await broker.start("stock_forward", role="ours")
    stock = await broker.start("stock_forward", role="stock", stock=True, style="take")
    await done(broker, 200, ours, stock)

    counts, stock_counts = await asyncio.gather(ours.stats(), stock.stats())
    assert counts["started"] < 10
    assert stock_counts["started"] >= 200


async def test_the_flush_before_a_commit_waits_for_raw_sends_too(broker: Kafka) -> None:
    """So does stock code; it has to stay so."""
    await broker.make("in", "out")
    await broker.fill("in", numbered(1))

    ours = await broker.start("raw_flush")
    await done(broker, 1, ours)

    assert (await ours.stats())["flushed"] == [False, True]


async def test_more_than_a_record_batch_holds_goes_out_as_several(broker: Kafka) -> None:
    """`BatchBuilder.append` answers None when it is full: who does not look loses the record in silence."""
    await broker.make("out", "careless")
    async with AIOKafkaProducer(bootstrap_servers=broker.config.bootstrap, max_batch_size=10_000) as producer:
        outgoing = Outgoing(producer, broker.config.prefix)
        careless = producer.create_batch()
        for number in range(100):
            outgoing.add("out", 0, b"k", b"%04d" % number * 100)
            careless.append(key=b"k", value=b"%04d" % number * 100, timestamp=None)
        offsets = await outgoing.flush()
        await (await producer.send_batch(careless, broker.config.prefix + "careless", partition=0))

    assert list(offsets.values()) == [99]
    assert [int(record.value[:4]) for record in await broker.read("out")] == list(range(100))
    assert len(await broker.read("careless")) < 30


async def test_a_record_larger_than_a_batch_is_refused_before_it_is_sent(broker: Kafka) -> None:
    """aiokafka takes the first record of a batch whatever its size, and the broker then refuses the whole batch."""
    await broker.make("out")
    async with AIOKafkaProducer(bootstrap_servers=broker.config.bootstrap, max_batch_size=10_000) as producer:
        outgoing = Outgoing(producer, broker.config.prefix)
        outgoing.add("out", 0, b"k", b"before")
        try:
            outgoing.add("out", 0, b"k", b"x" * 20_000)
        except TooLarge as error:
            refusal = str(error)
        outgoing.add("out", 0, b"k", b"after")
        await outgoing.flush()

    assert "20000 bytes" in refusal
    assert [record.value for record in await broker.read("out")] == [b"before", b"after"]


async def test_records_reach_a_topic_in_the_order_in_which_they_were_handed_over(broker: Kafka) -> None:
    """Two lanes write one user's state, one after the other. aiokafka's `send_batch` waits while a partition has a
    batch queued, and lets the second lane's changelog record ahead: after a recovery the older state would win."""
    await broker.make("busy", "log")
    prefix = broker.config.prefix
    async with AIOKafkaProducer(bootstrap_servers=broker.config.bootstrap, linger_ms=300) as producer:
        await producer.send_and_wait(prefix + "busy", b"known", partition=0)
        await producer.send_and_wait(prefix + "log", b"known", partition=0)

        async def stock_lane(value: bytes, *names: str) -> None:
            for name in names:
                batch = producer.create_batch()
                batch.append(key=b"k", value=value, timestamp=None)
                await producer.send_batch(batch, prefix + name, partition=0)

        await producer.send(prefix + "busy", b"queued", partition=0)
        await asyncio.gather(stock_lane(b"stock older", "busy", "log"), stock_lane(b"stock newer", "log"))
        await producer.flush()

        await producer.send(prefix + "busy", b"queued", partition=0)
        older, newer = Outgoing(producer, prefix), Outgoing(producer, prefix)
        older.add("busy", 0, b"k", b"older")
        older.add("log", 0, b"k", b"older")
        newer.add("log", 0, b"k", b"newer")
        await asyncio.gather(older.flush(), newer.flush())

    log = [record.value for record in await broker.read("log") if record.partition == 0]
    assert log == [b"known", b"stock newer", b"stock older", b"older", b"newer"]


async def test_a_null_value_reaches_the_agent_and_the_partition_goes_on(broker: Kafka) -> None:
    await broker.make("in")
    await broker.fill("in", [(0, "u", "1"), (0, "u", None), (0, "u", "3")])

    ours = await broker.start("echo")
    await broker.caught_up()

    assert [line.value for line in ours.journal] == ["1", "null", "3"]


async def test_offsets_that_hold_no_record_do_not_stop_commits(broker: Kafka) -> None:
    """Transactions leave markers in the log: the gap is committed past once what lies behind it is done."""
    await broker.make("in")
    name = broker.config.prefix + "in"
    async with AIOKafkaProducer(bootstrap_servers=broker.config.bootstrap, transactional_id=name) as producer:
        for number in range(3):
            async with producer.transaction():
                await producer.send(name, str(number).encode(), key=b"u", partition=0)
    await broker.fill("in", [(0, "u", "last")])

    ours = await broker.start("echo")
    await broker.caught_up()

    assert [line.value for line in ours.journal] == ["0", "1", "2", "last"]
    assert ours.journal[-1].offset == 6


async def test_what_arrives_while_a_rebalance_ends_is_processed_and_committed(broker: Kafka) -> None:
    """Put back at that moment, nobody would fetch it again, and nothing after it was ever committed."""
    await broker.make("in", "log")
    await broker.fill("in", numbered(5))
    first = await broker.start("impatient", limit=3, end_late_s=2.0)
    await broker.until(lambda: first.is_ready)
    second, count = await broker.start("impatient", limit=3, end_late_s=2.0), 5
    while first.log.count("Worker ready") < 2 or not second.is_ready:
        await broker.fill("in", [(partition, "u", str(count)) for partition in (0, 1)])
        count += 1
    await broker.caught_up()
    assert set(handled(first, second)) == {str(number) for number in range(count)}
