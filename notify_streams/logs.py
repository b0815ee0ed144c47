"""Log lines: one JSON object each, with keys; never an address, a body or a token."""

import logging
import sys
from datetime import UTC, datetime

import orjson

_NOISY = ("aiokafka", "faust", "mode", "cassandra")


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
        return orjson.dumps(line).decode()


def configure(level: int = logging.INFO) -> None:
    """Send everything from `level` on to standard error; frameworks only when they warn."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
