"""What aiokafka's group coordinator gives up on is known at once, from whichever thread."""

import asyncio
import threading

import pytest
from aiokafka.errors import InconsistentGroupProtocolError, KafkaError

from notify_streams.streaming.refusal import Refusal


class Coordinator:
    """Pushes an error as aiokafka's does: it waits until somebody takes it."""

    def __init__(self, routine: "asyncio.Task[None]") -> None:
        self._coordination_task = routine
        self.pushed: list[BaseException] = []

    async def _push_error_to_user(self, error: BaseException) -> None:
        self.pushed.append(error)


async def routine(error: BaseException | None) -> None:
    if error is not None:
        raise error


async def test_an_error_that_waits_to_be_taken_is_a_refusal() -> None:
    refusal, error = Refusal(), InconsistentGroupProtocolError()
    coordinator = Coordinator(asyncio.ensure_future(asyncio.Event().wait()))  # type: ignore[arg-type]
    refusal.watch(coordinator)
    assert refusal.reason is None
    await coordinator._push_error_to_user(error)
    await coordinator._push_error_to_user(KafkaError("later"))
    await refusal.wait()
    assert refusal.reason is error
    assert len(coordinator.pushed) == 2


@pytest.mark.parametrize("error", [None, KafkaError("unexpected")])
async def test_a_routine_that_fails_is_a_refusal_and_one_that_ends_is_none(error: KafkaError | None) -> None:
    refusal = Refusal()
    task = asyncio.ensure_future(routine(error))
    refusal.watch(Coordinator(task))
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert refusal.reason is error


async def test_a_routine_that_is_cancelled_is_no_refusal() -> None:
    refusal = Refusal()
    task = asyncio.ensure_future(routine(None))
    refusal.watch(Coordinator(task))
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert refusal.reason is None


async def test_who_waits_on_another_thread_is_told_and_who_gave_up_waiting_takes_nothing_back() -> None:
    refusal, error = Refusal(), KafkaError("fenced")
    impatient = asyncio.ensure_future(refusal.wait())
    await asyncio.sleep(0)
    impatient.cancel()
    patient = asyncio.ensure_future(refusal.wait())
    await asyncio.sleep(0)
    threading.Thread(target=refusal.note, args=(error,)).start()
    await asyncio.wait_for(patient, 5)
    assert refusal.reason is error
