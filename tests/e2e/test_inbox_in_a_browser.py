"""The inbox as its reader meets it: Debian's Chromium on the whole system, gateway killed in between."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import aiohttp
import jwt
import pytest
from playwright.async_api import Browser, Locator, Page, async_playwright, expect

from notify_streams.local.engines import LocalEngines
from notify_streams.settings import Cassandra, Kafka, Redis
from tests.browser.conftest import CHROMIUM
from tests.e2e.test_decisions import System, within
from tests.system.whole import Whole

ROLES = ("ingest", "orchestrator", "inbox", "scheduler", "recorder", "registry")
SECRET = "a secret of at least thirty-two bytes"
NO_WEBSOCKET = "window.WebSocket = class { constructor() { throw new Error('forbidden'); } }"


@pytest.fixture
async def whole(
    kafka: Kafka, cassandra: Cassandra, redis: Redis, engines: LocalEngines, tmp_path: Path
) -> AsyncIterator[Whole]:
    mark = uuid4().hex[:8]
    extra = {
        "NOTIFY_KAFKA__PREFIX": f"browser-{mark}.",
        "NOTIFY_CASSANDRA__KEYSPACE": f"browser_{mark}",
        "NOTIFY_AUTH__JWT_ALGORITHM": "HS256",
        "NOTIFY_AUTH__JWT_SECRET": SECRET,
    }
    whole = Whole(tmp_path / "system", engines, extra=extra, roles=ROLES)
    try:
        await whole.start()
        yield whole
    finally:
        await whole.stop()


def _titles(page: Page) -> Locator:
    return page.locator("#page li .title")


def _order(number: int) -> dict[str, str]:
    return {"order": str(number), "total": "9 EUR"}


@pytest.mark.e2e
@pytest.mark.timeout(300)
async def test_a_reader_sees_reads_archives_chooses_and_is_told_live(whole: Whole) -> None:
    user = f"reader-{uuid4().hex[:8]}"
    token = jwt.encode({"sub": user, "exp": datetime.now(UTC) + timedelta(hours=1)}, SECRET, "HS256")
    gateway = whole.urls["gateway"]
    async with aiohttp.ClientSession(gateway) as session, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page()
        thrown: list[str] = []
        page.on("pageerror", lambda error: thrown.append(str(error)))
        system = System(session, whole.mails)
        await system.publish("order.confirmed", user, _order(1))
        await page.goto(f"{gateway}/inbox#token={token}")
        await told(page, system, user)
        await read_and_archived(page, system, user)
        await told_by_events(browser, f"{gateway}/inbox#token={token}", system, user)
        await told_after_the_gateway_was_killed(page, system, user, whole)
        await chosen(page, system, user)
        await browser.close()
        assert thrown == []


async def told(page: Page, system: System, user: str) -> None:
    """What was there, and what comes, without a reload."""
    await expect(_titles(page)).to_have_count(1)
    await expect(page.locator("#page")).to_have_attribute("state", "live")
    await system.publish("order.confirmed", user, _order(2))
    await expect(_titles(page)).to_have_text([re.compile("2"), re.compile("1")])
    await expect(page.locator("#bell .bell b")).to_have_text("2")


async def read_and_archived(page: Page, system: System, user: str) -> None:
    """By keys; the gateway counts as the badge does."""
    await page.locator("#page li .main").first.focus()
    await page.keyboard.press("r")
    await expect(page.locator("#bell .bell b")).to_have_text("1")
    await page.keyboard.press("e")
    await expect(_titles(page)).to_have_count(1)
    archived = f"/v1/users/{user}/inbox?state=archived"
    await within(lambda: system.ask("GET", archived), lambda page: len(page["items"]) == 1)
    counts = await system.ask("GET", f"/v1/users/{user}/inbox/counts")
    assert (counts["unread"], counts["unseen"]) == (1, 0)
    await page.locator("#page").get_by_role("button", name="Archived").click()
    await expect(_titles(page)).to_have_text([re.compile("2")])
    await page.locator("#page").get_by_role("button", name="All", exact=True).click()
    await expect(_titles(page)).to_have_text([re.compile("1")])


async def told_by_events(browser: Browser, address: str, system: System, user: str) -> None:
    """Where no WebSocket gets through; what is read there is read here."""
    context = await browser.new_context()
    await context.add_init_script(NO_WEBSOCKET)
    page = await context.new_page()
    await page.goto(address)
    await expect(page.locator("#page")).to_have_attribute("state", "live")
    await system.publish("order.confirmed", user, _order(3))
    await expect(_titles(page)).to_have_text([re.compile("3"), re.compile("1")])
    await page.locator("#page").get_by_role("button", name="Mark all read").click()
    await expect(page.locator("#bell .bell b")).to_be_hidden()
    await context.close()


async def told_after_the_gateway_was_killed(page: Page, system: System, user: str, whole: Whole) -> None:
    """It says that it is offline, comes back by itself, and has missed nothing."""
    await whole.fleet.kill("gateway")
    await expect(page.locator("#page .state").first).to_contain_text("Offline, showing what was here at")
    await whole.fleet.ready("gateway")
    await system.publish("order.confirmed", user, _order(4))
    await expect(_titles(page)).to_have_text([re.compile("4"), re.compile("3"), re.compile("1")])
    await expect(page.locator("#page")).to_have_attribute("state", "live")
    await expect(page.locator("#bell .bell b")).to_have_text("1")


async def chosen(page: Page, system: System, user: str) -> None:
    """A switch is in force once it says so."""
    await page.locator("#page").get_by_role("button", name="Settings").click()
    await page.locator("#page").get_by_role("switch", name="Offers and news: Mail").click()
    await expect(page.locator("#page").get_by_text("In force since")).to_be_visible()
    preferences = await system.ask("GET", f"/v1/users/{user}/preferences")
    assert preferences["categories"]["marketing"]["email"] is False
