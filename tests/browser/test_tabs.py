"""Several tabs of one person: one connection, one count."""

import pytest
from playwright.async_api import expect

from tests.browser.inbox_server import InboxServer
from tests.browser.tabs import Tabs
from tests.sending import until

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the browser lives in one loop


async def test_three_tabs_share_one_connection_and_agree(tabs: Tabs, server: InboxServer) -> None:
    """INB-01: both see the same number."""
    server.put("old", seen=True)
    all_tabs = [await tabs.tab("page") for _ in range(3)]
    for tab in all_tabs:
        await tab.live()

    server.put("new", seen=True)
    for tab in all_tabs:
        await tab.shows("new", "old")
        await expect(tab.button("Unread 2")).to_be_visible()
    await all_tabs[2].row("old").locator(".main").focus()
    await all_tabs[2].page.keyboard.press("r")
    for tab in all_tabs:
        await expect(tab.button("Unread 1")).to_be_visible()
        await expect(tab.inbox.locator("li.unread")).to_have_count(1)

    assert server.opened == [("websocket", None)]


async def test_when_the_leading_tab_closes_another_goes_on_without_a_gap(tabs: Tabs, server: InboxServer) -> None:
    server.put("old", seen=True)
    leader = await tabs.tab("page")
    await leader.live()
    follower = await tabs.tab("page")
    await follower.live()
    server.put("new", seen=True)
    await follower.shows("new", "old")

    await leader.page.close()
    server.put("came in between", seen=True)

    await follower.shows("came in between", "new", "old")
    await until(lambda: len(server.opened) > 1)  # the page that closed may have told all by then
    await follower.live()
    assert [way for way, _ in server.opened] == ["websocket"] * 2
    assert server.opened[1][1] in ("2", "3")  # a page that closes may still have told of what came


async def test_all_tabs_say_that_the_network_is_gone(tabs: Tabs, server: InboxServer) -> None:
    server.put("old", seen=True)
    both = [await tabs.tab("page"), await tabs.tab("page")]
    for tab in both:
        await tab.live()

    server.away = True
    server.cut()
    for tab in both:
        await expect(tab.state).to_have_text("Offline, showing what was here at 14:02")
    server.put("came meanwhile", seen=True)
    server.away = False

    for tab in both:
        await tab.live()
        await tab.shows("came meanwhile", "old")


async def test_another_person_has_a_connection_of_their_own(tabs: Tabs, server: InboxServer) -> None:
    server.put("old", seen=True)
    first = await tabs.tab("page")
    await first.live()
    other = await tabs.tab("page", context=await tabs.context())
    await other.live()

    assert len(server.sessions) == 2
