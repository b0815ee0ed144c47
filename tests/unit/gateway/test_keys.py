"""The keys file, and `notify keys`."""

import json
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from notify_streams.cli.keys import keys as command
from notify_streams.gateway import keys
from notify_streams.gateway.keys import Key, KeyRing
from notify_streams.settings import SettingsError


def a_key(name: str = "shop", **fields: object) -> Key:
    return Key(name=name, role="producer", hash="", **fields)  # type: ignore[arg-type]


def test_a_secret_is_forty_three_digits_of_base_62_and_never_the_same() -> None:
    secrets = {keys.new_secret() for _ in range(200)}
    assert len(secrets) == 200
    assert all(s.startswith("nk_") and len(s) == 46 and s[3:].isalnum() for s in secrets)


def test_the_file_is_the_owners_alone_and_holds_no_secret(tmp_path: Path) -> None:
    path, secret = tmp_path / "new" / "keys.json", keys.new_secret()
    keys.create(path, a_key(), secret)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret not in path.read_text()


def test_a_new_key_works_and_a_revoked_one_stops_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, secret = tmp_path / "keys.json", keys.new_secret()
    ring = KeyRing(path)
    assert ring.find(secret) is None
    keys.create(path, a_key(), secret)
    found = ring.find(secret)
    assert found is not None
    assert found.name == "shop"
    keys.revoke(path, "shop")
    monkeypatch.setattr(ring, "_look_at", 0.0)
    assert ring.find(secret) is None


def test_a_broken_file_leaves_the_keys_that_were_good(tmp_path: Path) -> None:
    path, secret = tmp_path / "keys.json", keys.new_secret()
    keys.create(path, a_key(), secret)
    ring = KeyRing(path)
    assert ring.find(secret)
    path.write_text("{")
    assert ring.find("nk_unknown") is None
    assert ring.find(secret)


def test_names_are_taken_once(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    keys.create(path, a_key(), keys.new_secret())
    with pytest.raises(SettingsError, match="shop"):
        keys.create(path, a_key(), keys.new_secret())
    with pytest.raises(SettingsError, match="no key named other"):
        keys.revoke(path, "other")


def test_globs_hold_a_producer_and_not_an_operator() -> None:
    producer = a_key(sources=("/shop/*",), types=("order.*",))
    assert producer.may_name("/shop/eu")
    assert producer.may_name("/keys/shop")
    assert not producer.may_name("/bank")
    assert not producer.may_publish("auth.otp")
    operator = Key(name="root", role="operator", hash="", sources=(), types=())
    assert operator.may_name("/bank")
    assert operator.may_publish("auth.otp")


def test_the_command_line_shows_a_key_once_and_lists_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_AUTH__KEYS_FILE", str(tmp_path / "keys.json"))
    monkeypatch.chdir(tmp_path)
    shell = CliRunner()
    made = shell.invoke(command, ["create", "shop", "--role", "producer", "--source", "/shop/*", "--rate", "5"])
    assert made.exit_code == 0
    secret = made.stdout.strip()
    assert KeyRing(tmp_path / "keys.json").find(secret)
    again = shell.invoke(command, ["create", "shop", "--role", "producer"])
    assert again.exit_code == 1
    listed = shell.invoke(command, ["list", "--json"])
    assert secret not in listed.output
    (shown,) = json.loads(listed.stdout)
    assert (shown["name"], shown["role"], shown["sources"], shown["rate"]) == ("shop", "producer", ["/shop/*"], 5)
    assert shell.invoke(command, ["revoke", "shop"]).exit_code == 0
    assert json.loads(shell.invoke(command, ["list", "--json"]).stdout) == []
    assert shell.invoke(command, ["create", "../x", "--role", "producer"]).exit_code == 2


def test_a_draft_left_by_a_crash_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    (tmp_path / f"keys.json.{os.getpid()}").write_text("half")
    keys.create(path, a_key(), keys.new_secret())
    assert [key.name for key in keys.read(path)] == ["shop"]
