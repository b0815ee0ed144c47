"""A record of a user-keyed topic, taken apart."""

from faust.types import EventT


class NoUser(ValueError):
    """The record's key names no user, or its value is null; the message says which."""


def keyed(event: EventT[bytes]) -> tuple[int, bytes, bytes]:
    """Partition, user id and value. Raises NoUser: what follows such a record would reach nobody."""
    message = event.message
    if not message.key:
        raise NoUser("key: required, the user id")
    if message.value is None:
        raise NoUser("value: null means nothing on this topic")
    try:
        message.key.decode()
    except UnicodeDecodeError as error:
        raise NoUser(f"key: not UTF-8 at byte {error.start}") from None
    return message.partition, message.key, message.value
