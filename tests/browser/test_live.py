"""What happens on the screen when something comes, and what must not."""

import pytest
from playwright.async_api import expect

from tests.browser.inbox_server import InboxServer
from tests.browser.tabs import Tab, Tabs

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the browser lives in one loop


async def _a_long_list(tabs: Tabs, server: InboxServer) -> Tab:
    for number in range(15):
        server.put(f"Item {number}", seen=True)
    tabs.looks = {"reduced_motion": "reduce"}  # places are measured
    tab = await tabs.tab("page")
    await tab.live()
    await expect(tab.rows).to_have_count(15)
    await tab.page.mouse.move(1, 1)
    await expect(tab.inbox.locator(".panel")).to_be_visible()
    return tab


async def test_what_comes_slides_in_at_the_top_and_is_said_aloud(tabs: Tabs, server: InboxServer) -> None:
    tab = await _a_long_list(tabs, server)

    server.put("Brand new")

    await expect(tab.titles.first).to_have_text("Brand new")
    await expect(tab.pill).to_be_hidden()
    await expect(tab.button("Unread 16")).to_be_visible()
    await expect(tab.inbox.locator("[role=status].unseen")).to_have_text("1 new notification: Brand new")


async def test_who_has_scrolled_gets_a_pill_instead(tabs: Tabs, server: InboxServer) -> None:
    tab = await _a_long_list(tabs, server)
    await tab.list.evaluate("list => list.scrollTop = 200")
    top = await tab.row("Item 9").bounding_box()

    server.put("One")
    server.put("Two")

    await expect(tab.pill).to_have_text("2 new")
    assert await tab.row("Item 9").bounding_box() == top
    await tab.pill.click()
    await expect(tab.titles.first).to_have_text("Two")
    await expect(tab.titles).to_have_count(17)
    await expect(tab.row("Two").locator(".main")).to_be_focused()
    assert await tab.list.evaluate("list => list.scrollTop") == 0


async def test_nothing_moves_under_the_pointer(tabs: Tabs, server: InboxServer) -> None:
    tab = await _a_long_list(tabs, server)
    await tab.row("Item 13").hover()
    place = await tab.row("Item 13").bounding_box()

    server.put("Brand new")
    server.change("archived", lambda item: item.title == "Item 14", item_ids=(server.items[1].item_id,))

    await expect(tab.pill).to_have_text("1 new")
    await expect(tab.row("Item 14")).to_have_class("unread gone")
    assert await tab.row("Item 13").bounding_box() == place
    await tab.page.mouse.move(1, 1)
    await expect(tab.row("Item 14")).to_have_count(0)


async def test_an_item_that_grows_comes_to_the_top_under_its_id(tabs: Tabs, server: InboxServer) -> None:
    tab = await _a_long_list(tabs, server)

    server.put("Ann liked it", count=2, actors=("Ann", "Ben"), item_id=server.items[5].item_id)

    await expect(tab.titles.first).to_have_text("Ann and Ben liked it")
    await expect(tab.titles).to_have_count(15)


async def test_what_is_done_elsewhere_shows_here(tabs: Tabs, server: InboxServer) -> None:
    tab = await _a_long_list(tabs, server)

    server.change("read", lambda item: item.sequence <= 10, all=True, up_to=10)
    await expect(tab.button("Unread 5")).to_be_visible()
    await expect(tab.inbox.locator("li.unread")).to_have_count(5)

    server.change("archived", lambda item: item.title == "Item 14", item_ids=(server.items[0].item_id,))
    await expect(tab.titles).to_have_count(14)
    await expect(tab.button("Unread 4")).to_be_visible()


async def test_focus_stays_on_its_item_when_others_come(tabs: Tabs, server: InboxServer) -> None:
    tab = await _a_long_list(tabs, server)
    await tab.row("Item 14").locator(".main").focus()

    server.put("Brand new")

    await expect(tab.titles.first).to_have_text("Brand new")
    await expect(tab.row("Item 14").locator(".main")).to_be_focused()
