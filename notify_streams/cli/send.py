"""`notify send`: one event from the shell."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import aiohttp
import click
from aiokafka.errors import KafkaError

from notify_streams.domain.accept import Rejected
from notify_streams.settings import Settings, load
from notify_streams.streaming import topics
from schemas.words import CHANNELS, LANES


@click.command()
@click.argument("type_", metavar="TYPE")
@click.option("--to", "users", multiple=True, required=True, help="A user id; may be repeated.")
@click.option("--payload", default="{}", show_default=True, help="The payload, a JSON object.")
@click.option("--id", "event_id", help="The event's id; a random one when left out.")
@click.option("--source", default="/shell", show_default=True)
@click.option("--channel", "channels", multiple=True, type=click.Choice(CHANNELS), help="Narrow the type's channels.")
@click.option("--priority", type=click.Choice(LANES))
@click.option("--url", help="Send over HTTP to this gateway instead of straight to Kafka.")
@click.option("--key", envvar="NOTIFY_KEY", help="The key for --url.")
def send(
    type_: str,
    users: tuple[str, ...],
    payload: str,
    event_id: str | None,
    source: str,
    channels: tuple[str, ...],
    priority: str | None,
    url: str | None,
    key: str | None,
) -> None:
    """Publish one event of TYPE, and print its id and those of its notifications."""
    try:
        data: dict[str, Any] = {"recipients": list(users), "payload": json.loads(payload)}
    except ValueError as error:
        raise click.UsageError(f"--payload is no JSON: {error}") from None
    if channels:
        data["channels"] = list(channels)
    if priority:
        data["priority"] = priority
    event = {"specversion": "1.0", "id": event_id or uuid4().hex, "source": source, "type": type_, "data": data}
    value = json.dumps(event).encode()
    answer = asyncio.run(_over_http(url, key, value) if url else _to_kafka(load(), value))
    click.echo(json.dumps(answer, indent=2))


async def _to_kafka(settings: Settings, value: bytes) -> Mapping[str, Any]:
    from notify_streams import bootstrap
    from notify_streams.cli.producing import HEADERS, checked, producer

    accepted = checked(value, bootstrap.catalogue(settings), bootstrap.limits(settings))
    if isinstance(accepted, Rejected):
        raise click.ClickException(f"not sent: {accepted.words}")
    topic = settings.kafka.prefix + topics.events(accepted.lane)
    key = accepted.notifications[0].user_id.encode()
    async with producer(settings.kafka) as client:
        try:
            await client.send_and_wait(topic, value, key, headers=HEADERS)
        except KafkaError as error:
            raise click.ClickException(f"not confirmed: {error!r}; the same --id is safe to repeat") from error
    refs = [{"user_id": n.user_id, "notification_id": n.notification_id} for n in accepted.notifications]
    return {"event_id": accepted.event.id, "notifications": refs}


async def _over_http(url: str, key: str | None, value: bytes) -> Mapping[str, Any]:
    headers = {"Content-Type": "application/cloudevents+json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session,
            session.post(url.rstrip("/") + "/v1/events", data=value, headers=headers) as response,
        ):
            answer: Mapping[str, Any] = await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise click.ClickException(f"not confirmed: {url}: {error!r}; the same --id is safe to repeat") from error
    if response.status != 202:
        reasons = "; ".join(f"{e['pointer']}: {e['detail']}" for e in answer.get("errors", ()))
        raise click.ClickException(f"{response.status} {answer.get('code')}: {reasons or answer.get('detail', '')}")
    return answer
