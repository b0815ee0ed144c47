"""Rendering: which template a delivery gets, with which data, in whose language, and within which bounds."""

from typing import Any

from jinja2 import FunctionLoader, Template, TemplateError, TemplateNotFound

from notify_streams.content.data import seen
from notify_streams.content.digests import Digests, group_of
from notify_streams.content.guards import MAX_OUTPUT
from notify_streams.content.sandbox import Sandbox, link
from notify_streams.content.sources import Sources
from notify_streams.content.texts import short_enough
from notify_streams.domain.rendered import (
    Rendered,
    RenderedEmail,
    RenderedInbox,
    RenderedPush,
    RenderedSms,
    RenderedWebhook,
    TemplateFailed,
    Unfit,
)
from schemas.catalogue import Catalogue
from schemas.deliveries import DeliveryV1
from schemas.words import Channel

_BREAKS = str.maketrans(dict.fromkeys((*map(chr, range(32)), "\x7f", "\x85", "\u2028", "\u2029"), " "))
# What data can make a template raise: bad values in filters, arithmetic, members of the wrong kind.
_FAILURES = (TemplateError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)


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
        self._digests = Digests(sources, catalogue, self._entry)

    def email(self, delivery: DeliveryV1) -> tuple[RenderedEmail, str]:
        """The mail and the locale it is in. Raises TemplateFailed."""
        folder, data = self._prepared(delivery)
        return self._mail(folder, data), folder.rpartition("/")[2]

    def message(self, delivery: DeliveryV1, *, unsubscribe: str | None = None) -> tuple[Rendered, str]:
        """See ports.Renderer."""
        folder, data = self._prepared(delivery)
        data["unsubscribe"] = unsubscribe
        return self._of_channel(delivery.channel, folder, data), folder.rpartition("/")[2]

    def inbox(self, delivery: DeliveryV1) -> RenderedInbox:
        """The inbox line. Raises TemplateFailed."""
        return self._entry(*self._prepared(delivery))

    def _of_channel(self, channel: Channel, folder: str, data: dict[str, Any]) -> Rendered:
        match channel:
            case "email":
                return self._mail(folder, data)
            case "push":
                return self._push(folder, data)
            case "sms":
                return RenderedSms(short_enough(self._text(folder, data)))
            case "webhook":
                members = self._sources.members(f"{folder}/webhook.json")
                return RenderedWebhook({name: self._render(f"{folder}/webhook.json#{name}", data) for name in members})
            case "inapp":
                raise TemplateFailed(f"{folder}: what is in an inbox is no message")

    def uncut(self, delivery: DeliveryV1) -> str:
        """A text message however long it is. Raises TemplateFailed."""
        return self._text(*self._prepared(delivery))

    def _text(self, folder: str, data: dict[str, Any]) -> str:
        return "\n".join(map(one_line, self._render(f"{folder}/sms.txt", data).strip().splitlines()))

    def _mail(self, folder: str, data: dict[str, Any]) -> RenderedEmail:
        subject = self._render(f"{folder}/email.subject", data)
        text = self._render(f"{folder}/email.txt", data)
        return RenderedEmail(subject=one_line(subject), text=text, html=self._render(f"{folder}/email.html", data))

    def _push(self, folder: str, data: dict[str, Any]) -> RenderedPush:
        title = self._render(f"{folder}/push.json#title", data)
        body, target, image = (
            self._render(f"{folder}/push.json#{name}", data, optional=True) for name in ("body", "link", "image")
        )
        return RenderedPush(one_line(title), body.strip(), link(target.strip()) or None, link(image.strip()) or None)

    def _prepared(self, delivery: DeliveryV1) -> tuple[str, dict[str, Any]]:
        """The folder of the templates, and what they see."""
        if delivery.content is None:
            raise TemplateFailed(f"delivery {delivery.delivery_id} has no content in the clear")
        if group := group_of(delivery):
            folder = self._digests.folder(delivery, group)
            return folder, self._digests.data(delivery, group, folder.rpartition("/")[2])
        folder = self._folder(delivery)
        try:
            return folder, seen(delivery.content, delivery, folder.rpartition("/")[2])
        except ValueError as error:
            raise TemplateFailed(f"delivery {delivery.delivery_id}: {error}") from error

    def _entry(self, folder: str, data: dict[str, Any]) -> RenderedInbox:
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
            raise TemplateFailed(f"template {name}: {_words(error)}") from error

    def _template(self, name: str) -> Template | None:
        if name not in self._compiled:
            known = name in self._sources.texts
            self._compiled[name] = self._sandbox.get_template(name) if known else None
        return self._compiled[name]


def _words(error: Exception) -> str:
    """They stand in facts and dead letters. What Python itself says of a value would quote it."""
    return str(error) if isinstance(error, TemplateError | Unfit) else type(error).__name__


def one_line(text: str) -> str:
    """Without line breaks and other control characters; each run of spaces becomes one. No-break spaces stay."""
    return " ".join(part for part in text.translate(_BREAKS).split(" ") if part)


def _bounded_output(template: Template, data: dict[str, Any]) -> str:
    parts: list[str] = []
    size = 0
    for part in template.root_render_func(template.new_context(data, shared=True)):
        parts.append(part)
        size += len(part)
        if size > MAX_OUTPUT:
            raise Unfit(f"the output is longer than {MAX_OUTPUT} characters")
    return "".join(parts)
