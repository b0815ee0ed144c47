"""How files are written whole, so that a reader never sees half of one."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace the file in one step."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)
