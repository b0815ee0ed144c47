"""`notify config`: the settings in force, and whether catalogue and templates hold."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from notify_streams import settings
from notify_streams.content import sources
from notify_streams.content.catalogue import FileCatalogues
from notify_streams.content.check import Result, check
from schemas.catalogue import Catalogue

_WORDS = {"ok": "ok", "fallback": "falls back", "failed": "FAILED"}
_STYLES = {"ok": "", "fallback": "dim", "failed": "bold red"}


@click.group()
def config() -> None:
    """Settings, catalogue, templates."""


@config.command("check")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def check_all(as_json: bool) -> None:
    """Load everything, and render every type in every language with its sample, and digests of them.

    Exit code 1 when something fails.
    """
    try:
        catalogues = FileCatalogues.of(settings.load())
        found = sources.read(catalogues.templates)
        catalogue = catalogues.load_with(found)
    except settings.SettingsError as error:
        click.echo(f"notify config check: {error}", err=True)
        sys.exit(1)
    results = list(check(catalogue, found))
    failed = [r for r in results if r.outcome == "failed"]
    if as_json:
        click.echo(json.dumps({"catalogue": catalogue.hash, "results": msgspec.to_builtins(results)}))
    else:
        _print(catalogue, results, failed)
        click.echo(f"catalogue {catalogue.hash} from {catalogues.path}, templates in {catalogues.templates}")
    sys.exit(1 if failed else 0)


@config.command()
@click.option("--json", "as_json", is_flag=True, help="JSON instead of lines.")
def show(as_json: bool) -> None:
    """The settings in force, whatever they come from, with secrets masked."""
    plain = settings.masked(settings.load())
    if as_json:
        click.echo(json.dumps(plain))
        return
    for path, value in _flat(plain, ""):
        click.echo(f"{path} = {json.dumps(value, ensure_ascii=False)}")


def _print(catalogue: Catalogue, results: Sequence[Result], failed: Sequence[Result]) -> None:
    languages = list(dict.fromkeys(r.locale for r in results))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("type", "channel", *languages, "needs in payload"):
        table.add_column(column)
    for type_, channel in dict.fromkeys((r.type, r.channel) for r in results):
        cells = {r.locale: r.outcome for r in results if (r.type, r.channel) == (type_, channel)}
        words = [
            f"[{_STYLES[cells[tag]]}]{_WORDS[cells[tag]]}[/]" if _STYLES[cells[tag]] else "ok" for tag in languages
        ]
        table.add_row(type_, channel, *words, _needs(catalogue, type_))
    Console(highlight=False).print(table)
    offered = set(catalogue.channels)
    waiting = sorted({c for t in catalogue.types.values() for c in t.channels} - offered)
    if waiting:
        click.echo(f"not checked, because this installation does not carry them: {', '.join(waiting)}")
    for result in failed:
        click.echo(f"{result.type} on {result.channel} in {result.locale}: {result.reason}", err=True)


def _needs(catalogue: Catalogue, type_: str) -> str:
    entry = catalogue.types.get(type_)
    return ", ".join(entry.required if entry else ()) or "nothing"


def _flat(value: dict[str, Any], path: str) -> list[tuple[str, Any]]:
    lines: list[tuple[str, Any]] = []
    for key, inner in value.items():
        lines += _flat(inner, f"{path}{key}.") if isinstance(inner, dict) else [(f"{path}{key}", inner)]
    return lines
