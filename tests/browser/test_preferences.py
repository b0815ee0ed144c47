"""The pane where people say what reaches them, and when."""

import pytest
from playwright.async_api import expect

from tests.browser.inbox_server import InboxServer
from tests.browser.tabs import Tab, Tabs

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the browser lives in one loop


async def _pane(tabs: Tabs) -> Tab:
    tab = await tabs.tab("page")
    await tab.button("Settings").click()
    await expect(tab.inbox.get_by_role("heading", name="What reaches you, and when")).to_be_focused()
    await expect(tab.inbox.get_by_role("switch").first).to_be_visible()
    return tab


async def test_a_switch_changes_one_cell_and_says_since_when_it_holds(tabs: Tabs, server: InboxServer) -> None:
    tab = await _pane(tabs)
    switch = tab.inbox.get_by_role("switch", name="Likes and follows: Push")
    await expect(switch).not_to_be_checked()

    await switch.click()

    await expect(tab.inbox.get_by_text("In force since 14:02:00")).to_be_visible()
    await expect(switch).to_be_checked()
    await expect(switch).to_be_focused()
    assert server.preferences.patches == [{"categories": {"social": {"push": True}}}]


async def test_mandatory_switches_are_locked_and_say_why(tabs: Tabs) -> None:
    tab = await _pane(tabs)
    locked = tab.inbox.get_by_role("switch", name="Security: Mail, always on: you need to know")

    await expect(locked).to_be_checked()
    await expect(locked).to_be_disabled()
    await expect(tab.inbox.get_by_text("always on: you need to know")).to_be_visible()


async def test_a_channel_that_is_off_takes_its_cells_with_it(tabs: Tabs, server: InboxServer) -> None:
    tab = await _pane(tabs)

    await tab.inbox.get_by_role("switch", name="Everything: Mail").click()

    cell = tab.inbox.get_by_role("switch", name="Likes and follows: Mail, off for everything")
    await expect(cell).to_be_disabled()
    await expect(cell).not_to_be_checked()
    assert server.preferences.patches == [{"channels": {"email": False}}]


async def test_quiet_hours_name_their_zone_and_can_be_moved_added_and_removed(tabs: Tabs, server: InboxServer) -> None:
    tab = await _pane(tabs)
    await expect(tab.inbox.get_by_text("Times are of Europe/Lisbon")).to_be_visible()

    await tab.inbox.get_by_label("Quiet hours, to").fill("07:30")
    await expect(tab.inbox.get_by_text("In force since")).to_be_visible()
    await tab.button("Remove").click()
    await expect(tab.button("Remove")).to_have_count(0)
    await tab.button("Add").click()
    await expect(tab.button("Remove")).to_have_count(1)

    night = {"start": "22:00", "end": "08:00", "channels": ["push", "sms"]}
    windows = [patch["quiet_hours"] for patch in server.preferences.patches]
    assert windows == [[{**night, "end": "07:30"}], [], [night]]


async def test_what_the_gateway_refuses_is_said_and_stays_as_it_was(tabs: Tabs, server: InboxServer) -> None:
    tab = await _pane(tabs)

    await tab.inbox.get_by_label("Quiet hours, to").fill("22:00")

    await expect(tab.inbox.get_by_text("start and end are equal")).to_be_visible()
    await expect(tab.inbox.get_by_label("Quiet hours, to")).to_have_value("08:00")
    assert server.preferences.patches == []


async def test_mails_can_be_collected(tabs: Tabs, server: InboxServer) -> None:
    tab = await _pane(tabs)
    await expect(tab.inbox.get_by_label("Daily mail at")).to_have_value("08:00")
    await expect(tab.inbox.get_by_label("Mail for Likes and follows")).to_have_value("daily")
    await expect(tab.inbox.get_by_label("Mail for Marketing")).to_have_count(0)

    await tab.inbox.get_by_label("Mail for Messages").select_option("Once an hour")

    await expect(tab.inbox.get_by_text("In force since")).to_be_visible()
    assert server.preferences.patches == [{"digest": {"email": {"messages": "hourly"}}}]


async def test_a_change_from_elsewhere_is_shown_and_not_overwritten(tabs: Tabs, server: InboxServer) -> None:
    tab = await _pane(tabs)
    server.preferences.now["channels"]["sms"] = True
    server.preferences.version += 1

    await tab.inbox.get_by_role("switch", name="Likes and follows: Push").click()

    await expect(tab.inbox.get_by_text("Changed elsewhere meanwhile")).to_be_visible()
    await expect(tab.inbox.get_by_role("switch", name="Everything: SMS")).to_be_checked()
    assert server.preferences.patches == []


async def test_what_takes_long_is_said_to_be_in_force_soon_and_then_since_when(tabs: Tabs, server: InboxServer) -> None:
    tab = await _pane(tabs)
    server.preferences.slow = True

    await tab.inbox.get_by_role("switch", name="Likes and follows: Push").click()

    await expect(tab.inbox.get_by_text("Saved, in force within moments")).to_be_visible()
    await expect(tab.inbox.get_by_text("In force since")).to_be_visible()


async def test_escape_leads_back_to_the_list(tabs: Tabs, server: InboxServer) -> None:
    server.put("first")
    tab = await _pane(tabs)

    await tab.page.keyboard.press("Escape")

    await tab.shows("first")
    await expect(tab.button("Settings")).to_be_focused()
