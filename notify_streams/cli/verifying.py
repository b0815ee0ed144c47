"""`notify explain --verify`: every recorded decision made again."""

from importlib.metadata import version

import click
import msgspec

from notify_streams.ports import Records
from notify_streams.records.verify import Check, decisions_of, told, verify


async def checks(records: Records, notification_id: str) -> list[Check]:
    """Of all decisions that are recorded, each under the catalogue that it names. Raises Unavailable."""
    decisions = decisions_of(await records.facts(notification_id))
    bodies: dict[str, bytes] = {}
    for hash_ in {decision.catalogue for decision in decisions}:
        body = await records.catalogue(hash_)
        if body is not None:
            bodies[hash_] = body
    return [verify(decision, bodies, tzdata=version("tzdata")) for decision in decisions]


def show(notification_id: str, found: list[Check], *, as_json: bool) -> bool:
    """Print them; whether all are verified, and there is one."""
    if not found:
        click.echo(f"No decision about notification {notification_id} is recorded (yet).", err=True)
        return False
    verified = sum(check.result == "verified" for check in found)
    if as_json:
        whole = {"notification_id": notification_id, "verified": verified == len(found), "decisions": found}
        click.echo(msgspec.json.encode(whole))
    else:
        for line in (line for check in found for line in told(check)):
            click.echo(line)
        click.echo(f"{verified} of {len(found)} decision{'s' if len(found) > 1 else ''} verified.")
    return verified == len(found)
