"""Starts an engine again that ended without having been asked to, on the same port and data."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from .engine import Engine, EngineError
from .restarts import Restarts

_LOOK_S = 0.5


async def revive(engine: Engine, say: Callable[[str], None]) -> None:
    """Runs until cancelled. An engine that does not come back is tried again, ever more slowly."""
    past = Restarts()
    while True:
        await asyncio.sleep(_LOOK_S)
        if engine.died is None:
            continue
        ran_for = (datetime.now(UTC) - engine.since).total_seconds()
        past, wait = past.after(exit_code=engine.died, ran_for=ran_for)
        say(f"{engine.name} ended with exit code {engine.died}; starting it again in {wait:.1f} s")
        engine.await_restart()
        await asyncio.sleep(wait)
        try:
            await engine.start()
        except EngineError as error:
            say(str(error))
            engine.await_restart()
