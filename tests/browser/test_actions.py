"""Reading, archiving, undoing: by pointer and by keys."""

import pytest
from playwright.async_api import expect

from tests.browser.inbox_server import InboxServer
from tests.browser.tabs import Tab, Tabs

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the browser lives in one loop
UNDO_MS = 3_000


async def _three(tabs: Tabs, server: InboxServer) -> Tab:
    for title in ("third", "second", "first"):
        server.put(title, seen=True)
    tab = await tabs.tab("page")
    await tab.live()
    await tab.shows("first", "second", "third")
    return tab


async def test_an_item_is_marked_read_and_unread_where_one_points(tabs: Tabs, server: InboxServer) -> None:
    tab = await _three(tabs, server)
    row = tab.row("second")

    await row.hover()
    await row.get_by_role("button", name="Mark read").click()
    await expect(tab.button("Unread 2")).to_be_visible()
    await row.get_by_role("button", name="Mark unread").click()
    await expect(tab.button("Unread 3")).to_be_visible()

    assert [name for name, _ in server.commands] == ["read", "unread"]


async def test_archiving_waits_three_seconds_for_second_thoughts(tabs: Tabs, server: InboxServer) -> None:
    tab = await _three(tabs, server)

    await tab.row("second").hover()
    await tab.row("second").get_by_role("button", name="Archive").click()
    await tab.shows("first", "third")
    await expect(tab.button("Unread 2")).to_be_visible()
    await tab.button("Undo").click()

    await tab.shows("first", "second", "third")
    await expect(tab.button("Unread 3")).to_be_visible()
    await tab.page.wait_for_timeout(UNDO_MS + 300)
    assert server.commands == []


async def test_archiving_is_done_after_three_seconds(tabs: Tabs, server: InboxServer) -> None:
    tab = await _three(tabs, server)

    await tab.row("second").locator(".main").focus()
    await tab.page.keyboard.press("e")
    await expect(tab.toast).to_contain_text("Archived")

    await expect(tab.toast).to_be_hidden(timeout=UNDO_MS + 2_000)
    await expect(tab.button("Unread 2")).to_be_visible()
    assert server.commands == [("archive", "00000000-0000-1000-8000-000000000002")]
    await tab.button("Archived").click()
    await tab.shows("second")


async def test_the_clock_of_undo_stands_while_one_points_at_it(tabs: Tabs, server: InboxServer) -> None:
    tab = await _three(tabs, server)
    await tab.row("first").locator(".main").focus()
    await tab.page.keyboard.press("e")

    await tab.button("Undo").hover()
    await tab.page.wait_for_timeout(UNDO_MS + 500)
    await expect(tab.toast).to_be_visible()
    assert server.commands == []


async def test_who_leaves_the_page_within_three_seconds_has_archived(tabs: Tabs, server: InboxServer) -> None:
    tab = await _three(tabs, server)
    await tab.row("first").locator(".main").focus()
    await tab.page.keyboard.press("e")
    await expect(tab.toast).to_be_visible()

    await tab.page.goto("about:blank")
    await tab.page.wait_for_timeout(300)

    assert [name for name, _ in server.commands] == ["archive"]


async def test_mark_all_read_reaches_to_what_was_on_the_screen(tabs: Tabs, server: InboxServer) -> None:
    """INB-02."""
    tab = await _three(tabs, server)

    await tab.button("Mark all read").click()
    await expect(tab.inbox.locator("li.unread")).to_have_count(0)
    await expect(tab.button("Unread")).to_be_visible()
    server.put("came meanwhile", seen=True)
    await expect(tab.button("Unread 1")).to_be_visible()
    await tab.page.mouse.move(1, 1)

    await expect(tab.toast).to_be_hidden(timeout=UNDO_MS + 2_000)
    assert server.commands[-1] == ("read-all", 3)
    assert [item.title for item in server.items if item.state == "unread"] == ["came meanwhile"]
    await expect(tab.button("Unread 1")).to_be_visible()


async def test_mark_all_read_can_be_undone(tabs: Tabs, server: InboxServer) -> None:
    tab = await _three(tabs, server)

    await tab.button("Mark all read").click()
    await tab.button("Undo").click()

    await expect(tab.inbox.locator("li.unread")).to_have_count(3)
    assert [name for name, _ in server.commands] == []


async def test_what_is_refused_is_taken_back_and_said(tabs: Tabs, server: InboxServer) -> None:
    tab = await _three(tabs, server)
    server.command_status = 422

    await tab.row("first").locator(".main").focus()
    await tab.page.keyboard.press("r")

    await expect(tab.toast).to_contain_text("Not saved: the inbox is being moved")
    await expect(tab.button("Undo")).to_be_hidden()
    await expect(tab.row("first")).to_have_class("unread")
    await expect(tab.button("Unread 3")).to_be_visible()


async def test_what_is_not_answered_in_time_is_done_all_the_same(tabs: Tabs, server: InboxServer) -> None:
    tab = await _three(tabs, server)
    server.command_status = 202

    await tab.row("first").locator(".main").focus()
    await tab.page.keyboard.press("r")
    server.change("read", lambda item: item.title == "first", item_ids=(server.items[0].item_id,))

    await expect(tab.button("Unread 2")).to_be_visible()
    await expect(tab.toast).to_be_hidden()


async def test_keys_open_move_mark_archive_undo_and_close(tabs: Tabs, server: InboxServer) -> None:
    for title in ("third", "second", "first"):
        server.put(title)
    tab = await tabs.tab()
    await tab.live()
    keys = tab.page.keyboard

    await tab.bell.focus()
    await keys.press("Enter")
    await expect(tab.titles.first).to_be_visible()
    for _ in range(6):  # mark all read, settings, three filters, the first item
        await keys.press("Tab")
    await expect(tab.row("first").locator(".main")).to_be_focused()
    await keys.press("j")
    await keys.press("ArrowDown")
    await expect(tab.row("third").locator(".main")).to_be_focused()
    await keys.press("k")
    await expect(tab.row("second").locator(".main")).to_be_focused()
    await keys.press("r")
    await expect(tab.badge).to_have_text("2")
    await keys.press("e")
    await tab.shows("first", "third")
    await expect(tab.row("third").locator(".main")).to_be_focused()
    await keys.press("z")
    await tab.shows("first", "second", "third")
    await expect(tab.row("second").locator(".main")).to_be_focused()
    await keys.press("Home")
    await keys.press("Enter")
    assert await tab.page.evaluate("window.opens") == ["first"]
    await keys.press("Escape")
    await expect(tab.titles.first).to_be_hidden()
    await expect(tab.bell).to_be_focused()
