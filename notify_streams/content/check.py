"""Whether every type can be read: each template rendered with its type's sample, in every language."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from notify_streams.content.digests import group_of
from notify_streams.content.locales import normal
from notify_streams.content.samples import digest_samples, samples_of
from notify_streams.content.sources import DIGEST, FILES, LAYOUT, Sources
from notify_streams.content.templates import Templates
from notify_streams.content.texts import MOST_SEGMENTS
from notify_streams.domain.rendered import RenderedEmail, RenderedSms, TemplateFailed
from schemas.catalogue import Catalogue, NotificationType
from schemas.deliveries import DeliveryV1
from schemas.words import Channel

# Gmail cuts a mail's HTML there and hides the rest behind a link.
GMAIL_CLIPS_AT = 102 * 1024


class Result(msgspec.Struct, frozen=True):
    """One type, or `digest`, on one channel in one language. `fallback`: it has no templates of its own there."""

    type: str
    channel: Channel
    locale: str
    outcome: Literal["ok", "fallback", "failed"]
    reason: str = ""


def check(catalogue: Catalogue, sources: Sources) -> Iterator[Result]:
    """Every type on every offered channel in every language that any template, or the fallback, is in; then digests.

    What may stand on a line of a digest, or is aggregated, is read alone, of two people and of six.
    """
    templates = Templates(sources, catalogue)
    languages = _languages(catalogue, sources)
    for name, type_ in catalogue.types.items():
        for channel in _channels(type_, catalogue):
            for locale in languages:
                samples = samples_of(name, type_, channel, locale)
                yield _one(name, type_.templates or name, samples, templates, sources)
    for channel in digest_channels(catalogue):
        for locale in languages:
            yield _one(DIGEST, DIGEST, digest_samples(catalogue, channel, locale), templates, sources)


def digest_channels(catalogue: Catalogue) -> list[Channel]:
    """Where digests can come by."""
    used = {c for type_ in catalogue.types.values() if type_.digestible for c in type_.channels}
    return [c for c in catalogue.channels if c in used and c != "inapp"]


def _channels(type_: NotificationType, catalogue: Catalogue) -> list[Channel]:
    """Those it is sent on; its inbox entry is also its line in a digest."""
    offered = [c for c in type_.channels if c in catalogue.channels]
    return ["inapp", *offered] if type_.digestible and "inapp" not in offered else offered


def _languages(catalogue: Catalogue, sources: Sources) -> list[str]:
    """The fallback first."""
    used = {name.split("/")[1] for name in sources.texts if not name.startswith(LAYOUT)}
    return sorted({*used, catalogue.fallback_locale}, key=lambda tag: (tag != catalogue.fallback_locale, tag))


def _one(name: str, folder: str, samples: Sequence[DeliveryV1], templates: Templates, sources: Sources) -> Result:
    channel, locale = samples[0].channel, samples[0].locale or ""
    own = sources.locales.get((folder, channel), {})
    if normal(locale) not in own and (missing := _incomplete(folder, channel, locale, sources)):
        return Result(name, channel, locale, "failed", f"{folder}/{locale} lacks {', '.join(missing)}")
    try:
        used = [_render(sample, templates) for sample in samples]
    except TemplateFailed as error:
        return Result(name, channel, locale, "failed", str(error))
    in_own = normal(locale) in own and all(tag in (None, own[normal(locale)]) for tag in used)
    return Result(name, channel, locale, "ok" if in_own else "fallback")


def _render(sample: DeliveryV1, templates: Templates) -> str | None:
    """The locale it came out in, where the renderer says so."""
    if sample.channel == "inapp":
        templates.inbox(sample)
        return None
    message, locale = templates.message(sample, unsubscribe="https://notify.example/v1/unsubscribe/sample")
    match message:
        case RenderedEmail(html=html) if len(html.encode()) > GMAIL_CLIPS_AT:
            raise TemplateFailed(f"{sample.type}/{locale}/email.html: Gmail would clip it")
        case RenderedSms(text=text) if not text:
            raise TemplateFailed(f"{sample.type}/{locale}/sms.txt: the text is empty")
        case RenderedSms(text=text) if text != templates.uncut(sample) and group_of(sample) is None:
            raise TemplateFailed(f"{sample.type}/{locale}/sms.txt: more than {MOST_SEGMENTS} segments")
    return locale


def _incomplete(folder: str, channel: Channel, locale: str, sources: Sources) -> list[str]:
    """Files that are missing where others of the channel are there: nothing would ever use those."""
    there = {f for f in FILES[channel] if any(t.split("#")[0] == f"{folder}/{locale}/{f}" for t in sources.texts)}
    return [f for f in FILES[channel] if f not in there] if there else []
