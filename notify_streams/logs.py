"""Log lines: one JSON object each, with keys; never an address, a body or a token."""

import logging
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

import orjson

_NOISY = ("aiokafka", "faust", "mode", "cassandra")
REPEATED_S = 10.0


class Repeats(logging.Filter):
    """Lets one line of a kind through every 10 s, with how many it stands for: an outage makes thirty a second."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it. Only what frameworks say is held back, never an own line."""
        if record.name.partition(".")[0] not in _NOISY:
            return True
        kind, now = (record.name, record.levelno, str(record.msg)[:80]), self._clock()
        said_at, held = self._kinds.get(kind, (now - REPEATED_S, 0))
        if now - said_at < REPEATED_S:
            self._kinds[kind] = said_at, held + 1
            return False
        self._kinds[kind] = now, 0
        if held:
            record.msg, record.args = f"{record.getMessage()} (and {held} more like it)", None
        return True


class Withheld(logging.Filter):
    """Leaves out what the HTTP server quotes of a request that it could not parse: the token may be among it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True; of the error only its class and the lines of code stay."""
        error = record.exc_info[1] if record.exc_info else None
        if record.name == "aiohttp.server" and error is not None:
            record.exc_info, record.exc_text = None, "".join(traceback.format_tb(error.__traceback__))
            record.msg, record.args = f"{record.getMessage()}: {type(error).__name__}", None
        return True


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        elif record.exc_text:
            line["error"] = record.exc_text
        return orjson.dumps(line).decode()


def configure(level: int = logging.INFO) -> None:
    """Send everything from `level` on to standard error; frameworks only when they warn."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    handler.addFilter(Repeats())
    handler.addFilter(Withheld())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
