"""A record that nobody could process, with where it came from and why."""

import msgspec

# Headers of a record on `notify.dead-letters`; key, value and the other headers stay as they came.
ORIGINAL_TOPIC = "notify-original-topic"
ORIGINAL_PARTITION = "notify-original-partition"
ORIGINAL_OFFSET = "notify-original-offset"
ORIGINAL_TIMESTAMP = "notify-original-timestamp"
ATTEMPTS = "notify-attempts"
ERROR_CLASS = "notify-error-class"
ERROR = "notify-error"
STAGE = "notify-stage"
FAILED_AT = "notify-failed-at"
VERSION = "notify-version"


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """The same as values, as `notify dead-letters` shows it. Instants are ms since the epoch."""

    id: str
    topic: str
    partition: int
    offset: int
    timestamp: int
    attempts: int
    error_class: str
    error: str
    stage: str
    failed_at: int
    version: str
    key: bytes | None
    value: bytes | None
