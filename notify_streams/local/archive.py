"""Makes the class archives: starts the engines once, in a temporary directory, and lets them write at their stop.

`python -m notify_streams.local.archive JARS`; scripts/setup calls it after the jars have changed.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from .engines import LocalEngines
from .jvm import JavaEngine


async def record(jars: Path) -> None:
    """Raises EngineError if an engine does not start."""
    with tempfile.TemporaryDirectory(prefix="notify-") as folder:
        engines = LocalEngines(Path(folder), jars, which=("kafka", "cassandra"), standard_ports=False)
        java = [engine for engine in engines.each if isinstance(engine, JavaEngine)]
        for engine in java:
            engine.recording = True
        async with engines:
            pass
        for engine in java:
            engine.recorded.replace(engine.archive)


if __name__ == "__main__":
    asyncio.run(record(Path(sys.argv[1])))
