"""One browser for all of these tests, and a server and tabs for each."""

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from tests.browser.inbox_server import InboxServer, an_inbox_server
from tests.browser.tabs import Tabs

CHROMIUM = "/usr/bin/chromium"  # Debian's, by scripts/setup --tests
expect.set_options(timeout=15_000)  # machines of tests are busy


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncIterator[InboxServer]:
    async with an_inbox_server() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def tabs(browser: Browser, server: InboxServer) -> AsyncIterator[Tabs]:
    """Whatever a page says on its console, or throws, fails the test."""
    tabs = Tabs(browser, server)
    yield tabs
    await tabs.close()
    assert tabs.said == []
