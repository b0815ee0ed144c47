"""What is fetched for Amazon SNS."""

import asyncio

from cryptography.x509 import Certificate

from notify_streams.gateway.receipts.fetching import HttpSns
from tests.callbacks import Sns


class Hanging(HttpSns):
    """Answers for one URL; all others hang."""

    async def _get(self, url: str) -> tuple[int, bytes]:
        if url != "https://known":
            await asyncio.Event().wait()
        return 200, Sns().certificate()


async def test_a_certificate_that_is_known_waits_for_none_that_a_stranger_has_named() -> None:
    """Whoever may post can name certificates at Amazon that are slow to come."""
    sns = Hanging()
    assert isinstance(await sns.certificate("https://known"), Certificate)
    strangers = [asyncio.create_task(sns.certificate(f"https://strange{n}")) for n in range(20)]
    await asyncio.sleep(0)
    assert isinstance(await asyncio.wait_for(sns.certificate("https://known"), 1), Certificate)
    for stranger in strangers:
        stranger.cancel()
    await asyncio.gather(*strangers, return_exceptions=True)
