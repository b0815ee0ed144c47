"""What is fetched for Amazon SNS."""

import asyncio

import pytest
from cryptography.x509 import Certificate

from notify_streams.gateway.receipts.fetching import HttpSns
from notify_streams.gateway.receipts.sns import is_certificate_url
from tests.callbacks import Sns


class Hanging(HttpSns):
    """Answers for one URL; all others hang."""

    async def _get(self, url: str) -> tuple[int, bytes]:
        if url != "https://known":
            await asyncio.Event().wait()
        return 200, Sns().certificate()


class Counting(HttpSns):
    """Knows one certificate; counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def _get(self, url: str) -> tuple[int, bytes]:
        self.asked.append(url)
        return (200, Sns().certificate()) if url == "https://known" else (404, b"")


@pytest.mark.parametrize("url", ["?x=1", "#x", "\n"])
def test_a_certificates_url_has_nothing_behind_its_path(url: str) -> None:
    """Else one certificate has any number of them."""
    place = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-a.pem"
    assert is_certificate_url(place, ())
    assert not is_certificate_url(place + url, ())


async def test_names_of_certificates_that_are_not_there_drive_out_none_that_is() -> None:
    sns = Counting()
    for url in ("https://known", *(f"https://strange{n}" for n in range(100)), "https://known"):
        await sns.certificate(url)
    assert sns.asked.count("https://known") == 1
    assert len(sns._kept) == 32


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
