"""The secrets that sign references, links and codes: from the settings, or made once on this machine."""

import os
import secrets
from pathlib import Path

from notify_streams.settings import Settings, SettingsError

FILE = "signing.key"
_SHORTEST = 32


def signing_secrets(settings: Settings) -> tuple[str, ...]:
    """The one that signs, then the one whose signatures are still taken. Raises SettingsError for one that is short.

    On one machine all processes find the same file in `local.state`; on several the setting is needed.
    """
    auth = settings.auth
    for name in ("signing_secret", "signing_secret_previous"):
        if 0 < len(getattr(auth, name)) < _SHORTEST:
            raise SettingsError(f"auth.{name}: {_SHORTEST} characters or more are needed")
    current = auth.signing_secret or _made_once(Path(settings.local.state) / FILE)
    return (current, auth.signing_secret_previous) if auth.signing_secret_previous else (current,)


def _made_once(path: Path) -> str:
    """Whole or not at all: whoever loses the race reads what the other has made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}.new")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(32))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
