"""Where settings come from, and what is said of those that are wrong."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.settings import (
    Auth,
    Kafka,
    Provider,
    Redis,
    Settings,
    SettingsError,
    load,
    masked,
    milliseconds,
    seconds,
)


def read(tmp_path: Path, toml: str = "", **env: str) -> Settings:
    (tmp_path / "notify.toml").write_text(toml)
    return load({f"NOTIFY_{name}": text for name, text in env.items()}, cwd=tmp_path)


def test_without_any_source_the_defaults_hold(tmp_path: Path) -> None:
    assert load({}, cwd=tmp_path) == Settings()


def test_later_sources_win(tmp_path: Path) -> None:
    (tmp_path / ".local").mkdir()
    addresses = '[kafka]\nbootstrap = "written:1"\nprefix = "up."\n[redis]\nurl = "redis://up:1/0"'
    (tmp_path / ".local" / "addresses.toml").write_text(addresses)
    settings = read(tmp_path, '[kafka]\nprefix = "file."\npartitions = 8', KAFKA__PARTITIONS="16")
    assert (settings.kafka.bootstrap, settings.kafka.prefix, settings.kafka.partitions) == ("written:1", "file.", 16)
    assert settings.redis.url == "redis://up:1/0"


@pytest.mark.parametrize("absolute", [True, False])
def test_the_addresses_are_those_of_the_state_directory_in_use(tmp_path: Path, absolute: bool) -> None:
    """Or an event would go to another system on this machine than `notify status` shows."""
    for name in (".local", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "addresses.toml").write_text(f'[kafka]\nbootstrap = "{name}:1"')
    state = str(tmp_path / "other") if absolute else "other"
    assert read(tmp_path, LOCAL__STATE=state).kafka.bootstrap == "other:1"
    assert read(tmp_path, f'[local]\nstate = "{state}"').kafka.bootstrap == "other:1"
    assert read(tmp_path).kafka.bootstrap == ".local:1"


def test_the_key_that_send_shows_is_no_setting(tmp_path: Path) -> None:
    assert load({"NOTIFY_KEY": "nk_x"}, cwd=tmp_path) == Settings()


def test_the_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('environment = "staging"')
    assert read(tmp_path, 'environment = "x"', CONFIG="other.toml").environment == "staging"


def test_a_named_file_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"NOTIFY_CONFIG names .*absent\.toml, which does not exist"):
        read(tmp_path, CONFIG="absent.toml")


def test_the_environment_may_hold_lists_and_nested_sections(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        DELIVER_ONLY_TO='["*@example.com", "*@example.org"]',
        CHANNELS__EMAIL__RETRY__ATTEMPTS="3",
        PROVIDERS__SMTP__URL="smtp://mail:25",
    )
    assert settings.deliver_only_to == ("*@example.com", "*@example.org")
    assert settings.channels["email"].retry.attempts == 3
    assert settings.channels["email"].providers == ("smtp",)
    assert settings.providers["smtp"].url == "smtp://mail:25"


def test_other_programs_variables_are_left_alone(tmp_path: Path) -> None:
    assert load({"NOTIFYX": "1", "KAFKA__PREFIX": "x", "PATH": "/bin"}, cwd=tmp_path) == Settings()


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ('enviroment = "x"', "unknown setting enviroment; did you mean environment?"),
        ("[kafka]\nboostrap = 'x'", "unknown setting kafka.boostrap; did you mean kafka.bootstrap?"),
        ("[kafak]\nprefix = 'x'", "unknown setting kafak; did you mean kafka?"),
        ("[channels.email]\nlok = '1m'", "unknown setting channels.email.lok; did you mean channels.email.lock?"),
        ("[channels.email.retry]\nbas = '1s'", "unknown setting channels.email.retry.bas; did you mean channels.email"),
        ("[providers.smtp]\nuser = 'x'", "unknown setting providers.smtp.user; did you mean providers.smtp.username?"),
        ("zzz = 1", "unknown setting zzz"),
        ("[kafka]\npartitions = 'many'", "`$.kafka.partitions`"),
        ("[kafka]\nretention = 'a week'", "kafka.retention: 'a week' is no duration"),
        ("[channels.email.retry]\nbase = '2 parsecs'", "channels.email.retry.base: '2 parsecs' is no duration"),
        ("kafka = 1", "`$.kafka`"),
        ("[auth]\nmode = 'none'", "`$.auth.mode`"),
        ("[kafka\n", "notify.toml: "),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, toml: str, says: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read(tmp_path, toml)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"KAFKA__BOOSTRAP": "x"}, "did you mean kafka.bootstrap?"),
        ({"KAFKA": "x"}, "`$.kafka`"),
        ({"KAFKA": "x", "KAFKA__PREFIX": "y"}, "NOTIFY_KAFKA__PREFIX: kafka is a section"),
        ({"DELIVER_ONLY_TO": "[unquoted]"}, "NOTIFY_DELIVER_ONLY_TO is no TOML value"),
    ],
)
def test_a_wrong_variable_is_named(tmp_path: Path, env: dict[str, str], says: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read(tmp_path, **env)
    assert says in str(raised.value)


def test_an_empty_variable_is_an_empty_text(tmp_path: Path) -> None:
    settings = read(tmp_path, PROVIDERS__SES__API_KEY="", AUTH__SIGNING_SECRET="")
    assert (settings.providers["ses"].api_key, settings.auth.signing_secret) == ("", "")
    with pytest.raises(SettingsError, match=r"kafka\.retention: '' is no duration"):
        read(tmp_path, KAFKA__RETENTION="")


@pytest.mark.parametrize("secret", ["[hunter2", "{hunter2", '["hunter2"]', "{a = 1}", "[]"])
def test_a_secret_may_begin_like_a_list(tmp_path: Path, secret: str) -> None:
    assert read(tmp_path, PROVIDERS__SMTP__PASSWORD=secret).providers["smtp"].password == secret


def test_no_error_repeats_a_variables_value(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="NOTIFY_PROVIDERS__SMTP__USERNAME is no TOML value") as raised:
        read(tmp_path, PROVIDERS__SMTP__USERNAME="[hunter2")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("500ms", 500), ("2s", 2_000), ("1.5s", 1_500), ("5m", 300_000), ("24h", 86_400_000), ("7d", 604_800_000)],
)
def test_durations_have_units(text: str, ms: int) -> None:
    assert (milliseconds(text), seconds(text)) == (ms, ms / 1000)


@pytest.mark.parametrize("text", ["", "5", "s", "-1s", "1 s", "1e3s", "1S", "1w", "1s2s", ".5s", "infs"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(SettingsError):
        seconds(text)


@given(st.text(max_size=8))
def test_no_text_does_more_than_say_that_it_is_no_duration(text: str) -> None:
    with suppress(SettingsError):
        assert seconds(text) >= 0


def test_secrets_are_not_shown_and_everything_else_is() -> None:
    provider = Provider(url="smtp://user:hunter2@mail:25", username="u", password="hunter2", sender="A <a@b.example>")
    redis = Redis(url="redis://:hunter2@cache:6379/0")
    shown = masked(Settings(providers={"smtp": provider}, redis=redis, kafka=Kafka(prefix="p.")))
    assert "hunter2" not in str(shown)
    assert (shown["providers"]["smtp"]["password"], shown["providers"]["smtp"]["username"]) == ("***", "u")
    assert shown["providers"]["smtp"]["url"] == "smtp://***@mail:25"
    assert shown["providers"]["smtp"]["sender"] == "A <a@b.example>"
    assert shown["redis"]["url"] == "redis://***@cache:6379/0"
    assert (shown["kafka"]["prefix"], shown["auth"]["keys_file"]) == ("p.", ".local/keys.json")


def test_a_secret_that_was_is_a_secret() -> None:
    shown = masked(Settings(auth=Auth(signing_secret="hunter2", signing_secret_previous="hunter1")))
    assert (shown["auth"]["signing_secret"], shown["auth"]["signing_secret_previous"]) == ("***", "***")


def test_a_secret_that_is_not_set_is_shown_as_not_set() -> None:
    assert masked(Settings())["cassandra"]["password"] == ""
