"""Whatever the network does in whatever order: in the end every tab shows what the server has."""

import asyncio
import random

import pytest
from playwright.async_api import expect

from tests.browser.inbox_server import InboxServer
from tests.browser.tabs import Tabs

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the browser lives in one loop
STEPS = 60


def _step(server: InboxServer, chance: random.Random, number: int) -> None:
    match chance.choice(["put", "put", "put", "grow", "read", "archive", "cut", "forget", "away", "back", "silent"]):
        case "put":
            server.put(f"Item {number}", seen=True)
        case "grow" if server.items:
            server.put(f"Grown {number}", item_id=chance.choice(server.items).item_id, seen=True)
        case "read":
            up_to = chance.randint(0, server.sequence)
            server.change("read", lambda item: item.sequence <= up_to, all=True, up_to=up_to)
        case "archive" if server.items:
            gone = chance.choice(server.items).item_id
            server.change("archived", lambda item: item.item_id == gone, item_ids=(gone,))
        case "cut":
            server.cut()
        case "forget":
            server.forget()
        case "away":
            server.away = True
            server.cut()
        case "back":
            server.away = False
        case "silent":
            listening = dict(server.sessions)
            server.sessions.clear()
            server.put(f"Untold {number}", seen=True)
            server.sessions.update(listening)
        case _:
            server.put("First", seen=True)


BEGINS_WITH = """wanted => {
  const shown = document.querySelector('notify-inbox').shadowRoot.querySelectorAll('li .title');
  const titles = Array.from(shown, (one) => one.textContent).slice(0, wanted.length);
  return JSON.stringify(titles) === JSON.stringify(wanted);
}"""


@pytest.mark.parametrize("seed", range(3))
async def test_every_tab_ends_with_what_the_server_has(tabs: Tabs, server: InboxServer, seed: int) -> None:
    """INB-07, ORD-05: no item lacks, none is there twice, and the counts are a recount."""
    chance = random.Random(seed)
    server.put("First", seen=True)
    all_tabs = [await tabs.tab("page") for _ in range(2)]
    for tab in all_tabs:
        await tab.live()
    for number in range(STEPS):
        _step(server, chance, number)
        await asyncio.sleep(chance.random() / 10)
    server.away = False
    server.put("Last", seen=True)

    shown = [item.title for item in server.items if item.state != "archived"]
    for tab in all_tabs:
        await tab.live()
        await expect(tab.titles.first).to_have_text("Last")
        await tab.page.wait_for_function(BEGINS_WITH, arg=shown[:20])  # live, a list may be longer than its first page
        await expect(tab.button(f"Unread {server.unread}")).to_be_visible()
