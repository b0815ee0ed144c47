"""Which Java runs the engines."""

import os
import shutil

from .engine import EngineError


def java() -> str:
    """The program of JAVA_HOME, else of the PATH. Raises EngineError if there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if found is None:
        raise EngineError(f"no java program in {home or 'the PATH'}; run scripts/setup, or use docker/compose.yaml")
    return found
