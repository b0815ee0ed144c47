"""A session to Cassandra: how it is opened, how statements are prepared, written in groups, and read."""

import asyncio
import logging
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import ConstantReconnectionPolicy, DCAwareRoundRobinPolicy, TokenAwarePolicy
from cassandra.query import BatchStatement, BatchType

from notify_streams import settings
from notify_streams.ports import Unavailable
from notify_streams.settings import seconds

from .answers import answered, translated
from .groups import grouped

_PROTOCOL = 5
_CONNECT_TIMEOUT_S = 5.0
_RECONNECT_S = 1.0  # the driver's own pauses grow to ten minutes: an inbox may not stay away that long
_NO_PAGES = 0
_PORTION = 400  # rows
# The server warns of every batch over several partitions, which ours are on purpose; and a refused connection is
# told by whoever waits for it, not by a traceback every half second.
logging.getLogger("cassandra.protocol").setLevel(logging.ERROR)
logging.getLogger("cassandra.cluster").addFilter(lambda record: not record.exc_info)


class Session:
    """One per process. Calls raise Unavailable in an outage; the driver reconnects by itself."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._metadata = session.cluster.metadata

    async def prepare(self, statements: Mapping[str, str]) -> dict[str, Any]:
        """Prepared statements under the same names. Raises Unavailable, or names what the schema lacks."""
        return {name: await _in_thread(self._session.prepare, cql) for name, cql in statements.items()}

    async def write(self, rows: Iterable[tuple[Any, Sequence[Any]]]) -> None:
        """Execute idempotent prepared writes (statement, values), grouped; returns when all are done.

        In portions, one made up while the last is under way: what another lane writes must not wait behind all of
        a long batch.
        """
        source, under_way = iter(rows), asyncio.ensure_future(answered(self._session, []))
        try:
            while portion := list(islice(source, _PORTION)):
                bound = [statement.bind(values) for statement, values in portion]
                batches = [_batch(group) for group in grouped(bound, owner=self._owner, size=_size)]
                await under_way
                under_way = asyncio.ensure_future(answered(self._session, batches))
        finally:
            await under_way

    async def select(self, statement: Any, *keys: Sequence[Any]) -> list[list[Any]]:
        """The rows for each tuple of values, all asked at once."""
        queries = [statement.bind(values) for values in keys]
        for query in queries:
            query.fetch_size = _NO_PAGES
        answers: list[list[Any]] = await answered(self._session, queries)
        return answers

    async def incarnation(self) -> object:
        """What changes when the node is started again; None where there are several nodes. Raises Unavailable."""
        if len(self._metadata.all_hosts()) > 1:
            return None
        [row] = await self.execute("SELECT gossip_generation FROM system.local")
        return row.gossip_generation

    async def execute(self, cql: str) -> Any:
        """One statement that is not prepared: for schemas."""
        return await _in_thread(self._session.execute, cql)

    def keyspace(self, name: str) -> Any:
        """The driver's description of a keyspace, None when there is none."""
        return self._metadata.keyspaces.get(name)

    async def close(self) -> None:
        """Let go of all connections and threads."""
        await asyncio.to_thread(self._session.cluster.shutdown)

    def _owner(self, bound: Any) -> Hashable:
        """The replica set of a row; with one node there is only one."""
        if len(self._metadata.all_hosts()) < 2:
            return None
        return frozenset(self._metadata.get_replicas(bound.keyspace, bound.routing_key))


async def connect(config: settings.Cassandra, *, keyspace: bool = True) -> Session:
    """One try to open a session on the keyspace of the settings. Raises Unavailable, with what to do about it."""
    try:
        return await asyncio.to_thread(_connected, config, config.keyspace if keyspace else None)
    except Exception as error:
        raise translated(error) from error


def _connected(config: settings.Cassandra, keyspace: str | None) -> Session:
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy()),
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        request_timeout=seconds(config.request_timeout),
    )
    cluster = Cluster(
        list(config.hosts),
        port=config.port,
        protocol_version=_PROTOCOL,
        compression=False,
        connect_timeout=_CONNECT_TIMEOUT_S,
        reconnection_policy=ConstantReconnectionPolicy(_RECONNECT_S, max_attempts=None),
        auth_provider=PlainTextAuthProvider(config.username, config.password) if config.username else None,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
    )
    try:
        session = cluster.connect()
        if keyspace is not None:
            if keyspace not in cluster.metadata.keyspaces:
                raise Unavailable(f"cassandra has no keyspace {keyspace}: run `notify schema create`")
            session.set_keyspace(keyspace)
        return Session(session)
    except BaseException:
        cluster.shutdown()
        raise


async def _in_thread(call: Any, *args: Any) -> Any:
    try:
        return await asyncio.to_thread(call, *args)
    except Exception as error:
        raise translated(error) from error


def _batch(group: Sequence[Any]) -> BatchStatement:
    batch = BatchStatement(BatchType.UNLOGGED)
    for bound in group:
        batch.add(bound)
    return batch


def _size(bound: Any) -> int:
    return sum(len(value) for value in bound.values if value)
