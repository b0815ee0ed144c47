"""Apache Cassandra on this machine: one node without JMX, ready when it answers a query in CQL."""

import asyncio
import struct

from .engine import CONFIGS, NotReady
from .free_ports import HOST
from .jvm import JavaEngine

_VERSION = 0x04
_STARTUP, _READY, _QUERY, _RESULT = 0x01, 0x02, 0x07, 0x08
_ONE = 0x0001


class Cassandra(JavaEngine):
    """Inboxes and facts."""

    name = "cassandra"
    preferred = {"port": 9042, "storage_port": 7000}  # noqa: RUF012 - the base class says ClassVar

    async def prepare(self) -> list[str]:
        """Writes the ports into cassandra.yaml."""
        config = self.render("cassandra.yaml", data=self.data)
        return self.command(
            "org.apache.cassandra.service.CassandraDaemon",
            f"-Dcassandra.config=file://{config}",
            f"-Dcassandra.storagedir={self.data}",
            f"-Dlogback.configurationFile=file://{CONFIGS / self.name / 'logback.xml'}",
        )

    async def ask(self) -> None:
        """A SELECT, spoken by hand: the driver's threads would outlive the question."""
        reader, writer = await asyncio.open_connection(HOST, self.port)
        try:
            await _exchange(reader, writer, _STARTUP, _startup(), _READY)
            await _exchange(reader, writer, _QUERY, _query("SELECT release_version FROM system.local"), _RESULT)
        except asyncio.IncompleteReadError as error:
            raise NotReady("closed the connection") from error
        finally:
            writer.close()


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, opcode: int, body: bytes, wanted: int
) -> None:
    """One frame each way (native_protocol_v4.spec, section 2)."""
    writer.write(struct.pack(">BBhBi", _VERSION, 0, 1, opcode, len(body)) + body)
    *_, answer, length = struct.unpack(">BBhBi", await reader.readexactly(9))
    text = await reader.readexactly(length)
    if answer != wanted:
        raise NotReady(f"answered with opcode {answer}: {text!r}")


def _startup() -> bytes:
    words = [b"CQL_VERSION", b"3.0.0"]
    return struct.pack(">H", 1) + b"".join(struct.pack(">H", len(word)) + word for word in words)


def _query(cql: str) -> bytes:
    return struct.pack(">i", len(cql)) + cql.encode() + struct.pack(">HB", _ONE, 0)
