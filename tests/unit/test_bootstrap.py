"""What each sender role is made of."""

from pathlib import Path
from typing import get_args

import pytest

from notify_streams import bootstrap
from notify_streams.settings import Local, Provider, Settings, Worker
from notify_streams.streaming.health import Health
from schemas.words import CHANNELS, LANES, Channel


@pytest.mark.parametrize("channel", ["email", "webhook"])
async def test_a_sender_has_an_agent_per_lane_one_for_stops_and_for_webhooks_those_that_tell_producers(
    channel: Channel, tmp_path: Path
) -> None:
    settings = Settings(
        local=Local(state=str(tmp_path)),
        worker=Worker(data=str(tmp_path)),
        providers={
            "smtp": Provider(url="smtp://127.0.0.1:1"),
            "webhook": Provider(signing_key="whsec_" + "c2VjcmV0" * 4),
        },
    )
    app = await bootstrap.ROLES[f"sender-{channel}"](settings, 0, Health("tested", 60.0))
    names = {name.rpartition("/")[2] for name in app.agents}
    own = {f"sender-{channel}.{place}" for place in (*LANES, "stops")}
    assert own <= names
    assert bool(names - own) == (channel == "webhook")
    for close in app.closers:
        await close()


def test_every_channel_with_a_provider_has_its_sender() -> None:
    noisy = set(get_args(Channel)) - {"inapp"}
    assert {role.removeprefix("sender-") for role in bootstrap.ROLES if role.startswith("sender-")} == noisy
    assert noisy < set(CHANNELS)
