"""The engines of one state directory together: started at once, addressed, broken and mended one by one."""

import asyncio
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from .addresses import Addresses
from .cassandra import Cassandra
from .engine import Engine, EngineError
from .free_ports import HOST
from .kafka import Kafka
from .lock import StateLock
from .redis import Redis

EngineName = Literal["kafka", "cassandra", "redis"]
ENGINES: tuple[EngineName, ...] = ("kafka", "cassandra", "redis")
_DERIVED = ("state", "simulator")  # the workers' tables and the mails: worthless without the topics they came from


class LocalEngines:
    """Real engines as child processes, with their data under `state` and their jars under `jars`.

    Enter it to start those of `which`; others may be started later by name. Data is kept between runs unless
    `fresh`. With `standard_ports` each takes its usual port if it is free, else any; a restart keeps the port.
    The engines end with this process, and with the thread that started them.
    """

    def __init__(
        self,
        state: Path,
        jars: Path,
        which: Collection[EngineName] = ENGINES,
        *,
        fresh: bool = False,
        standard_ports: bool = True,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.state = state.resolve()
        kinds: dict[EngineName, Callable[..., Engine]] = {"kafka": Kafka, "cassandra": Cassandra, "redis": Redis}
        self._which = [name for name in ENGINES if name in which]
        self._engines: dict[str, Engine] = {
            name: kind(self.state, jars.resolve(), standard_ports=standard_ports, say=say)
            for name, kind in kinds.items()
        }
        self._fresh = fresh
        self._lock = StateLock(self.state)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Raises InUse if another process runs here, EngineError if one does not start; then none is left."""
        self._lock.take()
        try:
            if self._fresh:
                self.wipe()
            await self.start(*self._which)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Stop all and let go of the directory."""
        try:
            await self.stop(*self._engines)
        finally:
            self._lock.release()

    async def start(self, *names: str) -> None:
        """Start these, at the same time; return when all serve. What runs already is left alone."""
        try:
            async with asyncio.TaskGroup() as group:
                for name in names:
                    group.create_task(self._engines[name].start())
        except ExceptionGroup as failures:
            raise EngineError("\n\n".join(str(failure) for failure in failures.exceptions)) from failures

    async def stop(self, *names: str) -> None:
        """Stop these as an operator would."""
        await asyncio.gather(*(self._engines[name].stop() for name in names))

    async def kill(self, name: str) -> None:
        """SIGKILL."""
        await self._engines[name].kill()

    async def restart(self, name: str) -> None:
        """Stop and start, on the same port and data."""
        await self.stop(name)
        await self.start(name)

    def pause(self, name: str) -> None:
        """SIGSTOP: connections stay open, nothing answers."""
        self._engines[name].pause()

    def resume(self, name: str) -> None:
        """SIGCONT."""
        self._engines[name].resume()

    def wipe(self) -> None:
        """Forget all data. Nothing may be running."""
        for name in (*self._engines, *_DERIVED):
            shutil.rmtree(self.state / name, ignore_errors=True)

    @property
    def each(self) -> list[Engine]:
        """The engines themselves, started or not."""
        return list(self._engines.values())

    @property
    def pids(self) -> dict[str, int]:
        """Of those that run."""
        return {name: engine.pid for name, engine in self._engines.items() if engine.pid is not None}

    @property
    def addresses(self) -> Addresses:
        """Of those that were started, running or not."""
        ports = {name: engine.port for name, engine in self._engines.items() if engine.ports}
        return Addresses(
            kafka=f"{HOST}:{ports['kafka']}" if "kafka" in ports else None,
            cassandra=(HOST, ports["cassandra"]) if "cassandra" in ports else None,
            redis=f"redis://{HOST}:{ports['redis']}/0" if "redis" in ports else None,
        )


__all__ = ["ENGINES", "EngineError", "EngineName", "LocalEngines"]
