"""How a run looks on a terminal while it goes on: a sentence, a line per hop, what is still to come."""

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from .progress import Figure, Progress

_BAR = 24


def picture(progress: Progress) -> RenderableType:
    """Below the table of engines and roles; before the run begins there is nothing to say."""
    if not progress.begun:
        return Text()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column("name", min_width=12)
    for name in ("value", "of", "rate"):
        table.add_column(name, justify="right", min_width=6)
    table.add_column("bar", width=_BAR)
    table.add_column("source", style="dim", no_wrap=True, overflow="ellipsis")
    for figure in progress.figures:
        table.add_row(*_cells(figure))
    waiting = Text(f"Still to come: {progress.waiting_for}." if progress.waiting_for else "", style="dim")
    return Group(Text(), Text(f"{progress.stage}.", style="bold"), table, waiting)


def _cells(figure: Figure) -> tuple[RenderableType, ...]:
    rate = figure.rate()
    bar: RenderableType = ""
    if figure.of:
        bar = ProgressBar(total=figure.of, completed=figure.value, width=_BAR, complete_style="default")
    return (
        figure.name,
        f"{figure.value:,}",
        f"of {figure.of:,}" if figure.of else "",
        f"{rate:,.0f}/s" if rate >= 0.5 else "",
        bar,
        figure.source,
    )
