"""When what was written to a single database node counts as done."""

import asyncio
import sys
import time

from notify_streams.streaming.intake import Batch
from notify_streams.streaming.lease import EX_TEMPFAIL
from notify_streams.streaming.rest import Rest

REST_S = 0.05


class Noted(Batch):
    """A batch that notes when it was called done."""

    def __init__(self) -> None:
        super().__init__()
        self.done_at: float | None = None

    def done(self) -> None:
        self.done_at = time.monotonic()


class Node:
    """A database process and its successors."""

    def __init__(self) -> None:
        self.started = 1

    async def incarnation(self) -> object:
        return self.started


async def test_a_batch_is_done_after_its_rest_and_not_before() -> None:
    node, batch = Node(), Noted()
    rest, held_at = Rest(node.incarnation, 1, rest_s=REST_S), time.monotonic()
    rest.hold(batch)
    assert batch.held
    await asyncio.sleep(4 * REST_S)
    assert batch.done_at is not None
    assert batch.done_at - held_at >= REST_S


async def test_batches_are_done_in_their_order_and_later_ones_wait_their_own_rest() -> None:
    node, first, second = Node(), Noted(), Noted()
    rest = Rest(node.incarnation, 1, rest_s=REST_S)
    rest.hold(first)
    await asyncio.sleep(REST_S / 2)
    held_at = time.monotonic()
    rest.hold(second)
    await asyncio.sleep(5 * REST_S)
    assert first.done_at is not None
    assert second.done_at is not None
    assert second.done_at - held_at >= REST_S
    assert first.done_at <= second.done_at


async def test_on_several_nodes_nothing_is_held_back() -> None:
    node, batch = Node(), Noted()
    Rest(node.incarnation, None).hold(batch)
    assert not batch.held


async def test_a_node_that_was_started_again_ends_the_process_before_anything_is_done() -> None:
    """In a process of its own, for it ends: 75, and what it held is not done."""
    code = (
        "import asyncio\n"
        "from tests.unit.streaming.test_rest import Noted, Node\n"
        "from notify_streams.streaming.rest import Rest\n"
        "async def main():\n"
        "    node, batch = Node(), Noted()\n"
        "    Rest(node.incarnation, 1, rest_s=0.05).hold(batch)\n"
        "    node.started = 2\n"
        "    await asyncio.sleep(5)\n"
        "asyncio.run(main())\n"
    )
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stderr=asyncio.subprocess.PIPE)
    _, said = await child.communicate()
    assert child.returncode == EX_TEMPFAIL
    assert b"rest.restarted" in said
