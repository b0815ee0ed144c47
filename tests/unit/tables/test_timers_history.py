"""Any history of operations, releases in two halves, restarts and crashes: nothing is lost, nothing is early."""

import functools
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from schemas.timers import CancelTimerV1, MoveTimerV1, PutTimerV1, TimerOperation
from schemas.words import LANES, Lane
from tables.timers import Due, Timers
from tests.builders import NOW, a_timer
from tests.fakes import Recording, Table

PARTITION = {b"ann": 0, b"bob": 1}
USERS, IDS = st.sampled_from(list(PARTITION)), st.sampled_from(["a", "b"])
INSTANTS, REVISIONS = st.integers(NOW - 20, NOW + 40), st.integers(0, 3)
Name = tuple[bytes, str]
_FOLDER = tempfile.TemporaryDirectory(prefix="timers-")


class Known(NamedTuple):
    """What the model says of a timer; `number` is that of the operation that put or moved it."""

    due_at: int
    revision: int
    lane: Lane
    payload: bytes
    number: int


class Step(NamedTuple):
    """The end of one step of the history: so long was the changelog, and so the model. Operations may come again."""

    log: int
    model: dict[Name, Known]
    operation: tuple[bytes, TimerOperation] | None


class History(RuleBasedStateMachine):
    """Against a dictionary. What is `sent` here is known to the broker only when it is released."""

    @initialize()
    def start(self) -> None:
        self.now, self.number = NOW, 0
        self.log = Recording()
        self.model: dict[Name, Known] = {}
        self.history = [Step(0, {}, None)]
        self.sending: list[list[tuple[Due, int]]] = []
        self._open()

    @rule(user=USERS, id_=IDS, due_at=INSTANTS, revision=REVISIONS, lane=st.sampled_from(LANES))
    def put(self, user: bytes, id_: str, due_at: int, revision: int, lane: Lane) -> None:
        self._carry_out(user, a_timer(id_, due_at, revision, lane=lane))

    @rule(user=USERS, id_=IDS, due_at=INSTANTS, revision=REVISIONS, other=st.booleans())
    def move(self, user: bytes, id_: str, due_at: int, revision: int, other: bool) -> None:
        payload: dict[str, Any] = {"payload": msgspec.Raw(b"{}")} if other else {}
        self._carry_out(user, MoveTimerV1(timer_id=id_, due_at=due_at, revision=revision, **payload))

    @rule(user=USERS, id_=IDS)
    def plan_anew(self, user: bytes, id_: str) -> None:
        """To now, under the revision that is there."""
        known = self.model.get((user, id_))
        if known is not None:
            self._carry_out(user, MoveTimerV1(timer_id=id_, due_at=self.now, revision=known.revision))
            assert self.model[user, id_].due_at == self.now

    @rule(user=USERS, id_=IDS, revision=REVISIONS)
    def cancel(self, user: bytes, id_: str, revision: int) -> None:
        self._carry_out(user, CancelTimerV1(timer_id=id_, revision=revision))

    @rule(limit=st.sampled_from([1, 2, 100]))
    def send(self, limit: int) -> None:
        """Everything that is due and not under way as it is, no more than asked for, the higher lane first."""
        under_way = {number for slice_ in self.sending for _, number in slice_}
        due = {n: k for n, k in self.model.items() if k.due_at <= self.now and k.number not in under_way}
        taken = self.timers.take([0, 1], self.now, limit)
        names = [(one.entry.user, one.entry.timer_id) for one in taken]
        assert len(names) == len(set(names)) == min(limit, len(due))
        for one, name in zip(taken, names, strict=True):
            found = one.at, one.entry.revision, LANES[one.key[0]], one.entry.payload
            assert (one.partition, found) == (PARTITION[name[0]], due[name][:4])
        ranks = [one.key[0] for one in taken]
        left = [LANES.index(known.lane) for name, known in due.items() if name not in names]
        assert ranks == sorted(ranks)
        assert not left or not ranks or max(ranks) <= min(left)
        self.sending.append([(one, due[name].number) for one, name in zip(taken, names, strict=True)])

    @precondition(lambda self: bool(getattr(self, "sending", None)))
    @rule(data=st.data())
    def released(self, data: st.DataObject) -> None:
        """Forgotten is what still is as it was sent."""
        self._forget(self.sending.pop(data.draw(st.integers(0, len(self.sending) - 1))))

    @rule(later=st.integers(0, 20))
    def wait(self, later: int) -> None:
        self.now += later

    @rule()
    def restart(self) -> None:
        self.timers, self.sending = Timers(self.table, "notify."), []

    @rule()
    def commit(self) -> None:
        """All so far is acknowledged and will not come again."""
        self.history = [self.history[-1]]

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """The disk is lost, the changelog ends at any step behind what was committed, and the input comes again."""
        again = [step.operation for step in self.history[1:] if step.operation is not None]
        last = self.history[data.draw(st.integers(0, len(self.history) - 1))]
        del self.log.records[last.log :]
        self.model, self.sending = dict(last.model), []
        self.history = [Step(last.log, dict(self.model), None)]
        self._open()
        for user, operation in again:
            self._carry_out(user, operation)

    @invariant()
    def the_table_holds_what_the_model_holds(self) -> None:
        if hasattr(self, "model"):
            entries = {p: [k for k in self.table.content(p) if k[:1] != b"i"] for p in (0, 1)}
            for user, partition in PARTITION.items():
                assert len(entries[partition]) == len([name for name in self.model if name[0] == user])

    def teardown(self) -> None:
        if hasattr(self, "table"):
            self.now += 1000
            self.send(100)
            for slice_ in self.sending:
                self._forget(slice_)
            assert self.model == {}
            assert [k for p in (0, 1) for k in self.table.content(p) if k[:1] != b"i"] == []

    def _carry_out(self, user: bytes, operation: TimerOperation) -> None:
        self.number += 1
        name, place = (user, operation.timer_id), PARTITION[user]
        known = self.model.get(name)
        taken = known is None or known.revision <= operation.revision
        match operation:
            case PutTimerV1():
                assert self.timers.put(place, user, operation, self.log) == (known is None)
                if taken:
                    plan = operation.due_at, operation.revision, operation.lane, bytes(operation.payload)
                    self.model[name] = Known(*plan, self.number)
            case MoveTimerV1():
                moved = self.timers.move(place, user, operation, self.log)
                assert moved == (known is not None and taken)
                if known is not None and taken:
                    payload = known.payload if operation.payload is msgspec.UNSET else bytes(operation.payload)
                    self.model[name] = Known(operation.due_at, operation.revision, known.lane, payload, self.number)
            case CancelTimerV1():
                assert self.timers.cancel(place, user, operation, self.log) == (known is not None and taken)
                if known is not None and taken:
                    del self.model[name]
        self._note((user, operation))

    def _forget(self, slice_: list[tuple[Due, int]]) -> None:
        for due, number in slice_:
            name = due.entry.user, due.entry.timer_id
            known = self.model.get(name)
            as_sent = known is not None and known.number == number
            assert self.timers.released([due], self.log) == as_sent
            if as_sent:
                del self.model[name]
                self._note(None)

    def _note(self, operation: tuple[bytes, TimerOperation] | None) -> None:
        self.history.append(Step(len(self.log.records), dict(self.model), operation))

    def _open(self) -> None:
        """A table as recovery makes it from the changelog."""
        self.table = _a_table()
        for partition in (0, 1):
            for key in self.table.content(partition):
                self.table._db_for_partition(partition).delete(key)
        for record in self.log.records:
            database, key = self.table._db_for_partition(record.partition), record.key or b""
            if record.value is None:
                database.delete(key)
            else:
                database.put(key, record.value)
        self.timers = Timers(self.table, "notify.")


@functools.cache
def _a_table() -> Table:
    """One for all examples: to make a database takes longer than a whole history in it."""
    return Table(Path(_FOLDER.name))


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=200, stateful_step_count=40)
