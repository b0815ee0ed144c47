"""`notify keys create` says where the key is."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from notify_streams.cli import notify
from notify_streams.domain import urls
from notify_streams.gateway.keys import KeyRing
from notify_streams.providers.webhook import signing


@pytest.fixture(autouse=True)
def nothing_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def created(name: str) -> Result:
    result = CliRunner().invoke(notify, ["keys", "create", name, "--role", "producer"])
    assert result.exit_code == 0
    assert result.stdout.startswith("nk_")
    return result


def test_the_file_is_named_whole_and_a_new_one_is_said_to_be_new(tmp_path: Path) -> None:
    path = tmp_path / ".local" / "keys.json"
    first = created("shop").stderr
    assert f"{path} is a new file: a gateway knows the key only if its auth.keys_file names it" in first
    assert f"producer key shop is in {path} (auth.keys_file)" in first
    second = created("bank").stderr
    assert "new file" not in second
    assert f"producer key bank is in {path} (auth.keys_file)" in second


def made(*options: str) -> Result:
    return CliRunner().invoke(notify, ["keys", "create", "shop", *options])


def test_a_webhook_gets_a_secret_that_is_shown_once_and_kept_where_it_is_signed(tmp_path: Path) -> None:
    result = made("--webhook", "https://shop.example/hooks", "--source", "/shop/*")
    key, secret = result.stdout.split()
    assert (result.exit_code, key[:3], secret[:6]) == (0, "nk_", "whsec_")
    assert len(signing.key_of(secret)) == 32
    ring = KeyRing(tmp_path / ".local" / "keys.json")
    [kept] = ring.with_webhooks()
    assert (kept.name, kept.webhook, kept.role) == ("shop", "https://shop.example/hooks", "producer")
    assert ring.webhook_secret("shop") == secret
    assert ring.webhook_secret("bank") is None
    for listed in (["keys", "list"], ["keys", "list", "--json"]):
        shown = CliRunner().invoke(notify, listed).stdout
        assert "https://shop.example/hooks" in shown
        assert secret not in shown
    assert CliRunner().invoke(notify, ["keys", "revoke", "shop"]).exit_code == 0
    assert KeyRing(tmp_path / ".local" / "keys.json").webhook_secret("shop") is None


@pytest.mark.parametrize(
    "url", ["https://10.0.0.5/hooks", "https://shop.example:22/", "shop.example", "ftp://x.example"]
)
def test_a_webhook_that_leads_inside_is_wrong_usage(url: str, tmp_path: Path) -> None:
    """SEC-01."""
    result = made("--webhook", url)
    assert result.exit_code == 2
    assert urls.REFUSED in " ".join(result.stderr.split())
    assert not (tmp_path / ".local").exists()


def test_an_installation_that_says_so_may_call_its_own_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_PROVIDERS__WEBHOOK__ALLOW_PRIVATE", "true")
    assert made("--webhook", "http://127.0.0.1:9000/hooks").exit_code == 0


def test_only_producers_have_something_to_hear_of() -> None:
    result = made("--webhook", "https://shop.example/hooks", "--role", "operator")
    assert result.exit_code == 2
    assert "only producers" in result.stderr
