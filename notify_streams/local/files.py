"""How files are written whole, so that a reader never sees half of one."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace the file in one step. Only its owner may read it: credentials of the simulator are in some."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.touch(mode=0o600)
    part.write_text(text)
    part.replace(path)
