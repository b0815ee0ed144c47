"""Tabs of a browser with the component in them, and what a person sees there."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.inbox_server import NOW, InboxServer, a_token

EXPECTED = re.compile(r"net::ERR_|WebSocket connection to|the server responded with a status of")


@dataclass(frozen=True)
class Tab:
    """One page. The component's parts, by what they are for a reader."""

    page: Page

    @property
    def inbox(self) -> Locator:
        return self.page.locator("notify-inbox")

    @property
    def bell(self) -> Locator:
        return self.inbox.get_by_role("button", name=re.compile("^Notifications"))

    @property
    def badge(self) -> Locator:
        return self.inbox.locator(".bell b")

    @property
    def rows(self) -> Locator:
        return self.inbox.get_by_role("listitem")

    @property
    def titles(self) -> Locator:
        return self.inbox.locator("li .title")

    @property
    def state(self) -> Locator:
        return self.inbox.locator(".foot .state").first

    @property
    def toast(self) -> Locator:
        return self.inbox.locator(".toast")

    @property
    def pill(self) -> Locator:
        return self.inbox.locator(".pill")

    @property
    def list(self) -> Locator:
        return self.inbox.locator(".scroll")

    def button(self, name: str) -> Locator:
        return self.inbox.get_by_role("button", name=name, exact=True)

    def row(self, title: str) -> Locator:
        return self.rows.filter(has_text=title)

    async def open(self) -> None:
        await self.bell.click()
        await self.page.mouse.move(1, 1)

    async def shows(self, *titles: str) -> None:
        await expect(self.titles).to_have_text(list(titles))

    async def live(self) -> None:
        await expect(self.inbox).to_have_attribute("state", "live")


@dataclass
class Tabs:
    """All tabs share one context, as the tabs of one person do."""

    browser: Browser
    server: InboxServer
    said: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)
    looks: dict[str, Any] = field(default_factory=dict)

    async def context(self, **looks: Any) -> BrowserContext:
        given = {"viewport": {"width": 900, "height": 640}, "locale": "en-GB", "timezone_id": "Europe/Lisbon"}
        context = await self.browser.new_context(**{**given, **self.looks, **looks})
        await context.clock.set_fixed_time(NOW)
        context.set_default_timeout(8_000)
        self.contexts.append(context)
        return context

    async def tab(
        self,
        mode: Literal["page"] | None = None,
        *,
        tokens: int = 1,
        failing: int = 0,
        path: str = "/host",
        context: BrowserContext | None = None,
        **wishes: Any,
    ) -> Tab:
        """With `tokens` tokens that the component gets one after the other, `failing` failures first; 0: signed out."""
        if context is None:
            context = self.contexts[-1] if self.contexts else await self.context()
        page = await context.new_page()
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("console", lambda said: self._hear(said.text))
        given = [""] * failing + [a_token(number) for number in range(1, tokens + 1)]
        wishes |= {"mode": mode, "tokens": given if tokens else None}
        await page.goto(f"{self.server.url}{path}#{quote(json.dumps(wishes))}")
        await page.wait_for_function("window.defined")
        return Tab(page)

    def _hear(self, text: str) -> None:
        """What a browser itself says of a cut network is expected."""
        if not EXPECTED.search(text):
            self.said.append(text)

    async def close(self) -> None:
        for context in self.contexts:
            await context.close()
