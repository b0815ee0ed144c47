"""Redis on this machine: an append-only file, no snapshots, ready when it answers PING."""

import shutil

from .engine import CONFIGS, Engine, EngineError, NotReady, ask_socket
from .free_ports import HOST

_PONG = b"+PONG\r\n"


class Redis(Engine):
    """Delivery keys, limits and caches."""

    name = "redis"
    preferred = {"port": 6379}  # noqa: RUF012 - the base class says ClassVar
    grace = 10.0

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"redis://{HOST}:{self.port}/0"

    async def prepare(self) -> list[str]:
        """The program comes from the system's packages."""
        program = shutil.which("redis-server")
        if program is None:
            raise EngineError("redis-server is not on the PATH; run scripts/setup, or use docker/compose.yaml")
        self.data.mkdir(parents=True, exist_ok=True)
        return [program, str(CONFIGS / self.name / "redis.conf"), "--port", str(self.port), "--dir", str(self.data)]

    async def ask(self) -> None:
        """While it loads its file it answers with an error."""
        answer = await ask_socket(self.port, b"PING\r\n", len(_PONG))
        if answer != _PONG:
            raise NotReady(repr(answer))
