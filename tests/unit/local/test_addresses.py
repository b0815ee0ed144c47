from pathlib import Path

from notify_streams import settings
from notify_streams.local import addresses
from notify_streams.local.addresses import Addresses

FOUND = Addresses(
    kafka="127.0.0.1:19092",
    cassandra=("127.0.0.1", 19042),
    redis="redis://127.0.0.1:16379/0",
    gateway=18080,
    smtp="smtp://127.0.0.1:11025",
)


def _parts(read: settings.Settings) -> tuple[str, tuple[str, ...], int, str, int, str]:
    cassandra, smtp = read.cassandra, read.providers["smtp"]
    return read.kafka.bootstrap, cassandra.hosts, cassandra.port, read.redis.url, read.gateway.port, smtp.url


EXPECTED = ("127.0.0.1:19092", ("127.0.0.1",), 19042, "redis://127.0.0.1:16379/0", 18080, "smtp://127.0.0.1:11025")


def test_settings_read_what_was_written(tmp_path: Path) -> None:
    state = tmp_path / ".local"
    state.mkdir()
    FOUND.write(state)
    assert _parts(settings.load({}, cwd=tmp_path)) == EXPECTED


def test_settings_read_the_environment_of_a_program(tmp_path: Path) -> None:
    assert _parts(settings.load(FOUND.environment(), cwd=tmp_path)) == EXPECTED


def test_what_does_not_run_keeps_its_default(tmp_path: Path) -> None:
    assert settings.load(Addresses().environment(), cwd=tmp_path) == settings.load({}, cwd=tmp_path)


def test_addresses_are_removed_once_and_for_all(tmp_path: Path) -> None:
    FOUND.write(tmp_path)
    addresses.remove(tmp_path)
    addresses.remove(tmp_path)
    assert list(tmp_path.iterdir()) == []
