"""What a catalogue may say, and what is read off the templates."""

from pathlib import Path

import pytest

from notify_streams.content import sources
from notify_streams.content.catalogue import FileCatalogues
from notify_streams.content.check import check
from notify_streams.settings import Settings, SettingsError
from schemas.catalogue import Budget, Windows
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
        ('ttl = "0s"', r"line 7: types\.order\.confirmed\.ttl: 0s is not between 1s and 366d"),
        ('ttl = "999ms"', r"line 7: types\.order\.confirmed\.ttl: 999ms is not between 1s and 366d"),
        ('ttl = "367d"', r"line 7: types\.order\.confirmed\.ttl: 367d is not between 1s and 366d"),
        ("= 1", r"catalogue\.toml, line 7: Invalid statement$"),
        ("templates = [", r"catalogue\.toml, line 7: Invalid value$"),
        ('ttl = "1h"\nttl = "2h"', r"catalogue\.toml, line 8: Cannot overwrite a value$"),
        ('ttl = "1h"\nttl = "2h"\npriority = "low"', r"catalogue\.toml, line 8: Cannot overwrite a value$"),
        ("[budget]\nday = 3\n[budget]\nhour = 1", r"catalogue\.toml, line 9: Cannot declare \('budget',\) twice$"),
        ('[types.x]\nchannels = ["fax"]\ncategory = "orders"', r"line 8: types\.x\.channels: Invalid enum value 'fax'"),
        ("[types.x]", r"line 7: types\.x: Object missing required field `category`"),
        (
            '[types.digest]\ncategory = "orders"\nchannels = ["email"]',
            r"line 7: types\.digest: .*name the type otherwise",
        ),
        ('[types.x]\ncategory = "orders"\nchannels = ["email"]\ntemplates = "digest"', "name the type otherwise"),
        ("mandatory = true\ndigestible = true", r"line 8: types\.order\.confirmed\.digestible: a mandatory type comes"),
        ("mandatory = true\naggregate = true", r"line 8: types\.order\.confirmed\.aggregate: a mandatory type comes"),
        ("verifies = true", r"line 7: types\.order\.confirmed\.verifies: such a type is mandatory, has no fallback"),
        (
            '[types.x]\ncategory = "x"\nchannels = ["email", "push"]\nmandatory = true\nverifies = true\n'
            "[categories.x]",
            r"line 11: types\.x\.verifies: .* goes by email, sms or webhook alone",
        ),
        (
            '[types.x]\ncategory = "x"\nchannels = ["email", "sms"]\nmandatory = true\nverifies = true\n'
            'fallback = ["sms", "email"]\n[categories.x]',
            r"line 11: types\.x\.verifies: ",
        ),
        ("sample = { count = 3 }", r"line 7: types\.order\.confirmed\.sample: a template never sees a payload's count"),
        ("digestible = true", r"line 7: .*digestible: its line in a digest would be order\.confirmed/en/inapp\.json"),
        ("[budget]\nhours = 3", r"line 8: unknown key budget\.hours; did you mean budget\.hour\?"),
        ("[budget]\nhour = 0", r"line 8: budget\.hour: 0 is not positive"),
        ("[budget]\nday = -1", r"line 8: budget\.day: -1 is not positive"),
        ("[budget]\nday = 1001", r"line 8: budget\.day: 1001 is more than 1000"),
        ('[budget]\nday = "60"', r"line 8: budget\.day: Expected `int \| null`, got `str`"),
        ("[budget]\nhour = 61\nday = 60", r"line 8: budget\.hour: 61 in an hour is more than the 60 of a day"),
        ("budget.hour = 0", r"line 7: unknown key types\.order\.confirmed\.budget"),
        ("[windows]\nmaxwait = 3", r"line 8: unknown key windows\.maxwait; did you mean windows\.max_wait\?"),
        ('[windows]\ndigest_at = "25:00"', r"line 8: windows\.digest_at: '25:00' is no time of day"),
        ('[windows]\ndigest_at = "24:00"', r"windows\.digest_at: '24:00' is no time of day, from 00:00 to 23:59"),
        ('[windows]\ndigest_at = "8:00"', r"windows\.digest_at: '8:00' is no time of day"),
        ('[windows]\nwait = "soon"', r"line 8: windows\.wait: 'soon' is no duration"),
        ('[windows]\nwait = "0s"', r"windows\.wait: 0s is not between 1ms and 7d"),
        ('[windows]\nmax_wait = "8d"', r"windows\.max_wait: 8d is not between 1ms and 7d"),
        ('[windows]\nwait = "61m"', r"windows\.wait: 61m is longer than max_wait, 1h"),
        ("[windows]\nmax_size = 1001", r"windows\.max_size: 1001 is not between 1 and 1000"),
        ("[windows]\nmax_size = 10", r"windows\.shown: 20 is not between 1 and windows\.max_size, 10"),
        ("[windows]\nshown = 0", r"line 8: windows\.shown: 0 is not between 1"),
        ('[defaults]\nzone = "Berlin"', r"line 8: defaults\.zone: 'Berlin': a zone of the IANA database"),
        ('[defaults.tenants.shop]\nzone = "mars/Base"', r"line 8: defaults\.tenants\.shop\.zone: 'mars/Base'"),
        ('[defaults.tenants.shop]\nzon = "UTC"', r"unknown key defaults\.tenants\.shop\.zon; did you mean"),
        ("[default]", r"line 7: unknown key default; did you mean defaults\?"),
    ],
)
def test_a_mistake_is_named_with_file_and_entry(tmp_path: Path, change: str, complaint: str) -> None:
    folder = Folder(tmp_path, CATALOGUE + change)
    with pytest.raises(SettingsError, match=complaint) as raised:
        folder.load()
    assert str(folder.path) in str(raised.value)


@pytest.mark.parametrize(("ttl", "ms"), [("1s", 1000), ("366d", 366 * 86_400_000)])
def test_a_type_lives_from_a_second_to_a_leap_year(tmp_path: Path, ttl: str, ms: int) -> None:
    assert Folder(tmp_path, CATALOGUE + f'ttl = "{ttl}"\n').load().types["order.confirmed"].ttl_ms == ms


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


def test_what_a_template_sets_its_layout_does_not_require(tmp_path: Path) -> None:
    child = (
        '{% extends "_layout/x.html" %}{% set head, rest = a, "b" %}{% block body %}{% set inner = 1 %}{% endblock %}'
    )
    folder = Folder(tmp_path).mail(html=child)
    folder.put("_layout/x.html", "{{ head }}{{ rest }}{{ inner }}{% block body %}{% endblock %}")
    assert folder.load().types["order.confirmed"].required == ("a", "inner")


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


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    catalogue = Folder(tmp_path).load()
    assert (catalogue.budget, catalogue.windows, catalogue.zone, catalogue.zones) == (Budget(), Windows(), "UTC", {})


def test_budget_windows_and_zones_are_read_and_are_in_the_hash(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    hashes, text = {folder.load().hash}, CATALOGUE
    for more in (
        "[budget]\nhour = 20\n",
        '[windows]\ndigest_at = "07:30"\nwait = "90s"\nmax_wait = "10m"\nmax_size = 50\nshown = 5\n',
        '[defaults]\nzone = "Europe/Paris"\n',
        '[defaults.tenants.shop]\nzone = "Asia/Kolkata"\n',
    ):
        text += more
        folder.path.write_text(text)
        hashes.add(folder.load().hash)
    catalogue = folder.load()
    assert len(hashes) == 5
    assert catalogue.budget == Budget(hour=20)
    assert catalogue.windows == Windows(digest_at="07:30", wait_ms=90_000, max_wait_ms=600_000, max_size=50, shown=5)
    assert (catalogue.zone, catalogue.zones) == ("Europe/Paris", {"shop": "Asia/Kolkata"})


def test_a_digestible_type_needs_a_digests_templates_for_each_noisy_channel_that_is_carried(tmp_path: Path) -> None:
    folder = Folder(tmp_path, CATALOGUE + "digestible = true\n").mail().inbox()
    with pytest.raises(SettingsError, match=r"line 7: types\.order\.confirmed\.digestible: .*email need.*digest/en"):
        folder.load()
    folder.mail(type="digest", locale="de")
    with pytest.raises(SettingsError, match="digest/en"):
        folder.load()
    assert folder.mail(type="digest").load().types["order.confirmed"].digestible
    folder.path.write_text(CATALOGUE.replace('"inapp", "email"]', '"inapp"]', 1) + "digestible = true\n")
    assert folder.load().channels == ("inapp",)


def test_a_digest_has_no_variables_that_only_a_payload_could_bring(tmp_path: Path) -> None:
    """TPL-03: refused when it is loaded, as no producer could ever be told."""
    folder = Folder(tmp_path, CATALOGUE + "digestible = true\n").mail().inbox()
    folder.mail(
        type="digest", text="{{ count }} {{ more }} {{ category }} {{ actors }} {{ others }} {{ lines }}"
    ).load()
    with pytest.raises(SettingsError, match="templates in digest: no digest has a variable total"):
        folder.mail(type="digest", text="{{ total }}").load()


def test_how_many_and_who_are_never_required_of_a_payload(tmp_path: Path) -> None:
    """TPL-03: they come with every rendering; a digest's other variables are a payload's anywhere else."""
    folder = Folder(tmp_path).mail(text="{{ count }} {{ actors }} {{ others }} {{ lines }} {{ more }} {{ category }}")
    assert folder.load().types["order.confirmed"].required == ("category", "lines", "more")


def test_a_digestible_type_needs_what_its_line_in_a_digest_needs(tmp_path: Path) -> None:
    """TPL-03: also where it is not sent in-app."""
    mails = CATALOGUE.replace('channels = ["inapp", "email"]\n', 'channels = ["email"]\n') + "digestible = true\n"
    folder = Folder(tmp_path, mails).mail(subject="{{ a }}").mail(type="digest").inbox(title="{{ b }}")
    assert folder.load().types["order.confirmed"].required == ("a", "b")
    found = sources.read(folder.root / "templates")
    reasons = {(r.type, r.channel): r.reason for r in check(folder.load(), found)}
    assert "b is missing" in reasons["order.confirmed", "inapp"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("{{ x", r"email\.txt, line 1: "), ("\n\n{% macro f() %}{% endmacro %}", r"email\.txt, line 3: ")],
)
def test_a_template_that_cannot_be_compiled_is_named_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=r"template order\.confirmed/en/" + complaint):
        Folder(tmp_path).mail(text=text).load()


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
    assert [r.outcome for r in results if (r.type, r.channel) == ("digest", "email")] == ["ok"] * 3


def test_the_example_needs_no_more_of_a_payload_than_its_documents_say() -> None:
    catalogue = FileCatalogues.of(Settings()).load()
    assert catalogue.types["order.confirmed"].required == ("order", "total")
    assert catalogue.types["auth.otp"].required == ("code",)
    assert catalogue.types["auth.otp"].ttl_ms == 300_000
    assert catalogue.types["social.like"].aggregate
    assert catalogue.types["social.like"].required == ()
    assert catalogue.budget == Budget(hour=20, day=60)


def test_check_names_a_channel_without_templates_and_one_with_too_few(tmp_path: Path) -> None:
    folder = Folder(tmp_path).mail().put("order.confirmed/de/email.subject", "Hallo")
    found = sources.read(folder.root / "templates")
    reasons = {(r.channel, r.locale): r.reason for r in check(folder.load(), found) if r.outcome == "failed"}
    assert reasons["email", "de"] == "order.confirmed/de lacks email.html, email.txt"
    assert "no inapp templates" in reasons["inapp", "en"]


def test_check_reads_digests_and_what_speaks_for_several_in_every_language(tmp_path: Path) -> None:
    folder = Folder(tmp_path, CATALOGUE + "digestible = true\n").mail(type="digest").mail().inbox().inbox(locale="de")
    folder.mail(type="digest", locale="de", text="{% if lines[0].count > 1 %}{{ lines[0].actors[7] }}{% endif %}")
    folder.mail(type="digest", locale="fr").inbox(locale="it", title="{% if others %}{{ others.x }}{% endif %}")
    found = sources.read(folder.root / "templates")
    outcomes = {(r.type, r.channel, r.locale): r for r in check(folder.load(), found)}
    assert outcomes["digest", "email", "en"].outcome == "ok"
    assert outcomes["digest", "email", "de"].reason.startswith("template digest/de/email.txt: ")
    assert outcomes["digest", "email", "fr"].outcome == "fallback"
    assert outcomes["order.confirmed", "email", "de"].outcome == "fallback"
    assert outcomes["order.confirmed", "inapp", "de"].outcome == "ok"
    assert "others.x" in outcomes["order.confirmed", "inapp", "it"].reason


def test_check_refuses_a_full_digest_that_a_mailbox_would_cut(tmp_path: Path) -> None:
    html = "{% for line in lines %}" + "x" * 6000 + "{% endfor %}"
    folder = Folder(tmp_path, CATALOGUE + "digestible = true\n").mail(type="digest", html=html).mail().inbox()
    found = sources.read(folder.root / "templates")
    reasons = {r.type: r.reason for r in check(folder.load(), found)}
    assert "Gmail would clip it" in reasons["digest"]
