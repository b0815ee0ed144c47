"""Whether every type can be read: each template rendered with its type's sample, in every language."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from notify_streams.content.locales import normal
from notify_streams.content.sources import FILES, LAYOUT, Sources
from notify_streams.content.templates import Templates
from notify_streams.domain.rendered import TemplateFailed
from schemas.catalogue import Catalogue, NotificationType
from schemas.content import Actor, Content, Object
from schemas.deliveries import DeliveryV1
from schemas.words import Channel

# Gmail cuts a mail's HTML there and hides the rest behind a link.
GMAIL_CLIPS_AT = 102 * 1024
# A channel whose sender does not exist yet has nothing to render with.
_RENDERED = ("inapp", "email")


class Result(msgspec.Struct, frozen=True):
    """One type on one channel in one language. `fallback`: it has no templates of its own and gets another's."""

    type: str
    channel: Channel
    locale: str
    outcome: Literal["ok", "fallback", "failed"]
    reason: str = ""


def check(catalogue: Catalogue, sources: Sources) -> Iterator[Result]:
    """Every type on every offered channel in every language that any template, or the fallback, is in."""
    templates = Templates(sources, catalogue)
    languages = _languages(catalogue, sources)
    for name, type_ in catalogue.types.items():
        for channel in (c for c in type_.channels if c in catalogue.channels and c in _RENDERED):
            for locale in languages:
                yield _one(name, type_, channel, locale, templates, sources)


def _languages(catalogue: Catalogue, sources: Sources) -> list[str]:
    """The fallback first."""
    used = {name.split("/")[1] for name in sources.texts if not name.startswith(LAYOUT)}
    return sorted({*used, catalogue.fallback_locale}, key=lambda tag: (tag != catalogue.fallback_locale, tag))


def _one(
    name: str, type_: NotificationType, channel: Channel, locale: str, templates: Templates, sources: Sources
) -> Result:
    folder = type_.templates or name
    own = sources.locales.get((folder, channel), {})
    if normal(locale) not in own and (missing := _incomplete(folder, channel, locale, sources)):
        return Result(name, channel, locale, "failed", f"{folder}/{locale} lacks {', '.join(missing)}")
    try:
        if channel == "inapp":
            templates.inbox(_sample(name, type_, channel, locale))
        else:
            mail, _ = templates.email(_sample(name, type_, channel, locale))
            if len(mail.html.encode()) > GMAIL_CLIPS_AT:
                return Result(name, channel, locale, "failed", f"{folder}/{locale}/email.html: Gmail would clip it")
    except TemplateFailed as error:
        return Result(name, channel, locale, "failed", str(error))
    return Result(name, channel, locale, "ok" if normal(locale) in own else "fallback")


def _incomplete(folder: str, channel: Channel, locale: str, sources: Sources) -> list[str]:
    """Files that are missing where others of the channel are there: nothing would ever use those."""
    there = {f for f in FILES[channel] if any(t.split("#")[0] == f"{folder}/{locale}/{f}" for t in sources.texts)}
    return [f for f in FILES[channel] if f not in there] if there else []


def _sample(name: str, type_: NotificationType, channel: Channel, locale: str) -> DeliveryV1:
    content = Content(payload=type_.sample, actor=Actor("user-7", "Ann"), object=Object("post", "9"))
    return DeliveryV1(
        delivery_id="sample",
        notification_id="sample",
        user_id="user-42",
        type=name,
        channel=channel,
        endpoint_id="sample",
        accepted_at=0,
        expires_at=0,
        decided_at=0,
        locale=locale,
        content=content,
    )
