"""Rendering: which template a delivery gets, with which data, in whose language, and within which bounds."""

from collections.abc import Mapping
from typing import Any

import msgspec
from jinja2 import FunctionLoader, Template, TemplateError, TemplateNotFound

from notify_streams.content.guards import MAX_OUTPUT, READER
from notify_streams.content.locales import Reader, babel_locale, zone_of
from notify_streams.content.sandbox import Sandbox, link
from notify_streams.content.sources import Sources
from notify_streams.domain.rendered import RenderedEmail, RenderedInbox, TemplateFailed
from schemas.catalogue import Catalogue
from schemas.deliveries import DeliveryV1
from schemas.words import Channel

_BREAKS = str.maketrans(dict.fromkeys((*map(chr, range(32)), "\x7f", "\x85", "\u2028", "\u2029"), " "))
# What data can make a template raise: bad values in filters, arithmetic, members of the wrong kind.
_FAILURES = (TemplateError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)


class Figure(float):
    """A number that is written out digit for digit as the producer wrote it, and reckons like any other."""

    def __new__(cls, text: str) -> "Figure":  # noqa: D102
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str

    def __str__(self) -> str:
        return self.text


_decode_payload = msgspec.json.Decoder(float_hook=Figure).decode


def sandbox_of(sources: Sources) -> Sandbox:
    """An environment that knows these templates."""
    return Sandbox(FunctionLoader(lambda name: sources.texts.get(name)))


class Templates:
    """Implements `ports.Renderer`. Each template is compiled once, at its first use."""

    def __init__(self, sources: Sources, catalogue: Catalogue) -> None:
        self._sources = sources
        self._catalogue = catalogue
        self._sandbox = sandbox_of(sources)
        self._compiled: dict[str, Template | None] = {}
        self._folders: dict[tuple[str, Channel, str | None], str] = {}

    def email(self, delivery: DeliveryV1) -> tuple[RenderedEmail, str]:
        """The mail and the locale it is in. Raises TemplateFailed."""
        folder = self._folder(delivery)
        locale = folder.rpartition("/")[2]
        data = _data(delivery, locale)
        subject = self._render(f"{folder}/email.subject", data)
        text = self._render(f"{folder}/email.txt", data)
        html = self._render(f"{folder}/email.html", data)
        return RenderedEmail(subject=one_line(subject), text=text, html=html), locale

    def inbox(self, delivery: DeliveryV1) -> RenderedInbox:
        """The inbox line. Raises TemplateFailed."""
        folder = self._folder(delivery)
        data = _data(delivery, folder.rpartition("/")[2])
        title = self._render(f"{folder}/inapp.json#title", data)
        body = self._render(f"{folder}/inapp.json#body", data, optional=True)
        target = self._render(f"{folder}/inapp.json#link", data, optional=True)
        return RenderedInbox(title=one_line(title), body=body.strip(), link=link(target) or None)

    def _folder(self, delivery: DeliveryV1) -> str:
        key = (delivery.type, delivery.channel, delivery.locale)
        folder = self._folders.get(key)
        if folder is None:
            folder = self._find(delivery.type, delivery.channel, delivery.locale)
            if len(self._folders) < 4096:  # locales are the users' words
                self._folders[key] = folder
        return folder

    def _find(self, type_: str, channel: Channel, locale: str | None) -> str:
        entry = self._catalogue.types.get(type_)
        name = (entry.templates if entry else "") or type_
        folder = self._sources.find(name, channel, locale, self._catalogue.fallback_locale)
        if folder is None:
            fallback = self._catalogue.fallback_locale
            raise TemplateFailed(f"{name} has no {channel} templates for {locale} nor for {fallback}")
        return folder

    def _render(self, name: str, data: dict[str, Any], *, optional: bool = False) -> str:
        try:
            template = self._template(name)
            if template is None:
                if optional:
                    return ""
                raise TemplateNotFound(name)
            return _bounded_output(template, data)
        except _FAILURES as error:
            raise TemplateFailed(f"template {name}: {error}") from error

    def _template(self, name: str) -> Template | None:
        if name not in self._compiled:
            known = name in self._sources.texts
            self._compiled[name] = self._sandbox.get_template(name) if known else None
        return self._compiled[name]


def one_line(text: str) -> str:
    """Without line breaks and other control characters; each run of blanks becomes one space."""
    return " ".join(text.translate(_BREAKS).split())


def _bounded_output(template: Template, data: dict[str, Any]) -> str:
    parts: list[str] = []
    size = 0
    for part in template.root_render_func(template.new_context(data, shared=True)):
        parts.append(part)
        size += len(part)
        if size > MAX_OUTPUT:
            raise ValueError(f"the output is longer than {MAX_OUTPUT} characters")
    return "".join(parts)


def _data(delivery: DeliveryV1, language: str) -> dict[str, Any]:
    """The payload's members (null counts as missing) under what every rendering has."""
    content = delivery.content
    if content is None:
        raise TemplateFailed(f"delivery {delivery.delivery_id} has no content in the clear")
    payload = _decode_payload(content.payload)
    if not isinstance(payload, dict):
        raise TemplateFailed(f"delivery {delivery.delivery_id}: the payload is no object")
    data: dict[str, Any] = {k: v for k, v in payload.items() if v is not None}
    data["actor"] = _plain(content.actor)
    data["object"] = _plain(content.object)
    data["user"] = {"id": delivery.user_id}
    data["notification"] = {"id": delivery.notification_id}
    data["locale"] = language
    data[READER] = Reader(babel_locale(delivery.locale, language), zone_of(delivery.zone))
    return data


def _plain(value: msgspec.Struct | None) -> Mapping[str, Any]:
    return {} if value is None else msgspec.structs.asdict(value)
