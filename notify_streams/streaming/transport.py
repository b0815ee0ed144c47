"""A Kafka transport for Faust that loses nothing at a rebalance and does not wait where it could work.

Registers `notifykafka://`. Every method here replaces a stock behaviour of faust-streaming 0.15.3 that
tests/integration/test_transport.py shows on a real broker.
"""

import asyncio
import gc
from collections.abc import Coroutine, Generator, Iterator, Mapping
from typing import Any, cast

from aiokafka.protocol.produce import ProduceRequest
from faust.topics import Topic
from faust.transport.consumer import ensure_TP
from faust.transport.drivers import TRANSPORTS
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, Message
from faust.types.transports import ProducerT

from notify_streams.streaming.fetching import poll_patiently
from notify_streams.streaming.intake import Intake
from notify_streams.streaming.lease import Lease
from notify_streams.streaming.ledger import Ledger

SCHEME = "notifykafka"
_IDLE_S, _BUFFERED_S, _WAIT_S, _YIELD_EVERY = 1.0, 0.02, 0.01, 200


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """The consumer's own thread: how it fetches, and how it notes heartbeats and a refusal of its group."""

    async def on_start(self) -> None:
        """Start, then adjust the client's private parts: they exist from its start on."""
        await super().on_start()
        consumer = self._ensure_consumer()
        poll_patiently(consumer._fetcher, self._is_read)
        app: Any = self.app
        app.lease.watch(consumer._coordinator)
        app.refusal.watch(consumer._coordinator)

    def _is_read(self, tp: Any) -> bool:
        """Whether an agent or a recovery takes what is fetched of this partition. Called on this thread: no locks."""
        consumer: Any = self.consumer
        return tp in (consumer._active_partitions or ()) or tp in consumer._buffered_partitions


class Consumer(driver.Consumer):
    """Delivers in bulk, never commits past a message in flight, commits before it gives partitions away."""

    _room: asyncio.Event | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ledgers: dict[TP, Ledger] = {}
        self._intakes: dict[Any, Intake] = {}
        self._delivered: dict[TP, tuple[int, int]] = {}

    def intake(self, channel: Any) -> Intake:
        """What arrives for the agent that reads this channel; from now on it is delivered there, in bulk."""
        known = self._intakes.get(channel.queue)
        if known is None:
            size = self.app.conf.stream_buffer_maxsize
            known = Intake(self._ledgers, size, self.on_buffer_full, self.on_buffer_drop)
            self._intakes[channel.queue] = known
        return known

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def stop_flow(self) -> None:
        """What nobody has taken yet is dropped, and fetched again. Stock code drops it when the flow goes on: that is
        after it has sought back, and lost what was delivered in between.
        """
        super().stop_flow()
        for intake in self._intakes.values():
            intake.clear()

    async def verify_all_partitions_active(self) -> None:
        """The stock detector reads sensors that batches bypass; streaming.health watches instead."""

    def on_buffer_drop(self, tp: TP) -> None:
        """A stream's buffer has room again."""
        super().on_buffer_drop(tp)
        if self._room is not None:
            self._room.set()

    async def _wait_next_records(self, timeout: float) -> tuple[Any, Any]:
        """Stock code sleeps a whole second when every partition's buffer is full: wait for room instead."""
        if self.flow_active and not self._get_active_partitions() and self._buffered_partitions:
            self._room = asyncio.Event()
            try:
                await asyncio.wait_for(self._room.wait(), 0.1)
            except TimeoutError:
                return {}, set()
            finally:
                self._room = None
        return await super()._wait_next_records(_BUFFERED_S if self._buffered_partitions else timeout)

    async def _drain_messages(self, fetcher: Any) -> None:
        """Stock code starts four tasks per message to be able to stop; here only a delivery that blocks does."""
        try:
            while not (self._stopped.is_set() or fetcher._stopped.is_set()):
                records, active = await self._wait_next_records(_IDLE_S)
                if not self.flow_active:
                    await self._seek_back()
                elif records:
                    await self._deliver(records, active)
                await asyncio.sleep(0)
        except self.consumer_stopped_errors:
            if not self.app.should_stop:
                raise

    async def _seek_back(self) -> None:
        """What was fetched while the flow stood still is fetched again."""
        try:
            await self.perform_seek()
        except self.consumer_stopped_errors:
            raise
        except Exception as error:  # noqa: BLE001  a seek in the middle of a rebalance: the next assignment seeks too
            self.log.warning("Seeking back failed: %r", error)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Stock code leaves a partition where it stands while nothing of it was ever committed: what had been fetched
        while the flow stood still was lost with the next commit.
        """
        committed = await super().seek_to_committed()
        changelogs = cast(Any, self.app.tables).changelog_topics
        never = [tp for tp, offset in committed.items() if not offset and tp.topic not in changelogs]
        if never:
            await self.seek_wait(await self.earliest_offsets(*never))
        return committed

    async def _deliver(self, records: Mapping[TP, list[Any]], active: set[TP] | None) -> None:
        generation = self.app.consumer_generation_id
        await self.app.flow_control.acquire()
        for tp, fetched in records.items():
            if not self.flow_active or self.app.consumer_generation_id != generation:
                return
            if active is not None and tp not in active and tp not in self._buffered_partitions:
                continue
            intake = self._intake_of(tp)
            if intake is None:
                await self._deliver_singly(tp, fetched, generation)
            else:
                self._deliver_in_bulk(ensure_TP(tp), fetched, intake)

    def _intake_of(self, tp: TP) -> Intake | None:
        channels: Any = cast(Any, self.app.topics)._tp_index.get(tp, ())
        return self._intakes.get(next(iter(channels)).queue) if len(channels) == 1 else None

    def _deliver_in_bulk(self, tp: TP, fetched: list[Any], intake: Intake) -> None:
        read = self._read_offset[tp]
        if read is not None and fetched[0].offset < read:
            fetched = [record for record in fetched if record.offset >= read]
        if fetched:
            self._read_offset[tp] = fetched[-1].offset
            first, _ = self._delivered.get(tp, (fetched[0].offset, 0))
            self._delivered[tp] = first, fetched[-1].offset + 1
            intake.put(tp, fetched)

    def behind(self, tp: TP) -> int:
        """Records that are not fetched yet, and fetched ones that are not committed.

        Counted from where the next fetch starts: the end of a log may hold no record (a transaction's marker, what
        retention or compaction took), and then nothing can ever be committed up to it.
        """
        state = cast(Any, self._thread._consumer)._subscription.subscription.assignment.state_value(tp)
        end = self.highwater(tp)
        if state is None or not state.has_valid_position or end is None:
            return 0
        first, after = self._delivered.get(tp, (0, 0))
        committed = self._committed_offset[tp]
        unread, unsaid = end - state.position, after - (first if committed is None else committed)
        return int(max(unread, 0) + max(unsaid, 0))

    async def _deliver_singly(self, tp: TP, fetched: list[Any], generation: int) -> None:
        """Faust's own channels, and recovery."""
        for number, record in enumerate(fetched, 1):
            if not self.flow_active or self.app.consumer_generation_id != generation:
                return
            await self._deliver_one(tp, self._to_message(tp, record))
            if not number % _YIELD_EVERY:
                await asyncio.sleep(0)

    async def _deliver_one(self, tp: TP, message: Message) -> None:
        read = self._read_offset[tp]
        if read is not None and message.offset < read:
            return
        if read and message.offset - read > 1 and self.app.topics.acks_enabled_for(message.topic):
            await self._add_gap(tp, read + 1, message.offset)
        delivery: Any = self.callback(message)
        try:
            waiting_for = delivery.send(None)
        except StopIteration:
            pass
        else:
            await self.wait_first(_resumed(delivery, waiting_for), self.suspend_flow.wait())
        self._read_offset[tp] = message.offset

    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Iterator[TP]:
        yield from super()._filter_tps_with_pending_acks(topics)
        yield from (tp for tp in self._ledgers if topics is None or tp in topics or tp.topic in topics)

    def _new_offset(self, tp: TP) -> int | None:
        """Faust #606: never past what is in flight, be it a batch or a single message."""
        ledger = self._ledgers.get(tp)
        if ledger is not None:
            return ledger.committable
        acked = self._acked[tp]
        in_flight = [m.offset for m in list(self._unacked_messages) if m.tp == tp and not m.acked]
        floor = min(in_flight, default=None)
        later = [] if floor is None else [offset for offset in acked if offset > floor]
        if later:
            self._acked[tp] = [offset for offset in acked if offset <= cast(int, floor)]
        offset: int | None = super()._new_offset(tp)
        self._acked[tp].extend(later)
        return offset

    async def _commit_offsets(self, offsets: Mapping[TP, int], start_new_transaction: bool = True) -> bool:
        """Commit after a flush. Stock code counts a refused commit as done, and never repeats it."""
        assignment = self.assignment()
        ours = {tp: offset for tp, offset in offsets.items() if tp in assignment}
        if not ours:
            return False
        await self.app.producer.flush()
        if not await self._commit(ours):
            return False
        cast(Any, self.app.tables).on_commit(ours)
        self._committed_offset.update(ours)
        self.app.monitor.on_tp_commit(ours)
        return True

    async def wait_empty(self) -> None:
        """Wait for the batches that agents have in hand, then as stock code does; commits."""
        while not self.should_stop and any(ledger.busy for ledger in self._ledgers.values()):
            gc.collect()  # an agent that died with a batch in hand gives it up when its generator is collected
            await self.sleep(_WAIT_S)
        await super().wait_empty()

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Faust #502: stock code forgets what was acknowledged before it commits it, and does it all again."""
        if not self.app.should_stop:
            self.stop_flow()
            self.app.flow_control.suspend()
            self.app.flow_control.clear()
            if self.app.conf.stream_wait_empty:
                await self.wait_empty()
            await self.force_commit()
        for tp in revoked:
            self._ledgers.pop(tp, None)
            self._delivered.pop(tp, None)
            self._buffered_partitions.discard(tp)
        await super().on_partitions_revoked(revoked)


class Producer(driver.Producer):
    """Idempotent, and silent once this process may have lost its partitions."""

    async def on_start(self) -> None:
        """Start, and put the lease in front of every produce request."""
        await super().on_start()
        app, producer = cast(Any, self.app), cast(Any, self._producer)
        client, lease = producer.client, app.lease
        send = client.send

        async def send_while_member(node_id: int, request: Any, **kwargs: Any) -> Any:
            if isinstance(request, ProduceRequest):
                lease.check()
            return await send(node_id, request, **kwargs)

        client.send = send_while_member

    def _settings_extra(self) -> dict[str, Any]:
        return {**super()._settings_extra(), "enable_idempotence": True}


class Transport(driver.Transport):
    """Found by the scheme `notifykafka`."""

    Consumer = Consumer
    Producer = Producer


class DirectTopic(Topic):
    """Stock topics take a lock and a task per send to see whether the producer has started."""

    async def _get_producer(self) -> ProducerT:
        producer = self.app.producer
        return producer if producer.started else await self.app.maybe_start_producer()


async def _resumed(delivery: Coroutine[Any, Any, None], waiting_for: Any) -> None:
    """Go on with a coroutine that was started by hand and now waits for something."""
    await _Resumption(delivery, waiting_for)


class _Resumption:
    def __init__(self, coroutine: Coroutine[Any, Any, None], waiting_for: Any) -> None:
        self._coroutine, self._waiting_for = coroutine, waiting_for

    def __await__(self) -> Generator[Any, Any, None]:
        waiting_for = self._waiting_for
        while True:
            error: BaseException | None = None
            try:
                yield waiting_for
            except BaseException as thrown:  # noqa: BLE001  whatever it is belongs to the coroutine
                error = thrown
            try:
                waiting_for = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
            except StopIteration:
                return


TRANSPORTS.aliases[SCHEME] = f"{__name__}:Transport"
__all__ = ["SCHEME", "Consumer", "DirectTopic", "Lease", "Producer", "Transport"]
