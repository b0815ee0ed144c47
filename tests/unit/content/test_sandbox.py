"""What a template, or a value in it, cannot do."""

import time
from pathlib import Path

import pytest

from notify_streams.domain.rendered import TemplateFailed
from notify_streams.settings import SettingsError
from tests.rendering import Folder, a_delivery


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ x.__class__.__mro__ }}",
        "{{ x['__class__'] }}",
        "{{ x|attr('__class__') }}",
        "{{ '{0.__class__}'.format(x) }}",
        "{{ ['{0.__class__}']|map('format', x)|first }}",
        "{{ '%s'|format(x) }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__ }}",
        "{{ lipsum.__globals__ }}",
        "{{ namespace() }}",
        "{% for x in range(1000000000) %}x{% endfor %}",
        "{% import 'x' as y %}",
        "{% include '/etc/passwd' %}",
        "{% macro f() %}{% endmacro %}",
        "{% set x %}y{% endset %}",
        "{{ _reader }}",
        "{{ x|_text }}",
        "{{ x|safe }}",
        "{{ 9 ** 9 ** 9 }}",
    ],
)
def test_a_template_that_reaches_for_code_is_refused_when_loaded_or_fails_plainly(folder: Folder, source: str) -> None:
    """SEC-05."""
    folder.mail(text=source)
    with pytest.raises((SettingsError, TemplateFailed), match=r"order\.confirmed/en/email\.txt"):
        folder.renderer().email(a_delivery(payload={"x": "y"}))


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'x' * 10000000 }}",
        "{{ '%01000000000d' % 1 }}",
        "{% set a = text ~ text %}{% set b = a ~ a %}{% set c = b ~ b %}{% set d = c ~ c %}{{ d }}",
        "{% for a in many %}{% for b in many %}{% for c in many %}{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in many %}{{ text }}{% endfor %}",
        "{{ many|join(text) }}",
        "{{ 1e308|number }}",
    ],
)
def test_a_template_that_would_fill_time_or_memory_fails_at_once(folder: Folder, source: str) -> None:
    """SEC-05."""
    renderer = folder.mail(text=source).renderer()
    started = time.process_time()
    with pytest.raises(TemplateFailed, match=r"order\.confirmed/en/email\.txt"):
        renderer.email(a_delivery(payload={"text": "x" * 100_000, "many": list(range(2000))}))
    assert time.process_time() - started < 0.5


def test_a_filter_that_names_a_variable_cannot_be_fed_a_format(folder: Folder) -> None:
    """SEC-05: the values are data, however they look."""
    mail, _ = folder.mail(text="{{ x }}").renderer().email(a_delivery(payload={"x": "{{ 7 * 7 }}{0.__class__}%s"}))
    assert mail.text == "{{ 7 * 7 }}{0.__class__}%s"


@pytest.mark.parametrize(
    "name",
    ['<a href="https://evil.example">Reset</a>', "<img src=x onerror=1>", "</td></table><h1>", '" onmouseover="1'],
)
def test_markup_in_a_value_is_shown_as_text(folder: Folder, name: str) -> None:
    """SEC-06."""
    html = '<table><tr><td title="{{ name }}">{{ name }}</td></tr></table>'
    mail, _ = folder.mail(html=html).renderer().email(a_delivery(payload={"name": name}))
    assert mail.html.count("<") == html.count("<")
    assert mail.html.count('"') == 2


@pytest.mark.parametrize(
    "link",
    [
        "javascript:1",
        " javascript:1",
        "java\nscript:1",
        "data:text/html,x",
        "//evil.example",
        "/x",
        "https://",
        "ftp://x",
        7,
    ],
)
def test_a_link_that_is_not_http_leads_nowhere(folder: Folder, link: object) -> None:
    """SEC-06."""
    folder.mail(html='{% if url|link %}<a href="{{ url|link }}">go</a>{% endif %}').inbox(link="{{ url }}")
    renderer = folder.renderer()
    assert renderer.email(a_delivery(payload={"url": link}))[0].html == ""
    assert renderer.inbox(a_delivery("inapp", payload={"url": link})).link is None


def test_a_link_that_is_http_is_kept(folder: Folder) -> None:
    """SEC-06."""
    folder.mail(html='<a href="{{ url|link }}">go</a>').inbox(link="{{ url }}")
    renderer = folder.renderer()
    url = "https://shop.example/orders?id=1&x=ü"
    assert renderer.email(a_delivery(payload={"url": url}))[0].html == f'<a href="{url.replace("&", "&amp;")}">go</a>'
    assert renderer.inbox(a_delivery("inapp", payload={"url": url})).link == url


@pytest.mark.parametrize(
    "html",
    [
        '<a href="{{ url }}">',
        "<a href={{ url|link }}>",
        '<a href="https://{{ host }}/">',
        '<img src="{{ url|upper }}">',
        "<a HREF = '{{ url }}'>",
    ],
)
def test_an_address_in_html_that_data_could_choose_is_refused(folder: Folder, html: str) -> None:
    """SEC-06."""
    with pytest.raises(SettingsError, match=r"write .*variable.link"):
        folder.mail(html=html).load()


def test_a_fixed_host_with_data_behind_it_is_allowed(folder: Folder) -> None:
    html = '<a href="https://shop.example/orders/{{ order|urlencode }}">'
    mail, _ = folder.mail(html=html).renderer().email(a_delivery(payload={"order": "1/..?"}))
    assert mail.html == '<a href="https://shop.example/orders/1/..%3F">'
