import socket

from notify_streams.local.free_ports import HOST, free_port, is_free


def test_the_preferred_port_is_taken_only_if_it_is_free() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not is_free(port)
        other = free_port(port)
        assert other != port
        assert is_free(other)
    assert free_port(port) == port
