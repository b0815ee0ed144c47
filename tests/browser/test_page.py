"""/inbox: the component in a page of the gateway's own."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.inbox_server import InboxServer, a_token
from tests.browser.tabs import Tabs

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the browser lives in one loop


async def _page(tabs: Tabs, address: str) -> Page:
    page = await (await tabs.context()).new_page()
    page.on("pageerror", lambda error: tabs.said.append(str(error)))
    await page.goto(address)
    return page


async def test_a_token_in_the_fragment_opens_it_and_leaves_the_address(tabs: Tabs, server: InboxServer) -> None:
    server.put("Order 1 is confirmed")
    page = await _page(tabs, f"{server.url}/inbox#token={a_token()}")

    await expect(page.locator("#page").get_by_text("Order 1 is confirmed")).to_be_visible()
    await expect(page.locator("#bell .bell b")).to_have_text("1")
    await expect(page.locator("#who")).to_have_text("maria")
    assert page.url == f"{server.url}/inbox"
    await expect(page.locator("#bell")).to_have_attribute("state", "live")
    assert len(server.sessions) == 1  # bell and list share one connection


async def test_a_token_is_pasted_kept_for_the_tab_and_forgotten_by_signing_out(tabs: Tabs, server: InboxServer) -> None:
    server.put("Order 1 is confirmed")
    page = await _page(tabs, f"{server.url}/inbox")

    await page.get_by_label("User token").fill("no token")
    await page.get_by_role("button", name="Open the inbox").click()
    await expect(page.get_by_role("alert")).to_contain_text("This is not a user token")
    await page.get_by_label("User token").fill(a_token())
    await page.get_by_role("button", name="Open the inbox").click()
    await expect(page.locator("#page").get_by_text("Order 1 is confirmed")).to_be_visible()
    await page.reload()
    await expect(page.locator("#page").get_by_text("Order 1 is confirmed")).to_be_visible()

    await page.get_by_role("button", name="Sign out").click()

    await expect(page.get_by_label("User token")).to_be_visible()
    await page.reload()
    await expect(page.get_by_label("User token")).to_be_visible()


async def test_the_policy_lets_nothing_in_but_the_gateways_own(tabs: Tabs, server: InboxServer) -> None:
    page = await _page(tabs, f"{server.url}/inbox#token={a_token()}")
    await expect(page.locator("#page .state").first).to_have_text(re.compile("Live"))
    violations = []
    page.on("console", lambda said: violations.append(said.text) if "Content Security Policy" in said.text else None)

    await page.evaluate("fetch('https://elsewhere.example/').catch(() => {})")

    assert any("connect-src" in text for text in violations)


async def test_what_a_page_sets_before_the_script_has_come_counts(tabs: Tabs, server: InboxServer) -> None:
    server.put("Order 1 is confirmed")
    page = await _page(tabs, f"{server.url}/host.css")

    await page.evaluate(
        """token => {
          const inbox = document.body.appendChild(document.createElement('notify-inbox'));
          Object.assign(inbox, { token, strings: { title: 'What is new' }, options: { every: 1000 } });
          inbox.setAttribute('mode', 'page');
          return import('/assets/notify-inbox.js');
        }""",
        a_token(),
    )

    inbox = page.locator("notify-inbox")
    await expect(inbox.get_by_text("Order 1 is confirmed")).to_be_visible()
    await expect(inbox.get_by_role("heading", name="What is new")).to_be_visible()
    assert await inbox.evaluate("inbox => [typeof inbox.token, inbox.client.timing.every]") == ["string", 1000]
    await inbox.evaluate("inbox => { inbox.token = null }")
    await expect(inbox).to_have_attribute("state", "signed-out")
