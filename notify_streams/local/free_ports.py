"""Which ports on the loopback are free."""

import random
import socket

HOST = "127.0.0.1"
_BELOW_EPHEMERAL = range(20_000, 32_000)  # outgoing connections take theirs from 32768 up


def is_free(port: int) -> bool:
    """True if a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port(preferred: int | None = None) -> int:
    """`preferred` if it is free, else any other. Somebody may still take it before it is used."""
    if preferred is not None and is_free(preferred):
        return preferred
    for port in random.sample(_BELOW_EPHEMERAL, 200):
        if is_free(port):
            return port
    raise OSError(f"no free port found on {HOST} between {_BELOW_EPHEMERAL.start} and {_BELOW_EPHEMERAL.stop}")
