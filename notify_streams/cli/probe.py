"""`notify probe`: does a notification arrive, on each channel, right now?"""

import asyncio
import sys
from contextlib import suppress

import aiohttp
import click
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from notify_streams.cli.probing import Probe, Run, run
from notify_streams.cli.times import Duration
from notify_streams.metrics import PROBE_FAILED, PROBE_SECONDS
from notify_streams.settings import Settings, load
from schemas.codec import encode
from schemas.words import CHANNELS, Channel

_HOST = "127.0.0.1"


@click.command()
@click.option(
    "--user", default="notify-probe", show_default=True, help="Whose endpoints are tried: give it some first."
)
@click.option(
    "--type", "type_", default="security.alert", show_default=True, help="A mandatory type: no budget holds it."
)
@click.option("--payload", help="A JSON object; the type's sample when left out.")
@click.option("--channel", "channels", multiple=True, type=click.Choice(CHANNELS), help="It must arrive on this one.")
@click.option("--within", type=Duration(), default="10s", show_default=True, help="How long it may take.")
@click.option("--every", type=Duration(), help="Go on, so often, until stopped; without it once.")
@click.option("--port", type=click.IntRange(0, 65535), help="With --every: serve /metrics here, on 127.0.0.1.")
@click.option("--url", help="The gateway; the settings' own when left out.")
@click.option("--key", envvar="NOTIFY_KEY", help="A producer's key; better in NOTIFY_KEY.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a probe.")
def probe(
    user: str,
    type_: str,
    payload: str | None,
    channels: tuple[Channel, ...],
    within: int,
    every: int | None,
    port: int | None,
    url: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Send a synthetic notification through the gateway and wait until it has arrived on each channel.

    Channels on which the user has no endpoint are left out, unless --channel names them. Exit code 1 when one did not
    arrive in time; with --every the metrics notify_probe_failed and notify_probe_seconds say so.
    """
    if port is not None and every is None:
        raise click.UsageError("--port goes with --every")
    settings = load()
    what = Probe(
        type=type_,
        user=user,
        payload=payload.encode() if payload is not None else _sample(settings, type_),
        channels=channels,
        within_s=within / 1000,
    )
    url = (url or f"http://{settings.gateway.host}:{settings.gateway.port}").rstrip("/")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with suppress(KeyboardInterrupt):
        ok = asyncio.run(_probing(url, headers, what, every, port, as_json))
        sys.exit(0 if ok else 1)


async def _probing(
    url: str, headers: dict[str, str], what: Probe, every: int | None, port: int | None, as_json: bool
) -> bool:
    server = await _serve(port) if port is not None else None
    try:
        async with aiohttp.ClientSession(headers=headers) as http:
            while True:
                once = await run(http, url, what)
                _count(once, what)
                _say(once, as_json)
                if every is None:
                    return once.ok
                await asyncio.sleep(every / 1000)
    finally:
        if server is not None:
            await server.cleanup()


def _count(once: Run, what: Probe) -> None:
    for one in once.seen:
        PROBE_FAILED.labels(one.channel).set(not one.ok)
        if one.ok:
            PROBE_SECONDS.labels(one.channel).observe(one.seconds)
    if once.fault:
        for channel in what.channels or ("all",):
            PROBE_FAILED.labels(channel).set(1)
    elif not what.channels:
        PROBE_FAILED.labels("all").set(0)


def _say(once: Run, as_json: bool) -> None:
    if as_json:
        click.echo(encode(once))
        return
    if once.fault:
        click.echo(f"notify: {once.fault}", err=True)
    for one in once.seen:
        how = f"after {one.seconds:.2f} s" if one.ok else f"NOT within {one.seconds:.1f} s"
        click.echo(f"{one.channel:<8} {one.state:<10} {how}{f' ({one.reason})' if one.reason else ''}")
    if once.seen and not once.ok:
        click.echo(f"notify: see `notify explain {once.notification_id}`", err=True)


def _sample(settings: Settings, type_: str) -> bytes:
    from notify_streams import bootstrap

    entry = bootstrap.catalogue(settings).types.get(type_)
    if entry is None:
        raise click.UsageError(f"--type: the catalogue has no type {type_!r}")
    return bytes(entry.sample)


async def _serve(port: int) -> web.AppRunner:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.add_routes([web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, _HOST, port).start()
    return runner
