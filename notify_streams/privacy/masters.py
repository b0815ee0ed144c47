"""Master keys, by id: the current one wraps users' keys, the older ones still unwrap what they wrapped."""

from collections.abc import Mapping

from notify_streams.domain.sealing import SECRET_BYTES, Broken, UserKey, unwrap, wrap
from notify_streams.ports import Unavailable

_LONGEST_ID = 255


class Masters:
    """What is kept names the master key it needs: a length byte, the id, then the wrapped key."""

    def __init__(self, current: str, secrets: Mapping[str, bytes]) -> None:
        """Raises ValueError that names the master key and the reason."""
        if current not in secrets:
            raise ValueError(f"master key {current!r}: not among those given")
        for master_id, secret in secrets.items():
            if not 1 <= len(master_id.encode()) <= _LONGEST_ID:
                raise ValueError(f"master key {master_id!r}: its id must have 1 to {_LONGEST_ID} bytes")
            if len(secret) != SECRET_BYTES:
                raise ValueError(f"master key {master_id!r}: expected {SECRET_BYTES} bytes, got {len(secret)}")
        self._current, self._secrets = current, dict(secrets)

    def wrap(self, key: UserKey, user_id: str) -> bytes:
        """Under the current master key."""
        name = self._current.encode()
        return bytes([len(name)]) + name + wrap(key, user_id, self._secrets[self._current])

    def unwrap(self, kept: bytes, user_id: str) -> UserKey:
        """Under whichever wrapped it. Raises Unavailable: a missing or wrong master key is no fault of a record."""
        size = kept[0] if kept else 0
        master_id = kept[1 : 1 + size].decode(errors="replace")
        if master_id not in self._secrets:
            raise Unavailable(f"user keys: the master key {master_id!r} that wrapped one of them is not given")
        try:
            return unwrap(kept[1 + size :], user_id, self._secrets[master_id])
        except Broken:
            raise Unavailable(f"user keys: the master key {master_id!r} is not the one that wrapped them") from None
