"""Which Java runs the engines: Cassandra 5.0 wants 17, no less and no more."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from .engine import EngineError

_WANTED = "17"


def java() -> str:
    """The first of Java 17: JAVA_HOME, the system's folders, the PATH. Raises EngineError, naming what it found."""
    passed: list[str] = []
    for program in _candidates():
        version = _version(program)
        if version.split(".")[0] == _WANTED:
            return str(program)
        passed.append(f"{program} is {version or 'of unknown version'}")
    found = "; ".join(passed) or "there is none in JAVA_HOME, /usr/lib/jvm or the PATH"
    raise EngineError(f"Java {_WANTED} was not found: {found}. Run scripts/setup, or use docker/compose.yaml")


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    yield from sorted(Path("/usr/lib/jvm").glob(f"*-{_WANTED}-*/bin/java"))
    if on_path := shutil.which("java"):
        yield Path(on_path)


def _version(program: Path) -> str:
    """From the file that every JDK carries: quicker than to start one."""
    try:
        release = (program.resolve().parents[1] / "release").read_text()
    except OSError:
        return ""
    match = re.search(r'^JAVA_VERSION="([^"]+)"', release, re.MULTILINE)
    return match[1] if match else ""


if __name__ == "__main__":
    try:
        sys.stdout.write(java() + "\n")
    except EngineError as error:
        sys.exit(str(error))
