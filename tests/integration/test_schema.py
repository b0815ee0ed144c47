"""`notify schema` on the real Cassandra."""

import msgspec

from notify_streams.cli.schema import check_tables, create_tables, tables
from notify_streams.settings import Cassandra, Retention, Settings
from notify_streams.stores.cassandra import connect


async def test_tables_are_made_once_and_checked(cassandra: Cassandra) -> None:
    config = Settings(cassandra=msgspec.structs.replace(cassandra, keyspace="schema_once"))
    assert await check_tables(config) == ["keyspace schema_once does not exist"]
    made = await create_tables(config)
    assert made[0] == "keyspace schema_once, replication 1"
    assert len(made) == 1 + len(tables(config.retention))
    assert await create_tables(config) == []
    assert await check_tables(config) == []


async def test_differences_are_named_and_a_missing_column_is_added(cassandra: Cassandra) -> None:
    config = Settings(cassandra=msgspec.structs.replace(cassandra, keyspace="schema_old"))
    await create_tables(config)
    session = await connect(config.cassandra)
    await session.execute("ALTER TABLE inbox DROP archived")
    await session.execute("DROP TABLE registers")
    await session.execute("DROP INDEX facts_by_user")
    await session.close()
    shorter = msgspec.structs.replace(config, retention=Retention(facts="30d"))
    assert await check_tables(shorter) == [
        "table inbox lacks the column archived",
        "table facts keeps rows for 7776000 s, the settings say 2592000",
        "index facts_by_user does not exist",
        "table failures keeps rows for 7776000 s, the settings say 2592000",
        "table registers does not exist",
    ]
    assert await create_tables(config) == ["column inbox.archived", "index facts_by_user", "table registers"]
    assert await check_tables(config) == []
