"""What a recipient reads of several notifications: a digest's mail, and one that is aggregated."""

import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from notify_streams.content import sources
from notify_streams.content.catalogue import FileCatalogues
from notify_streams.content.templates import Templates
from notify_streams.domain.digest_lines import group
from notify_streams.domain.rendered import TemplateFailed
from notify_streams.settings import Settings
from schemas.content import Actor, Content, Group, Line
from schemas.deliveries import DeliveryV1
from schemas.words import Channel
from tests.builders import a_notification
from tests.rendering import Folder, a_delivery

CATALOGUE = """
channels = ["inapp", "email"]
[categories.social]
titles = { en = "Social", de = "Soziales" }
[types."social.like"]
category = "social"
channels = ["inapp", "email"]
digestible = true
aggregate = true
[types."social.comment"]
category = "social"
channels = ["inapp", "email"]
digestible = true
"""
TEXT = """{{ count }} {{ category }}
{% for line in lines %}
{{ line.title }}|{{ line.body }}|{{ line.link }}|{{ line.count }}|{{ line.actors|join('+') }}|{{ line.others }}|\
{{ line.type }}|{{ line.at|datetime('short') }}
{% endfor %}
{{ more }} more"""
HTML = '<ul>{% for line in lines %}<li title="{{ line.title }}">{{ line.title }}</li>{% endfor %}</ul>'
AT = 1_796_032_800_000  # 2026-11-30T10:00:00Z
ANN = Actor("user-7", "Ann")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path, CATALOGUE).mail(
        type="digest", subject="{{ count }}: {{ lines[0].title }}", text=TEXT, html=HTML
    )
    made.inbox(type="social.like", title="{{ actors|join(', ') }} +{{ others }} of {{ count }}")
    return made.inbox(type="social.comment", title="{{ actor.name }}", body="{{ text }}", link="{{ url|default('') }}")


def a_line(type: str = "social.comment", *, actor: Actor = ANN, **changes: Any) -> Line:
    payload = msgspec.json.encode(changes.pop("payload", {"text": "Nice"}))
    plain = Line(type=type, at=AT, payload=msgspec.Raw(payload), actor=actor, actors=(actor,))
    return msgspec.structs.replace(plain, **changes)


def a_digest(*lines: Line, more: int = 0, locale: str | None = "en", zone: str | None = None) -> DeliveryV1:
    plain = a_delivery(type="social.comment", locale=locale, zone=zone)
    said = Group(count=sum(line.count for line in lines) + more, lines=lines, more=more)
    return msgspec.structs.replace(plain, content=Content(group=said))


def of_group(said: Group, channel: Channel = "inapp", *, type: str = "social.like", **payload: Any) -> DeliveryV1:
    raw = msgspec.Raw(msgspec.json.encode(payload))
    return msgspec.structs.replace(a_delivery(channel, type=type), content=Content(payload=raw, actor=ANN, group=said))


def the_example() -> Templates:
    files = FileCatalogues.of(Settings())
    found = sources.read(files.templates)
    return Templates(found, files.load_with(found))


def test_each_line_is_its_types_inbox_entry_in_the_order_given(folder: Folder) -> None:
    """DIG-01."""
    lines = (
        a_line(payload={"text": "First", "url": "https://app.example/1"}),
        a_line("social.like", count=9, actors=(ANN, Actor("user-8", "Ben")), others=3),
        a_line(payload={"text": "Third"}, actor=Actor("user-9", "Cem"), at=AT + 60_000),
    )
    mail, locale = folder.renderer().email(a_digest(*lines, more=4, zone="Europe/Berlin"))
    assert (mail.subject, locale) == ("15: Ann", "en")
    assert mail.text.replace("\u202f", " ").splitlines() == [
        "15 Social",
        "Ann|First|https://app.example/1|1|Ann|0|social.comment|11/30/26, 11:00 AM",
        "Ann, Ben +3 of 9|||9|Ann+Ben|3|social.like|11/30/26, 11:00 AM",
        "Cem|Third||1|Cem|0|social.comment|11/30/26, 11:01 AM",
        "4 more",
    ]


def test_one_survivor_is_a_digest_of_one(folder: Folder) -> None:
    """DIG-05: the count says 1 and shows it."""
    mail, _ = folder.renderer().email(a_digest(a_line(payload={"text": "Still here"})))
    assert mail.text.splitlines()[0] == "1 Social"
    assert "Ann|Still here|" in mail.text
    assert mail.text.endswith("0 more")


def test_a_line_that_fails_is_left_out_and_counted_and_the_others_go_out(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    """DIG-10, of one mail: the reason is in the log, without a word of the content."""
    good, bad = a_line(), a_line(payload={"txt": "secret"}, count=2)
    with caplog.at_level(logging.WARNING):
        mail, _ = folder.renderer().email(a_digest(bad, good, a_line("gone.type"), more=1))
    assert mail.text.splitlines()[0] == "5 Social"
    assert mail.text.count("|") == 7
    assert mail.text.endswith("4 more")
    assert [record.getMessage().split(" ")[-1] for record in caplog.records] == [
        "type=social.comment",
        "type=gone.type",
    ]
    assert "secret" not in caplog.text


def test_a_digest_of_which_every_line_fails_fails_and_says_why(folder: Folder) -> None:
    """DIG-10: one user's failure has a reason; it is that delivery's alone."""
    renderer = folder.renderer()
    with pytest.raises(TemplateFailed, match=r"social\.comment/en/inapp\.json#body: text is missing"):
        renderer.email(a_digest(a_line(payload={}), a_line("gone.type")))
    assert renderer.email(a_digest(a_line()))[0].subject == "1: Ann"


@pytest.mark.parametrize("payload", [b"[]", b"7", b"{", b"null"])
def test_a_line_whose_payload_is_no_object_is_left_out(folder: Folder, payload: bytes) -> None:
    mail, _ = folder.renderer().email(
        a_digest(a_line(), msgspec.structs.replace(a_line(), payload=msgspec.Raw(payload)))
    )
    assert mail.text.endswith("1 more")


def test_a_loop_in_one_line_cannot_use_up_the_turns_of_the_others(folder: Folder) -> None:
    """SEC-05."""
    folder.inbox(type="social.comment", title="{% for x in many|default([]) %}{{ x }}{% endfor %}{{ actor.name }}")
    mail, _ = folder.renderer().email(a_digest(a_line(payload={"many": list(range(9000))}), a_line(), a_line()))
    assert mail.text.count("Ann|") == 4
    assert mail.text.endswith("1 more")


def test_a_digest_sees_no_payload_and_no_actor_of_its_own(folder: Folder) -> None:
    """What stands for the whole may be any of its notifications; its link is not the digest's."""
    folder.mail(type="digest", text="{{ url|default('none') }} {{ actor.name|default('nobody') }} {{ actors|length }}")
    delivery = a_digest(a_line())
    assert delivery.content is not None
    content = msgspec.structs.replace(delivery.content, payload=msgspec.Raw(b'{"url":"https://x.example"}'), actor=ANN)
    assert folder.renderer().email(msgspec.structs.replace(delivery, content=content))[0].text == "none nobody 0"


@pytest.mark.parametrize(
    ("asked", "got"),
    [("de-AT", ("de", "Soziales", "Hallo")), ("it-IT", ("en", "Social", "Ann")), (None, ("en", "Social", "Ann"))],
)
def test_a_digest_falls_back_as_a_whole(folder: Folder, asked: str | None, got: tuple[str, str, str]) -> None:
    """TPL-07: frame, lines and category in one language."""
    folder.mail(type="digest", locale="de", text="{{ locale }} {{ category }} {{ lines[0].title }}")
    folder.mail(type="digest", text="{{ locale }} {{ category }} {{ lines[0].title }}")
    folder.inbox(type="social.comment", locale="de", title="Hallo")
    folder.inbox(type="social.comment", locale="it", title="Ciao")
    mail, locale = folder.renderer().email(a_digest(a_line(), locale=asked))
    assert mail.text == " ".join(got)
    assert locale == got[0]


def test_a_line_without_the_readers_language_takes_the_whole_digest_to_the_fallback(folder: Folder) -> None:
    """TPL-07: never half and half."""
    folder.mail(type="digest", locale="de", text="{{ lines[0].title }}").inbox(
        type="social.comment", locale="de", title="Hallo"
    )
    renderer = folder.renderer()
    assert renderer.email(a_digest(a_line(), locale="de"))[1] == "de"
    assert renderer.email(a_digest(a_line(), a_line("social.like"), locale="de"))[1] == "en"
    assert renderer.email(a_digest(a_line(), a_line("gone.type"), locale="de"))[1] == "de"


def test_a_category_without_a_title_is_told_by_its_name(folder: Folder) -> None:
    folder.path.write_text(CATALOGUE.replace('titles = { en = "Social", de = "Soziales" }', ""))
    assert folder.renderer().email(a_digest(a_line()))[0].text.splitlines()[0] == "1 social"


@pytest.mark.parametrize(
    "name", ["Ann\r\nBcc: x@example.com", "Ann\nBcc: x@example.com", "Ann\u2028Bcc: x@example.com"]
)
def test_a_line_break_in_an_actors_name_stays_out_of_the_subject(folder: Folder, name: str) -> None:
    """TPL-01."""
    mail, _ = folder.renderer().email(a_digest(a_line(actor=Actor("user-7", name))))
    assert mail.subject == "1: Ann Bcc: x@example.com"
    assert mail.text.splitlines()[1].startswith("Ann Bcc: x@example.com|")


def test_an_actors_name_is_escaped_once_in_html_and_nowhere_else(folder: Folder) -> None:
    """TPL-04, SEC-06."""
    name = "\"><img src=x onerror=1> O'Brien & Söhne"
    mail, _ = folder.renderer().email(a_digest(a_line(actor=Actor("user-7", name))))
    escaped = "&#34;&gt;&lt;img src=x onerror=1&gt; O&#39;Brien &amp; Söhne"
    assert mail.html == f'<ul><li title="{escaped}">{escaped}</li></ul>'
    assert mail.subject == f"1: {name}"
    assert f"{name}|" in mail.text


@pytest.mark.parametrize("url", ["javascript:1", "//evil.example", "/x", 7])
def test_a_line_leads_only_to_http(folder: Folder, url: object) -> None:
    """SEC-06."""
    mail, _ = folder.renderer().email(a_digest(a_line(payload={"text": "Nice", "url": url})))
    assert "Ann|Nice||1|" in mail.text


def test_one_template_serves_one_notification_and_many(folder: Folder) -> None:
    renderer = folder.renderer()
    one = a_delivery("inapp", type="social.like", actor=ANN)
    assert renderer.inbox(one).title == "Ann +0 of 1"
    assert renderer.inbox(a_delivery("inapp", type="social.like")).title == "+0 of 1"
    many = Group(count=8, actors=(ANN, Actor("user-8", "Ben"), Actor("user-9")), others=3)
    assert renderer.inbox(of_group(many)).title == "Ann, Ben +4 of 8"


def test_an_aggregated_mail_is_its_own_types_with_the_newest_ones_payload(folder: Folder) -> None:
    folder.mail(type="social.like", text="{{ post }}: {{ count }} by {{ actors[0] }} and {{ others }}")
    many = Group(count=6, actors=(ANN,), others=5)
    assert folder.renderer().email(of_group(many, "email", post="Sunrise"))[0].text == "Sunrise: 6 by Ann and 5"


def test_a_payload_cannot_say_how_many_there_are(folder: Folder) -> None:
    """Its members of these names are not seen; those of a digest's other variables are the payload's own."""
    folder.inbox(
        type="social.like", title="{{ count }} {{ others }} {{ actors|length }} {{ lines }} {{ more }} {{ category }}"
    )
    payload = {"count": 99, "others": 99, "actors": ["Eve"], "lines": "a", "more": "b", "category": "c"}
    assert folder.renderer().inbox(a_delivery("inapp", type="social.like", payload=payload)).title == "1 0 0 a b c"


@pytest.mark.parametrize(
    ("locale", "one", "two", "six"),
    [
        ("en", "Ann likes “Bay”", "Ben and Ann like “Bay”", "Fay and 5 others like “Bay”"),
        ("de", "Ann gefällt „Bay“", "Ben und Ann gefällt „Bay“", "Fay und 5 weiteren Personen gefällt „Bay“"),
        (
            "fr-CA",
            "Ann aime «\xa0Bay\xa0»",
            "Ben et Ann aiment «\xa0Bay\xa0»",
            "Fay et 5 autres personnes aiment «\xa0Bay\xa0»",
        ),
    ],
)
def test_the_example_says_ann_and_five_others_in_every_language(locale: str, one: str, two: str, six: str) -> None:
    renderer = the_example()
    people = [Actor(f"user-{n}", name) for n, name in enumerate(("Ann", "Ben", "Cem", "Dan", "Eve", "Fay"))]
    likes = [
        a_notification(notification_id=f"n-{n}", type="social.like", accepted_at=AT + n, content=Content(actor=actor))
        for n, actor in enumerate(people)
    ]
    for count, expected in ((1, one), (2, two), (6, six)):
        said = group(likes[:count], shown=20, digest=False)
        delivery = msgspec.structs.replace(of_group(said, post="Bay"), locale=locale)
        assert renderer.inbox(delivery).title == expected


@pytest.mark.parametrize(
    ("locale", "subject", "last"),
    [
        ("en", "2 new notifications: Comments, likes and followers", "and 1 more"),
        ("de", "2 neue Benachrichtigungen: Kommentare, Likes und Follower", "und 1 weitere"),
        ("fr", "2 nouvelles notifications\u202f: Commentaires, mentions J\u2019aime et abonnés", "et 1 autre"),
    ],
)
def test_the_examples_digest_lists_and_counts_in_every_language(locale: str, subject: str, last: str) -> None:
    renderer = the_example()
    line = a_line("social.mention", payload={"text": "<b>Hi</b>", "url": "https://app.example/posts/9"})
    mail, got = renderer.email(a_digest(line, more=1, locale=locale))
    assert (mail.subject, got) == (subject, locale)
    assert last in mail.text
    assert last in mail.html
    assert 'href="https://app.example/posts/9"' in mail.html
    assert "&lt;b&gt;Hi&lt;/b&gt;" in mail.html
    assert "<b>Hi" not in mail.html
