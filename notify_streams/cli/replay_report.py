"""The account of a replay, in words and as JSON."""

import click
import msgspec

from notify_streams.replay.account import ASIDES, IN_WORDS, LISTED, Account
from notify_streams.replay.plan import Selection

_SHOWN = 20


def tell(selection: Selection, account: Account, *, as_json: bool) -> None:
    """On standard output."""
    if as_json:
        plain = {"topic": selection.topic, **msgspec.structs.asdict(account), "terms": account.terms()}
        click.echo(msgspec.json.encode({**plain, "adds_up": account.adds_up()}))
        return
    rate = account.read / account.seconds if account.seconds else 0
    aside = {"taken": account.taken, "filtered": account.filtered, **account.asides}
    parts = " + ".join(f"{aside[name]:,} {name}" for name in ("taken", "filtered", *ASIDES) if aside.get(name))
    click.secho(f"{account.read:,} records of {selection.topic} read = {parts or 0}", bold=True)
    click.echo(f"{account.seconds:.1f} s, {rate:,.0f} records/s; {account.notifications:,} notifications")
    terms = account.terms()
    click.secho(f"{account.pairs:,} times a notification on a channel:", bold=True)
    for term, words in IN_WORDS.items():
        if terms[term]:
            by = ", ".join(f"{channel} {n[term]:,}" for channel, n in sorted(account.channels.items()) if n[term])
            click.echo(f"  {terms[term]:>9,} {words} ({by})")
    for found in account.found[:_SHOWN]:
        click.echo(f"  {found.notification_id}  {found.type} for {found.user_id}: {', '.join(found.channels)}")
    if len(account.found) > _SHOWN:
        click.echo(f"  and more (--json names {LISTED:,})")
    click.secho("It adds up." if account.adds_up() else "It does not add up.", bold=True)
