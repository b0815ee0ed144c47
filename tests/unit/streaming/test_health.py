from typing import Any, cast

import pytest
from faust.types import TP

from notify_streams.streaming.health import Health

IN, LOG = TP("in", 0), TP("log", 0)


class Consumer:
    def __init__(self) -> None:
        self.assigned = {IN, LOG}
        self.left: dict[TP, int] = {IN: 0, LOG: 9}
        self._committed_offset: dict[TP, int | None] = {IN: None, LOG: None}

    def assignment(self) -> set[TP]:
        return self.assigned

    def behind(self, tp: TP) -> int:
        return self.left[tp]


class Tables:
    actives_ready = True
    changelog_topics = frozenset({"log"})


class App:
    def __init__(self) -> None:
        self.rebalancing, self.tables, self.consumer = False, Tables(), Consumer()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(app: App, clock: Clock) -> Health:
    watched = Health("role", 30.0, clock=clock)
    watched.watch(cast(Any, app))
    return watched


def test_while_it_waits_for_engines_it_lives_and_is_not_ready() -> None:
    waiting = Health("role", 30.0)
    assert (waiting.live().ok, waiting.ready().ok) == (True, False)
    assert waiting.live().reasons == ("waiting for engines",)


def test_with_partitions_and_no_lag_it_is_ready_for_ever(health: Health, clock: Clock) -> None:
    for _ in range(10):
        clock.now += 60
        assert health.ready().ok


def test_without_a_partition_for_too_long_it_is_dead(health: Health, app: App, clock: Clock) -> None:
    app.consumer.assigned = set()
    assert health.live().ok
    clock.now = 29
    assert health.live().ok
    clock.now = 31
    assert health.live().reasons == ("no partition is assigned since 31 s",)
    app.consumer.assigned = {IN}
    assert health.live().ok


def test_lag_without_a_commit_for_too_long_is_dead(health: Health, app: App, clock: Clock) -> None:
    app.consumer.left[IN] = 5
    assert health.live().ok
    clock.now = 31
    assert health.live().reasons == ("in/0: 5 behind and nothing committed for 31 s",)


def test_a_commit_starts_the_clock_again(health: Health, app: App, clock: Clock) -> None:
    app.consumer.left[IN] = 5
    for committed in range(5):
        app.consumer._committed_offset[IN] = committed
        assert health.live().ok
        clock.now += 29
    assert health.live().ok


def test_a_rebalance_is_no_stall_and_forgets_what_was_seen(health: Health, app: App, clock: Clock) -> None:
    app.consumer.left[IN] = 5
    assert health.live().ok
    clock.now, app.rebalancing = 100, True
    assert (health.live().ok, health.ready().ok, health.live().state) == (True, False, "recovering")
    app.rebalancing = False
    assert health.live().ok


def test_changelogs_are_nobodys_lag(health: Health) -> None:
    assert health.lags() == {IN: 0}
