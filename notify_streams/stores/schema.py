"""The tables of the `schema.cql` files: making them, and telling how those of a cluster differ."""

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from string import Template
from typing import Any

import msgspec

from notify_streams.settings import Cassandra

from .cassandra import Session

_STATEMENT = re.compile(r"CREATE (TABLE|INDEX) IF NOT EXISTS (\w+)")
_COLUMN = re.compile(r"^  (\w+) (\w+),?$", re.MULTILINE)
_KEY = re.compile(r"PRIMARY KEY \(\(([^)]*)\)(?:, ([^)]*))?\)")
_TTL = re.compile(r"default_time_to_live = (\d+)")


class Definition(msgspec.Struct, frozen=True):
    """One CREATE statement, one column a line."""

    kind: str
    name: str
    cql: str

    @property
    def columns(self) -> dict[str, str]:
        """Names and types."""
        return dict(_COLUMN.findall(self.cql))

    @property
    def key(self) -> tuple[list[str], list[str]]:
        """Partition key and clustering columns."""
        match = _KEY.search(self.cql)
        partition, clustering = (match[1], match[2] or "") if match else ("", "")
        return [*filter(None, partition.split(", "))], [*filter(None, clustering.split(", "))]

    @property
    def ttl(self) -> int:
        """Seconds; 0 keeps rows for ever."""
        match = _TTL.search(self.cql)
        return int(match[1]) if match else 0


def definitions(package: str, values: Mapping[str, object]) -> list[Definition]:
    """What the `schema.cql` of a package defines, `$names` replaced by values."""
    text = Template((files(package) / "schema.cql").read_text()).substitute(values)
    bare = re.sub(r"^--.*$", "", text, flags=re.MULTILINE)
    found = []
    for cql in filter(None, (part.strip() for part in bare.split(";"))):
        match = _STATEMENT.match(cql)
        if match is None:
            raise ValueError(f"{package}/schema.cql: not a CREATE ... IF NOT EXISTS: {cql[:60]!r}")
        found.append(Definition(match[1].lower(), match[2], cql))
    return found


async def create(session: Session, config: Cassandra, wanted: Iterable[Definition]) -> list[str]:
    """Make what is missing, columns included; what was made, one phrase each. Raises Unavailable."""
    made = []
    if session.keyspace(config.keyspace) is None:
        made.append(f"keyspace {config.keyspace}, replication {config.replication}")
    await session.execute(
        f"CREATE KEYSPACE IF NOT EXISTS {config.keyspace} WITH replication = "
        f"{{'class': 'NetworkTopologyStrategy', 'replication_factor': {config.replication}}}"
    )
    known = session.keyspace(config.keyspace)
    before = {*known.tables, *known.indexes}
    await session.execute(f"USE {config.keyspace}")
    for definition in wanted:
        if definition.name not in before:
            await session.execute(definition.cql)
            made.append(f"{definition.kind} {definition.name}")
        elif definition.kind == "table":
            made += await _add_columns(session, definition, known.tables[definition.name])
    return made


def check(session: Session, config: Cassandra, wanted: Iterable[Definition]) -> list[str]:
    """What is wrong, one sentence each; empty when all is well."""
    keyspace = session.keyspace(config.keyspace)
    if keyspace is None:
        return [f"keyspace {config.keyspace} does not exist"]
    faults = []
    for definition in wanted:
        if definition.kind == "index":
            if definition.name not in keyspace.indexes:
                faults.append(f"index {definition.name} does not exist")
        elif definition.name not in keyspace.tables:
            faults.append(f"table {definition.name} does not exist")
        else:
            faults += _differences(definition, keyspace.tables[definition.name])
    return faults


async def _add_columns(session: Session, definition: Definition, table: Any) -> list[str]:
    missing = {name: type_ for name, type_ in definition.columns.items() if name not in table.columns}
    for name, type_ in missing.items():
        await session.execute(f"ALTER TABLE {definition.name} ADD {name} {type_}")
    return [f"column {definition.name}.{name}" for name in missing]


def _differences(definition: Definition, table: Any) -> list[str]:
    faults = []
    for name, type_ in definition.columns.items():
        column = table.columns.get(name)
        if column is None:
            faults.append(f"table {definition.name} lacks the column {name}")
        elif column.cql_type != type_:
            faults.append(f"{definition.name}.{name} is {column.cql_type}, wanted {type_}")
    key = [c.name for c in table.partition_key], [c.name for c in table.clustering_key]
    if key != definition.key:
        faults.append(f"table {definition.name} has the key {key}, wanted {definition.key}")
    ttl = int(table.options.get("default_time_to_live", 0))
    if ttl != definition.ttl:
        faults.append(f"table {definition.name} keeps rows for {ttl} s, the settings say {definition.ttl}")
    return faults
