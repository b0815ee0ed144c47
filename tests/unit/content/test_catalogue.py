"""What a catalogue may say, and what is read off the templates."""

from pathlib import Path

import pytest

from notify_streams.content import sources
from notify_streams.content.catalogue import FileCatalogues
from notify_streams.content.check import check
from notify_streams.settings import Settings, SettingsError
from tests.rendering import CATALOGUE, Folder


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ('chanels = ["email"]', r"unknown key types\.order\.confirmed\.chanels; did you mean .*channels\?"),
        ('ttl = "soon"', r"types\.order\.confirmed\.ttl: 'soon' is no duration"),
        ('priority = "urgent"', "urgent"),
        ('fallback = ["sms"]', r"fallback: only channels of the type"),
        ("[categories.other]\ntitels = {}", r"unknown key categories\.other\.titels; did you mean .*titles"),
        ('[types.x]\ncategory = "nowhere"\nchannels = ["email"]', r"there is no \[categories\.nowhere\]"),
        ('[types.x]\ncategory = "orders"\nchannels = []', "at least one"),
        ('[types.x]\ncategory = "orders"\nchannels = ["email"]\nmandatory = true', "mandatory or none"),
        ("= 1", "catalogue.toml"),
    ],
)
def test_a_mistake_is_named_with_file_and_entry(tmp_path: Path, change: str, complaint: str) -> None:
    folder = Folder(tmp_path, CATALOGUE + change)
    with pytest.raises(SettingsError, match=complaint) as raised:
        folder.load()
    assert str(folder.path) in str(raised.value)


def test_required_are_the_variables_used_without_condition_or_default(tmp_path: Path) -> None:
    """TPL-03."""
    text = """{{ a }} {{ b.c.d }} {{ e['f']|upper }} {{ g|default(h) }} {{ i or j }}
    {% if k %}{{ l }}{% else %}{{ m }}{% endif %} {{ n if o else p }} {% set q = r %}{{ q }}
    {% for s in t %}{{ s.u }}{{ v }}{{ loop.index }}{% endfor %} {{ w is defined }}
    {{ actor.name }} {{ object.id }} {{ user.id }} {{ notification.id }} {{ locale }}"""
    assert Folder(tmp_path).mail(text=text).load().types["order.confirmed"].required == ("a", "b", "e", "r", "t", "v")


def test_required_spans_all_languages_and_offered_channels_but_no_others(tmp_path: Path) -> None:
    folder = Folder(
        tmp_path, CATALOGUE.replace('channels = ["inapp", "email"]\n', 'channels = ["inapp", "email", "sms"]\n')
    )
    folder.path.write_text(folder.path.read_text().replace('["inapp", "email", "sms"]', '["inapp", "email"]', 1))
    folder.mail(subject="{{ a }}").mail(locale="de", text="{{ b }}").inbox(title="{{ c }}")
    folder.put("order.confirmed/en/sms.txt", "{{ d }}").put("order.confirmed/en/push.json", '{"title": "{{ e }}"}')
    assert folder.load().types["order.confirmed"].required == ("a", "b", "c")


def test_required_reaches_into_what_a_template_extends(tmp_path: Path) -> None:
    folder = Folder(tmp_path).mail(html='{% extends "_layout/x.html" %}{% block body %}{{ a }}{% endblock %}')
    folder.put("_layout/x.html", "{{ b }}{% block body %}{{ c }}{% endblock %}{% block foot %}{{ d }}{% endblock %}")
    assert folder.load().types["order.confirmed"].required == ("a", "b", "d")


def test_the_hash_changes_with_the_catalogue_and_with_any_template(tmp_path: Path) -> None:
    folder = Folder(tmp_path).mail()
    hashes = [folder.load().hash, folder.load().hash]
    folder.mail(text="Bye")
    hashes.append(folder.load().hash)
    folder.path.write_text(CATALOGUE + 'ttl = "5m"\n')
    hashes.append(folder.load().hash)
    assert hashes[0] == hashes[1]
    assert len({*hashes}) == 3
    assert all(len(h) == 16 for h in hashes)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("order.confirmed/en/emial.html", "x", "templates are TYPE/LOCALE/FILE"),
        ("order.confirmed/en/inapp.json", "{", "inapp.json: expected an object of texts"),
        ("order.confirmed/en/inapp.json", '{"title": 1}', "inapp.json: expected an object of texts"),
        ("order.confirmed/en/inapp.json", '{"title": "{{ x"}', "template order.confirmed/en/inapp.json#title"),
    ],
)
def test_a_template_file_that_cannot_be_used_is_named(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        Folder(tmp_path).put(name, text).load()


def test_every_template_of_the_example_renders_with_its_sample_in_every_language() -> None:
    files = FileCatalogues.of(Settings())
    found = sources.read(files.templates)
    results = list(check(files.load_with(found), found))
    assert {r.outcome for r in results} <= {"ok", "fallback"}
    assert {r.locale for r in results} == {"en", "de", "fr"}


def test_the_example_needs_no_more_of_a_payload_than_its_documents_say() -> None:
    catalogue = FileCatalogues.of(Settings()).load()
    assert catalogue.types["order.confirmed"].required == ("order", "total")
    assert catalogue.types["auth.otp"].required == ("code",)
    assert catalogue.types["auth.otp"].ttl_ms == 300_000
    assert catalogue.types["social.like"].aggregate


def test_check_names_a_channel_without_templates_and_one_with_too_few(tmp_path: Path) -> None:
    folder = Folder(tmp_path).mail().put("order.confirmed/de/email.subject", "Hallo")
    found = sources.read(folder.root / "templates")
    reasons = {(r.channel, r.locale): r.reason for r in check(folder.load(), found) if r.outcome == "failed"}
    assert reasons["email", "de"] == "order.confirmed/de lacks email.html, email.txt"
    assert "no inapp templates" in reasons["inapp", "en"]
