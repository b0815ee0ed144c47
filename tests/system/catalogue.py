"""The example catalogue without its attention budget: made-up traffic disturbs its people more than any real one."""

from pathlib import Path

from notify_streams.content.catalogue import EXAMPLE


def without_budget(directory: Path) -> Path:
    """Written into the directory, which is made where it is not there."""
    text = (EXAMPLE / "catalogue.toml").read_text()
    before, budget, after = text.partition("[budget]\n")
    assert budget, "the example has a budget"
    others = after.partition("\n[")[2]
    path = directory / "catalogue.toml"
    directory.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{before}[{others}")
    return path
