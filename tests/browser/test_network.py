"""The network goes and comes back, tokens end, gateways stop: what the client does, and what it says."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.inbox_server import InboxServer, a_token
from tests.browser.tabs import Tab, Tabs

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the browser lives in one loop


async def _live(tabs: Tabs, server: InboxServer, **wishes: Any) -> Tab:
    if not server.items:
        server.put("old", seen=True)
    tab = await tabs.tab("page", **wishes)
    await tab.live()
    await tab.shows("old")
    return tab


async def test_after_a_cut_it_says_since_when_and_goes_on_where_it_stood(tabs: Tabs, server: InboxServer) -> None:
    """INB-07."""
    tab = await _live(tabs, server)

    server.away = True
    server.cut()
    await expect(tab.state).to_have_text("Offline, showing what was here at 14:02")
    await tab.shows("old")
    server.put("came meanwhile", seen=True)
    server.away = False

    await tab.live()
    await tab.shows("came meanwhile", "old")
    await expect(tab.button("Unread 2")).to_be_visible()
    assert server.opened[-1] == ("websocket", "1")


async def test_who_asks_is_reconnected_at_once(tabs: Tabs, server: InboxServer) -> None:
    tab = await _live(tabs, server, options={"backoff": {"base": 120_000, "cap": 120_000}})
    server.away = True
    server.cut()
    await expect(tab.button("Try again")).to_be_visible()
    server.away = False

    await tab.button("Try again").click()

    await tab.live()
    await expect(tab.button("Try again")).to_be_hidden()


async def test_the_browser_says_itself_when_the_network_goes_and_comes(tabs: Tabs, server: InboxServer) -> None:
    tab = await _live(tabs, server, options={"backoff": {"base": 120_000, "cap": 120_000}})

    await tab.page.context.set_offline(True)
    await expect(tab.inbox).to_have_attribute("state", "offline")
    await tab.page.context.set_offline(False)

    await tab.live()


async def test_a_reset_lists_again(tabs: Tabs, server: InboxServer) -> None:
    tab = await _live(tabs, server)
    server.away = True
    server.cut()
    await expect(tab.inbox).to_have_attribute("state", "offline")
    server.put("came meanwhile", seen=True)
    server.forget()
    server.away = False

    await tab.shows("came meanwhile", "old")
    await tab.live()


async def test_a_gap_lists_again_and_a_repeat_changes_nothing(tabs: Tabs, server: InboxServer) -> None:
    tab = await _live(tabs, server)
    listener = dict(server.sessions)

    server.sessions.clear()
    server.put("nobody was told", seen=True)
    server.sessions.update(listener)
    server.put("told", seen=True)
    await tab.shows("told", "nobody was told", "old")

    server.tell(server.tail[-1])
    server.put("last", seen=True)
    await tab.shows("last", "told", "nobody was told", "old")
    await expect(tab.button("Unread 4")).to_be_visible()


async def test_bye_is_a_pause_and_no_outage(tabs: Tabs, server: InboxServer) -> None:
    tab = await _live(tabs, server)
    await tab.page.evaluate("""() => {
      window.states = [];
      const inbox = document.querySelector('notify-inbox');
      new MutationObserver(() => window.states.push(inbox.getAttribute('state'))).observe(inbox, { attributes: true });
    }""")

    server.bye(300)
    await expect(tab.state).to_have_text("Catching up")
    await tab.live()

    assert "offline" not in await tab.page.evaluate("window.states")
    assert server.opened == [("websocket", None), ("websocket", "1")]


async def test_without_websockets_it_listens_by_events(tabs: Tabs, server: InboxServer) -> None:
    server.without = {"websocket"}
    tab = await _live(tabs, server)

    server.put("new", seen=True)

    await tab.shows("new", "old")
    assert server.opened == [("sse", None)]
    server.cut()
    await expect(tab.inbox).to_have_attribute("state", "offline")
    await tab.live()
    assert server.opened[-1] == ("sse", "2")


async def test_without_any_stream_it_asks_now_and_then(tabs: Tabs, server: InboxServer) -> None:
    server.without = {"websocket", "sse"}
    tab = await _live(tabs, server, options={"every": 500})
    await expect(tab.state).to_contain_text("Looking every")

    server.put("new", seen=True)

    await tab.shows("new", "old")
    await expect(tab.button("Unread 2")).to_be_visible()


async def test_a_token_that_ends_is_replaced_without_a_word(tabs: Tabs, server: InboxServer) -> None:
    tab = await _live(tabs, server, tokens=3)

    server.refused.add(a_token(1))
    server.cut()
    await tab.live()
    server.put("new", seen=True)

    await tab.shows("new", "old")
    assert await tab.page.evaluate("window.signins") == 0


async def test_who_has_no_token_any_more_is_signed_out(tabs: Tabs, server: InboxServer) -> None:
    tab = await _live(tabs, server)

    server.refused.add(a_token(1))
    await tab.row("old").locator(".main").focus()
    await tab.page.keyboard.press("r")

    await expect(tab.state).to_have_text("Signed out")
    await expect(tab.titles).to_have_count(0)
    await expect(tab.inbox.locator(".note")).to_contain_text("Sign in again")
    await tab.button("Sign in").click()
    assert await tab.page.evaluate("window.signins") == 1


async def test_a_list_that_cannot_be_loaded_says_so_and_comes_by_itself(tabs: Tabs, server: InboxServer) -> None:
    server.put("old", seen=True)
    server.away = True
    tab = await tabs.tab("page")

    await expect(tab.inbox.locator(".note")).to_contain_text("The list could not be loaded")
    await expect(tab.state).to_have_text("Offline, nothing was loaded yet")
    server.away = False

    await tab.live()
    await tab.shows("old")
    await expect(tab.inbox.locator(".note")).to_be_hidden()


async def test_when_nobody_gives_tokens_for_a_while_it_goes_on_asking(tabs: Tabs, server: InboxServer) -> None:
    tab = await _live(tabs, server, failing=3)

    server.put("new", seen=True)

    await tab.shows("new", "old")


async def test_without_the_word_websocket_in_the_browser_it_listens_by_events(tabs: Tabs, server: InboxServer) -> None:
    context = await tabs.context()
    await context.add_init_script("window.WebSocket = class { constructor() { throw new Error('forbidden'); } }")

    await _live(tabs, server)

    assert server.opened == [("sse", None)]
