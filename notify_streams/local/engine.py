"""What every engine has: a home, ports, a command line, a question it answers once it is ready."""

import asyncio
import signal
import string
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from .child import Child
from .free_ports import HOST, free_port, is_free
from .status import State

CONFIGS = Path(__file__).parents[2] / "docker" / "engines"
_START_S = 90.0
_ANSWER_S = 10.0
_TRIES = 3


class EngineError(RuntimeError):
    """An engine did not start; the message says what happened, where, and what to do."""


class NotReady(Exception):
    """It answers, but not yet what it has to."""


class Engine(ABC):
    """One engine. It can be stopped, killed and started again on the same ports and data."""

    name: ClassVar[str]
    preferred: ClassVar[Mapping[str, int]]
    grace: ClassVar[float] = 30.0

    def __init__(
        self, state: Path, jars: Path, *, standard_ports: bool = True, say: Callable[[str], None] | None = None
    ) -> None:
        self.home = state / self.name
        self.data = self.home / "data"
        self.jars = jars / self.name / "lib"
        self.ports: dict[str, int] = {}
        self._log = state / "logs" / f"{self.name}.log"
        self._standard_ports = standard_ports
        self.state: State = "stopped"
        self.since = datetime.now(UTC)
        self.starts = 0
        self._say = say or (lambda _: None)
        self._child: Child | None = None

    @abstractmethod
    async def prepare(self) -> list[str]:
        """Write the configuration for the ports chosen; the command line."""

    @abstractmethod
    async def ask(self) -> None:
        """Return if it serves. Raises NotReady or OSError while it does not."""

    @property
    def port(self) -> int:
        """Where clients connect."""
        return self.ports["port"]

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._child.pid if self._child else None

    async def start(self) -> None:
        """Start, and wait until it serves. Raises EngineError."""
        if self.pid is not None:
            return
        began = time.monotonic()
        self._become("starting")
        for _ in range(_TRIES):
            if not self.ports:
                self._choose_ports()
            child = await self._spawn()
            if await self._serves(child):
                self.starts += 1
                self._become("ready")
                self._say(f"{self.name} serves on port {self.port}, {time.monotonic() - began:.1f} s after its start")
                return
            if self.starts or all(is_free(port) for port in self.ports.values()):
                break
            self.ports = {}  # somebody was quicker to take one of them
        raise EngineError(self._failure(f"ended with exit code {child.exit_code} before it served", child.tail()))

    async def stop(self) -> None:
        """Let it write what it holds, then end it."""
        if self._child:
            self._become("stopping")
            await self._child.stop(self.grace)
            self._become("stopped")

    async def kill(self) -> None:
        """SIGKILL: nothing is written any more."""
        if self._child:
            self._become("stopped")
            await self._child.kill()

    @property
    def died(self) -> int | None:
        """The exit code, if it ended without having been asked to."""
        return self._child.exit_code if self._child and self.state in ("ready", "waiting") else None

    def await_restart(self) -> None:
        """It is down, and will be started again."""
        self._become("waiting")

    def pause(self) -> None:
        """SIGSTOP: it is there, but does not answer."""
        if self._child:
            self._child.send(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        if self._child:
            self._child.send(signal.SIGCONT)

    def render(self, name: str, **values: object) -> Path:
        """Fill in the configuration that ships with the project."""
        template = string.Template((CONFIGS / self.name / name).read_text())
        self.home.mkdir(parents=True, exist_ok=True)
        path = self.home / name
        path.write_text(template.substitute(values, **self.ports))
        return path

    def _become(self, state: State) -> None:
        self.state = state
        self.since = datetime.now(UTC)

    async def _spawn(self) -> Child:
        try:
            child = Child(await self.prepare(), log=self._log, cwd=self.home, held=self.home / "lock")
            await child.start()
        except (OSError, TimeoutError) as error:
            raise EngineError(self._failure(str(error), "")) from error
        self._child = child
        return child

    async def _serves(self, child: Child) -> bool:
        """False if it ended. Raises EngineError if it does neither, in time."""
        until = time.monotonic() + _START_S
        last: Exception | None = None
        while time.monotonic() < until:
            if child.pid is None:
                return False
            try:
                await asyncio.wait_for(self.ask(), _ANSWER_S)
            except (OSError, TimeoutError, NotReady) as error:
                last = error
                await asyncio.sleep(0.05)
            else:
                return True
        await child.kill()
        raise EngineError(self._failure(f"did not serve within {_START_S:.0f} s ({last!r})", child.tail()))

    def _choose_ports(self) -> None:
        self.ports = {
            name: free_port(preferred if self._standard_ports else None) for name, preferred in self.preferred.items()
        }

    def _failure(self, what: str, tail: str) -> str:
        where = f"its log is {self._log}" + (f", which ends with:\n{tail}" if tail else "")
        return f"{self.name} {what}; {where}\nIs everything set up (scripts/setup)? Is memory free (free -m)?"


async def ask_socket(port: int, question: bytes, answer_bytes: int) -> bytes:
    """Send, and read exactly so much. Raises OSError if nobody listens, NotReady if less comes back."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(question)
        return await reader.readexactly(answer_bytes)
    except asyncio.IncompleteReadError as error:
        raise NotReady(f"port {port} closed after {error.partial!r}") from error
    finally:
        writer.close()
