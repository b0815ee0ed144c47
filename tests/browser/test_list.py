"""What a person sees who opens the inbox."""

from datetime import timedelta

import pytest
from playwright.async_api import expect

from tests.browser.inbox_server import InboxServer
from tests.browser.tabs import Tabs

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the browser lives in one loop


async def test_the_bell_counts_what_is_unread_and_says_so_to_everybody(tabs: Tabs, server: InboxServer) -> None:
    for number in range(4):
        server.put(f"Order {number} is confirmed", state="read" if number == 0 else "unread")
    tab = await tabs.tab()

    await expect(tab.badge).to_have_text("3")
    await expect(tab.bell).to_have_accessible_name("Notifications, 3 unread")
    await expect(tab.bell).to_have_attribute("aria-expanded", "false")


async def test_more_than_ninety_nine_are_99_plus(tabs: Tabs, server: InboxServer) -> None:
    for number in range(100):
        server.put(f"Order {number}")
    tab = await tabs.tab()

    await expect(tab.badge).to_have_text("99+")
    await expect(tab.bell).to_have_accessible_name("Notifications, 100 unread")


async def test_items_stand_under_today_this_week_and_earlier_with_their_times(tabs: Tabs, server: InboxServer) -> None:
    for ago in (timedelta(days=30), timedelta(days=6), timedelta(days=1), timedelta(hours=3), timedelta(seconds=20)):
        server.put(f"{ago} ago", ago=ago)
    tab = await tabs.tab("page")

    await expect(tab.inbox.locator("section section:not([hidden]) h3")).to_have_text(["Today", "This week", "Earlier"])
    await expect(tab.inbox.locator("time")).to_have_text(["now", "3 hrs", "Mon", "Wed", "1 Nov"])
    await expect(tab.inbox.locator("time").nth(1)).to_have_attribute(
        "title", "Tuesday, 1 December 2026 at 11:02:00 WET"
    )


async def test_what_many_did_is_one_line(tabs: Tabs, server: InboxServer) -> None:
    server.put("Ann liked your photo", count=7, actors=("Ann", "Ben"), others=5)
    server.put("Your photo was liked", count=2, actors=("Ann", "Ben"))
    server.put("Ann and 5 others liked it", count=6, actors=("Ann",), others=5)
    tab = await tabs.tab("page")

    await tab.shows("Ann and 5 others liked it", "Your photo was liked", "Ann, Ben and 5 others liked your photo")
    await expect(tab.row("Your photo was liked")).to_contain_text("Ann and Ben")


async def test_markup_in_an_item_is_text_and_changes_nothing(tabs: Tabs, server: InboxServer) -> None:
    """SEC-06."""
    evil = "<img src=x onerror=\"document.title='taken'\"></li></ul><h1>Reset</h1>"
    server.put(evil, body='<a href="https://evil.example">Reset</a>', actors=("<b>Ann</b>", evil), count=2)
    tab = await tabs.tab("page")

    await tab.shows(evil)
    await expect(tab.inbox.locator("img, h1, b:not([part]), li a")).to_have_count(0)
    assert await tab.page.title() == "Somebody's page"


async def test_only_addresses_of_the_web_become_links(tabs: Tabs, server: InboxServer) -> None:
    """SEC-06."""
    for link in ("javascript:alert(1)", " java\tscript:alert(1)", "data:text/html,hi", "file:///etc/passwd", "", None):
        server.put("no link", link=link)
    server.put("relative", link="/posts/1")
    server.put("absolute", link="https://shop.example/orders/1")
    tab = await tabs.tab("page")

    await expect(tab.rows).to_have_count(8)
    hrefs = await tab.inbox.locator("li a").evaluate_all("links => links.map(link => link.href)")
    assert hrefs == ["https://shop.example/orders/1", f"{server.url}/posts/1"]
    await expect(tab.row("no link").locator("button.main")).to_have_count(6)


async def test_opening_an_item_reads_it_and_follows_its_link(tabs: Tabs, server: InboxServer) -> None:
    item = server.put("Ann commented", link="/inbox?post=1")
    tab = await tabs.tab("page")

    await tab.row("Ann commented").get_by_role("link").click()

    await tab.page.wait_for_url("**/inbox?post=1")
    assert ("read", item.item_id) in server.commands


async def test_older_items_load_as_one_scrolls_and_the_end_is_said(tabs: Tabs, server: InboxServer) -> None:
    for number in range(45):
        server.put(f"Item {number}")
    tab = await tabs.tab("page")
    await expect(tab.rows).to_have_count(20)

    for expected in (40, 45):
        await tab.rows.last.scroll_into_view_if_needed()
        await expect(tab.rows).to_have_count(expected)

    await expect(tab.inbox.locator(".foot").first).to_contain_text("That is all")
    titles = await tab.titles.all_text_contents()
    assert titles == [f"Item {number}" for number in reversed(range(45))]


async def test_filters_show_unread_and_archived_items_or_say_that_there_are_none(
    tabs: Tabs, server: InboxServer
) -> None:
    server.put("old", state="archived")
    server.put("read", state="read")
    server.put("new")
    tab = await tabs.tab("page")
    await tab.shows("new", "read")

    await tab.button("Unread 1").click()
    await tab.shows("new")
    await expect(tab.button("Unread 1")).to_have_attribute("aria-pressed", "true")

    await tab.button("Archived").click()
    await tab.shows("old")
    await expect(tab.row("old").get_by_role("button", name="Archive")).to_be_hidden()


async def test_an_empty_inbox_says_what_will_be_here(tabs: Tabs) -> None:
    tab = await tabs.tab("page")

    await expect(tab.inbox.locator(".note")).to_contain_text("Nothing here yet")
    await tab.button("Unread").click()
    await expect(tab.inbox.locator(".note")).to_contain_text("You are up to date")


async def test_a_late_answer_is_waited_for_with_bones(tabs: Tabs, server: InboxServer) -> None:
    server.put("late")
    server.lists_may_answer.clear()
    tab = await tabs.tab("page")

    await expect(tab.list).to_have_attribute("aria-busy", "true")
    await expect(tab.inbox.locator(".bones")).to_be_visible()
    server.lists_may_answer.set()
    await tab.shows("late")
    await expect(tab.inbox.locator(".bones")).to_be_hidden()


async def test_an_answer_to_an_earlier_question_is_not_shown(tabs: Tabs, server: InboxServer) -> None:
    server.put("read", state="read")
    server.put("new")
    tab = await tabs.tab("page")
    await tab.shows("new", "read")

    server.lists_may_answer.clear()
    await tab.button("Unread 1").click()
    await tab.button("All").click()
    server.lists_may_answer.set()

    await tab.shows("new", "read")
    await tab.page.wait_for_timeout(300)
    await tab.shows("new", "read")


async def test_words_can_be_replaced_and_come_in_three_languages(tabs: Tabs, server: InboxServer) -> None:
    server.put("new")
    german = await tabs.tab("page", lang="de-AT")
    await expect(german.button("Ungelesen 1")).to_be_visible()
    await expect(german.inbox.locator("time")).to_have_text("2 Min.")

    french = await tabs.tab("page", lang="fr", strings={"archived": "Oubliées"})
    await expect(french.button("Tout marquer lu")).to_be_visible()
    await expect(french.button("Oubliées")).to_be_visible()


async def test_only_what_was_on_the_screen_is_seen(tabs: Tabs, server: InboxServer) -> None:
    server.put("one")
    server.put("two")
    tab = await tabs.tab()
    await tab.live()
    await tab.page.wait_for_timeout(300)
    assert server.commands == []

    await tab.open()

    await expect(tab.titles.first).to_be_visible()
    await tab.page.wait_for_timeout(200)
    assert server.commands == [("seen-all", 2)]
