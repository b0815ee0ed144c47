"""What a benchmark found, held against its floors: a table for people, one JSON line for programs."""

import json

import msgspec
from rich.console import Console
from rich.table import Table

Figures = dict[str, float]


class Row(msgspec.Struct, frozen=True):
    """One line of the table: a name and its cells as text."""

    name: str
    cells: tuple[str, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """`floors` are least values of figures, `ceilings` greatest ones; `notes` explain what the numbers are."""

    bench: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    figures: Figures
    floors: Figures = {}
    ceilings: Figures = {}
    notes: tuple[str, ...] = ()

    @property
    def missed(self) -> tuple[str, ...]:
        """Which floors and ceilings were not kept, one sentence each."""
        figures = self.figures
        low = [f"{n} is {figures[n]:,.1f}, the floor {v:,.1f}" for n, v in self.floors.items() if figures[n] < v]
        high = [f"{n} is {figures[n]:,.1f}, at most {v:,.1f}" for n, v in self.ceilings.items() if figures[n] > v]
        return (*low, *high)

    @property
    def ok(self) -> bool | None:
        """None where there is nothing to hold the figures against."""
        return not self.missed if self.floors or self.ceilings else None

    def as_json(self) -> str:
        """The last line of a benchmark's output."""
        floors = {**self.floors, **{f"{name} at most": value for name, value in self.ceilings.items()}}
        figures = {name: round(value, 3) for name, value in self.figures.items()}
        return json.dumps({"bench": self.bench, "figures": figures, "floors": floors, "ok": self.ok})


def show(report: Report, console: Console) -> None:
    """Print the table, the notes and what was missed, and last the JSON line."""
    table = Table(title=f"bench {report.bench}", title_justify="left")
    table.add_column("", no_wrap=True)
    for column in report.columns:
        table.add_column(column, justify="right")
    for row in report.rows:
        table.add_row(row.name, *row.cells)
    console.print(table)
    for note in report.notes:
        console.print(note, style="dim")
    for sentence in report.missed:
        console.print(f"missed: {sentence}", style="bold red")
    print(report.as_json(), flush=True)
