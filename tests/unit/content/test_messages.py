"""What is read on each channel: push, texts, webhooks, and the mail beside them."""

import json
from pathlib import Path
from typing import Any

import pytest

from notify_streams.content.texts import MOST_SEGMENTS, short_enough
from notify_streams.domain import segments
from notify_streams.domain.rendered import (
    RenderedEmail,
    RenderedPush,
    RenderedSms,
    RenderedWebhook,
    TemplateFailed,
)
from schemas.words import Channel
from tests.rendering import Folder, a_delivery

CATALOGUE = """
channels = ["inapp", "email", "push", "sms", "webhook"]
[categories.orders]
[types."order.confirmed"]
category = "orders"
channels = ["inapp", "email", "push", "sms", "webhook"]
"""
NAME = "O'Brien & Söhne <3"


def a_folder(root: Path, text: str = "Hello {{ name }}", *, locale: str = "en") -> Folder:
    """One text on every channel."""
    folder = Folder(root, CATALOGUE)
    folder.mail(subject=text, text=text, html=f"<p>{text}</p>", locale=locale)
    folder.inbox(title=text, locale=locale)
    folder.put(f"order.confirmed/{locale}/push.json", json.dumps({"title": text, "body": text, "link": "{{ url }}"}))
    folder.put(f"order.confirmed/{locale}/sms.txt", text + "\n")
    return folder.put(f"order.confirmed/{locale}/webhook.json", json.dumps({"title": text, "plain": "1"}))


def read(folder: Folder, channel: Channel, **how: Any) -> Any:
    return folder.renderer().message(a_delivery(channel, **how))[0]


def test_each_channel_is_read_from_its_own_files(tmp_path: Path) -> None:
    folder, payload = a_folder(tmp_path), {"name": "Ann", "url": "https://shop.example/1"}
    assert isinstance(read(folder, "email", payload=payload), RenderedEmail)
    assert read(folder, "push", payload=payload) == RenderedPush("Hello Ann", "Hello Ann", "https://shop.example/1")
    assert read(folder, "sms", payload=payload) == RenderedSms("Hello Ann")
    assert read(folder, "webhook", payload=payload) == RenderedWebhook({"title": "Hello Ann", "plain": "1"})


def test_escaping_depends_on_the_channel(tmp_path: Path) -> None:
    """TPL-04: escaped once in the HTML part, literal everywhere else."""
    folder, payload = a_folder(tmp_path), {"name": NAME, "url": ""}
    mail = read(folder, "email", payload=payload)
    assert mail.html == "<p>Hello O&#39;Brien &amp; Söhne &lt;3</p>"
    literal = [mail.subject, mail.text, read(folder, "sms", payload=payload).text]
    push = read(folder, "push", payload=payload)
    literal += [push.title, push.body, read(folder, "webhook", payload=payload).data["title"]]
    literal.append(folder.renderer().inbox(a_delivery("inapp", payload=payload)).title)
    assert set(literal) == {f"Hello {NAME}"}


@pytest.mark.parametrize("channel", ["email", "push", "sms", "webhook"])
def test_a_missing_variable_fails_the_delivery_on_every_channel(tmp_path: Path, channel: Channel) -> None:
    """TPL-03: nothing is sent with "None" or braces in it."""
    with pytest.raises(TemplateFailed, match="name"):
        read(a_folder(tmp_path), channel, payload={"url": ""})


@pytest.mark.parametrize("target", ["javascript:1", "data:text/html,x", "https://x.example/ onclick=1", "/relative"])
def test_a_tap_leads_to_the_web_or_nowhere(tmp_path: Path, target: str) -> None:
    """SEC-06."""
    assert read(a_folder(tmp_path), "push", payload={"name": "Ann", "url": target}).link is None


@pytest.mark.parametrize("text", ["{{ name.__class__ }}", "{{ ''|attr('x') }}", "{% for i in range(10) %}{% endfor %}"])
@pytest.mark.parametrize("file", ["push.json#title", "sms.txt", "webhook.json#title"])
def test_templates_of_all_channels_run_in_the_same_sandbox(tmp_path: Path, file: str, text: str) -> None:
    """SEC-05."""
    folder, (name, _, member) = a_folder(tmp_path), file.partition("#")
    folder.put(f"order.confirmed/en/{name}", json.dumps({"title": "x", member: text}) if member else text)
    channel: Channel = {"push.json": "push", "sms.txt": "sms", "webhook.json": "webhook"}[name]  # type: ignore[assignment]
    with pytest.raises((TemplateFailed, ValueError)):
        read(folder, channel, payload={"name": "Ann", "url": ""})


def test_a_text_has_no_control_characters_and_keeps_its_lines(tmp_path: Path) -> None:
    """TPL-01, for texts."""
    folder = a_folder(tmp_path, "Hello {{ name }}\nBye")
    assert read(folder, "sms", payload={"name": "A\x00nn\r\nX\x1b"}).text == "Hello A nn\nX\nBye"


@pytest.mark.parametrize("char", ["a", "ж", "👨‍👩‍👧‍👦", "€"])
def test_a_text_that_would_cost_too_much_is_cut_between_characters(char: str) -> None:
    """TPL-11, TPL-15: within the limit whatever the alphabet, an ellipsis counted."""
    cut = short_enough(char * 3000)
    assert segments.count(cut).segments == MOST_SEGMENTS
    body = cut.removesuffix("...").removesuffix("…")
    assert body
    assert body == char * (len(body) // len(char))
    assert short_enough(char * 10) == char * 10


def test_200_messages_are_each_in_their_own_language(tmp_path: Path) -> None:
    """TPL-06: whoever caused them, and whatever was rendered before."""
    folder = a_folder(tmp_path)
    words = {"de": "Hallo", "it": "Ciao", "ja": "こんにちは"}
    for locale, word in words.items():
        folder.put(f"order.confirmed/{locale}/sms.txt", word + " {{ n|number }}")
    renderer = folder.renderer()
    for n in range(200):
        asked, word = list(zip(("de", "it-IT", "ja"), words.values(), strict=True))[n % 3]
        rendered, _ = renderer.message(a_delivery("sms", locale=asked, payload={"n": 1234.5}))
        figure = "1,234.5" if asked == "ja" else "1.234,5"
        assert rendered == RenderedSms(f"{word} {figure}")


@pytest.mark.parametrize(
    ("asked", "got"), [("pt-BR", "pt"), ("pt_br", "pt"), ("it-IT", "en"), ("zz", "en"), (None, "en")]
)
def test_the_chain_of_locales_holds_for_texts(tmp_path: Path, asked: str | None, got: str) -> None:
    """TPL-07."""
    folder = a_folder(tmp_path, "{{ locale }}").put("order.confirmed/pt/sms.txt", "{{ locale }}")
    assert read(folder, "sms", locale=asked).text == got


def test_a_language_written_from_right_to_left_says_so_and_isolates_what_is_put_in(tmp_path: Path) -> None:
    """TPL-08: dir and lang at the root; the order's number cannot carry the question mark away."""
    folder = a_folder(tmp_path)
    html = '<html lang="{{ locale }}" dir="{{ direction }}"><p>האם הזמנה <bdi>{{ order }}</bdi> הגיעה?</p></html>'
    subject = "האם הזמנה {{ order|isolate }} הגיעה?"
    folder.mail(locale="he", subject=subject, text=subject, html=html)
    mail = read(folder, "email", locale="he", payload={"order": "A<1"})
    assert mail.html.startswith('<html lang="he" dir="rtl">')
    assert "<bdi>A&lt;1</bdi>" in mail.html
    assert mail.subject == "האם הזמנה \u2068A<1\u2069 הגיעה?"
    assert 'dir="ltr"' in read(a_folder_of_direction(tmp_path / "en"), "email", payload={}).html


def a_folder_of_direction(root: Path) -> Folder:
    root.mkdir()
    return a_folder(root, "x").mail(html='<html dir="{{ direction }}">')


def test_the_way_out_is_shown_where_there_is_one(tmp_path: Path) -> None:
    folder = a_folder(tmp_path).mail(text="{% if unsubscribe|default('')|link %}{{ unsubscribe|link }}{% endif %}")
    renderer, url = folder.renderer(), "https://notify.example/v1/unsubscribe/x"
    shown, _ = renderer.message(a_delivery(payload={"unsubscribe": "https://evil.example"}), unsubscribe=url)
    assert isinstance(shown, RenderedEmail)
    assert shown.text == url
    hidden, _ = renderer.message(a_delivery(payload={"unsubscribe": "https://evil.example"}))
    assert isinstance(hidden, RenderedEmail)
    assert hidden.text == ""
