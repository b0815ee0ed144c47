"""How table keys are put together: a user's length and id first, so that no user is another's prefix."""

import struct

_LENGTH = struct.Struct(">H")


def of_user(user: bytes, kind: bytes, rest: bytes = b"") -> bytes:
    """Length, user, one byte of kind, and what the kind needs."""
    return _LENGTH.pack(len(user)) + user + kind + rest
