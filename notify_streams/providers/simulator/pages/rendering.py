"""The templates, and what all of them may use."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from .says import CHANNELS, NAMES

FOLDER = Path(__file__).parent
_environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)
_environment.globals.update(names=NAMES, channels=CHANNELS)
_environment.filters["n"] = "{:,}".format


def page(name: str, **values: Any) -> str:
    """One page, or a piece of one."""
    return _environment.get_template(name).render(**values)
