"""Every state as people see it: readable for everybody (WCAG 2.2 AA by axe-core), and a picture of it to look at."""

import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, expect

from tests.browser.inbox_server import InboxServer
from tests.browser.tabs import Tab, Tabs

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the browser lives in one loop
PICTURES = Path(os.environ.get("NOTIFY_ARTEFACTS", ".local/artefacts")) / "inbox"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture(autouse=True)
def _measured(tabs: Tabs) -> None:
    """Pictures and axe put styles into the page, which its policy forbids; other tests are under it."""
    tabs.looks = {"bypass_csp": True}


LIGHT_AND_DARK = pytest.mark.parametrize("scheme", ["light", "dark"])


def _told(server: InboxServer) -> None:
    server.put("Lea Costa commented on your post", ago=timedelta(days=20), body="“The third option, clearly.”",
               actors=("Lea Costa",), state="read", seen=True)  # fmt: skip
    server.put("New sign-in from Firefox on Linux", ago=timedelta(days=1),
               body="Porto, Portugal. Not you? Secure your account", link="https://example.com/x")  # fmt: skip
    server.put("Jonas Dahl mentioned you", ago=timedelta(hours=1), actors=("Jonas Dahl",), link="/posts/1",
               body="“@maria could you look at the second chart before noon?”")  # fmt: skip
    server.put("Order 123 is confirmed", ago=timedelta(minutes=40), body="19.90 €, arrives Thursday")
    server.put("Ann Moreau liked your photo", body="Lisbon, March", count=6, actors=("Ann Moreau",), others=5)


async def _is_good(tab: Tab, name: str) -> None:
    """No violation of the rules, nothing wider than the window; a picture is kept."""
    await tab.page.evaluate(
        "Promise.all(document.querySelector('notify-inbox').shadowRoot.getAnimations().map(a => a.finished))"
    )
    PICTURES.mkdir(parents=True, exist_ok=True)
    await tab.page.screenshot(path=PICTURES / f"{name}.png")
    found = await Axe().run(tab.page, options=RULES)
    told = [
        (one["id"], node["target"], node["failureSummary"])
        for one in found.response["violations"]
        for node in one["nodes"]
    ]
    assert told == []
    assert await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@LIGHT_AND_DARK
async def test_the_popover(tabs: Tabs, server: InboxServer, scheme: str) -> None:
    _told(server)
    tabs.looks |= {"color_scheme": scheme}
    tab = await tabs.tab()
    await tab.open()
    await expect(tab.titles.first).to_be_visible()

    await _is_good(tab, f"popover-{scheme}")


@LIGHT_AND_DARK
async def test_the_preferences(tabs: Tabs, server: InboxServer, scheme: str) -> None:
    tabs.looks |= {"color_scheme": scheme, "viewport": {"width": 900, "height": 960}}
    tab = await tabs.tab()
    await tab.open()
    await tab.button("Settings").click()
    await tab.inbox.get_by_role("switch", name="Marketing: Mail").click()
    await expect(tab.inbox.get_by_text("In force since")).to_be_visible()

    await _is_good(tab, f"preferences-{scheme}")


@LIGHT_AND_DARK
async def test_a_line_that_one_points_at_and_an_undo(tabs: Tabs, server: InboxServer, scheme: str) -> None:
    _told(server)
    tabs.looks |= {"color_scheme": scheme}
    tab = await tabs.tab("page")
    await tab.row("Order 123").locator(".main").focus()
    await tab.page.keyboard.press("e")
    await tab.row("Jonas").hover()

    await _is_good(tab, f"undo-{scheme}")


@LIGHT_AND_DARK
async def test_a_pill(tabs: Tabs, server: InboxServer, scheme: str) -> None:
    _told(server)
    tabs.looks |= {"color_scheme": scheme}
    tab = await tabs.tab("page")
    await tab.live()
    await tab.row("Jonas").hover()
    server.put("Order 124 is confirmed")
    await expect(tab.pill).to_be_visible()

    await _is_good(tab, f"pill-{scheme}")


async def _offline(tab: Tab, server: InboxServer) -> Locator:
    server.away = True
    server.cut()
    return tab.inbox.get_by_text("Offline, showing what was here at")


async def _empty(tab: Tab, server: InboxServer) -> Locator:
    await tab.button("Archived").click()
    return tab.inbox.get_by_text("Nothing archived")


async def _waiting(tab: Tab, server: InboxServer) -> Locator:
    server.lists_may_answer.clear()
    await tab.button("Archived").click()
    return tab.inbox.locator(".bones")


async def _failed(tab: Tab, server: InboxServer) -> Locator:
    server.away = True
    await tab.button("Archived").click()
    return tab.inbox.get_by_text("The list could not be loaded")


async def _signed_out(tab: Tab, server: InboxServer) -> Locator:
    await tab.page.evaluate("document.querySelector('notify-inbox').token = null")
    return tab.inbox.get_by_text("Sign in again")


async def _catching_up(tab: Tab, server: InboxServer) -> Locator:
    server.bye(4_000)
    return tab.inbox.get_by_text("Catching up")


@pytest.mark.parametrize("state", [_offline, _empty, _waiting, _failed, _signed_out, _catching_up])
async def test_states(tabs: Tabs, server: InboxServer, state: Callable[[Tab, InboxServer], Awaitable[Locator]]) -> None:
    _told(server)
    tab = await tabs.tab("page")
    await tab.live()
    await expect(tab.titles.first).to_be_visible()

    await expect(await state(tab, server)).to_be_visible()

    await _is_good(tab, f"state{state.__name__}")


async def test_right_to_left(tabs: Tabs, server: InboxServer) -> None:
    server.put("اكتمل الطلب ١٢٣", body="يصل يوم الخميس", ago=timedelta(minutes=40), actors=("ليلى حداد",))
    _told(server)
    tab = await tabs.tab(dir="rtl", lang="ar")
    await tab.open()
    await expect(tab.titles.first).to_be_visible()

    panel, face = tab.inbox.locator(".panel"), tab.inbox.locator("li .face").first
    box, mark = await panel.bounding_box(), await face.bounding_box()
    assert box is not None
    assert mark is not None
    assert mark["x"] > box["x"] + box["width"] / 2
    await _is_good(tab, "right-to-left")


@pytest.mark.parametrize("mode", [None, "page"])
async def test_320_pixels(tabs: Tabs, server: InboxServer, mode: Any) -> None:
    _told(server)
    server.put("Donaudampfschifffahrtsgesellschaftskapitänskajütenschlüssel verlegt", body="w" * 120)
    tabs.looks |= {"viewport": {"width": 320, "height": 600}, "has_touch": True, "is_mobile": True}
    tab = await tabs.tab(mode, lang="de")
    if mode is None:
        await tab.inbox.locator(".bell").tap()
    await expect(tab.titles.first).to_be_visible()

    await _is_good(tab, f"320-{mode or 'popover'}")
    await tab.button("Optionen").click()
    await expect(tab.inbox.get_by_role("switch").first).to_be_visible()
    await _is_good(tab, f"320-preferences-{mode or 'popover'}")


async def test_who_wants_no_motion_sees_none(tabs: Tabs, server: InboxServer) -> None:
    _told(server)
    tabs.looks |= {"reduced_motion": "reduce"}
    tab = await tabs.tab("page")
    await expect(tab.titles.first).to_be_visible()

    assert await tab.inbox.evaluate("inbox => inbox.shadowRoot.getAnimations().length") == 0
    assert await tab.rows.first.evaluate("row => getComputedStyle(row).animationName") == "none"


@LIGHT_AND_DARK
async def test_who_needs_contrast_gets_it(tabs: Tabs, server: InboxServer, scheme: str) -> None:
    _told(server)
    tabs.looks |= {"contrast": "more", "color_scheme": scheme}
    tab = await tabs.tab("page")
    await expect(tab.titles.first).to_be_visible()

    muted = await tab.inbox.locator("time").first.evaluate("time => getComputedStyle(time).color")
    text = await tab.titles.first.evaluate("title => getComputedStyle(title).color")
    assert muted == text
    await _is_good(tab, f"contrast-{scheme}")


async def test_a_page_may_colour_and_shape_it(tabs: Tabs, server: InboxServer) -> None:
    _told(server)
    tab = await tabs.tab("page")
    await tab.page.evaluate("""() => {
      const style = new CSSStyleSheet();
      style.replaceSync('notify-inbox { --notify-accent: rgb(0, 90, 60) }');
      style.insertRule('notify-inbox::part(item-title) { font-size: 17px }');
      document.adoptedStyleSheets = [style];
    }""")

    await expect(tab.titles.first).to_have_css("font-size", "17px")
    await expect(tab.button("Settings")).to_have_css("color", "rgb(0, 90, 60)")


@LIGHT_AND_DARK
async def test_the_page_of_the_gateway(tabs: Tabs, server: InboxServer, scheme: str) -> None:
    page = await (await tabs.context(color_scheme=scheme)).new_page()
    await page.goto(f"{server.url}/inbox")
    await expect(page.get_by_label("User token")).to_be_visible()

    await _is_good(Tab(page), f"enter-{scheme}")
