"""The lines of a digest, each read from its own type's inbox templates, and the language that all of it is in."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from notify_streams.content.data import given, instant, seen
from notify_streams.content.locales import chain, choose, normal
from notify_streams.content.sources import DIGEST, Sources
from notify_streams.domain.rendered import RenderedInbox, TemplateFailed
from schemas.catalogue import Catalogue
from schemas.content import Content, Group, Line
from schemas.deliveries import DeliveryV1

log = logging.getLogger(__name__)

Entry = Callable[[str, dict[str, Any]], RenderedInbox]
_TURNS, _LEAST_TURNS = 10_000, 100


class Digests:
    """What the templates in the folder `digest` see. `entry` renders the inbox templates of a folder."""

    def __init__(self, sources: Sources, catalogue: Catalogue, entry: Entry) -> None:
        self._sources, self._catalogue, self._entry = sources, catalogue, entry

    def folder(self, delivery: DeliveryV1, group: Group) -> str:
        """`digest/LOCALE` in the best language that the digest and the types of all its lines have templates in.

        So a digest is in one language. Raises TemplateFailed where even the fallback has no digest.
        """
        fallback = normal(self._catalogue.fallback_locale)
        own = self._sources.locales.get((DIGEST, delivery.channel), {})
        types = [self._locales(line.type) for line in group.lines]
        for tag in chain(delivery.locale, fallback):
            if tag in own and (tag == fallback or all(tag in locales for locales in types if locales)):
                return f"{DIGEST}/{own[tag]}"
        raise TemplateFailed(f"there are no {delivery.channel} templates in {DIGEST}/{fallback}")

    def data(self, delivery: DeliveryV1, group: Group, language: str) -> dict[str, Any]:
        """`count`, `lines`, `more` and `category` besides what every rendering has; no payload.

        A line that fails, or whose type is unknown by now, is left out and counted in `more`: the others are not to
        suffer, and none of it is lost, as the inbox has each on its own. Raises TemplateFailed where none is left.
        """
        lines: list[dict[str, Any]] = []
        failed: list[TemplateFailed] = []
        turns = max(_LEAST_TURNS, _TURNS // len(group.lines))
        for line in group.lines:
            try:
                lines.append(self._line(line, delivery, language, turns))
            except TemplateFailed as error:
                log.warning("digest.line_left_out delivery_id=%s type=%s", delivery.delivery_id, line.type)
                failed.append(error)
        if not lines:
            raise failed[0]
        told: int = sum(line["count"] for line in lines)
        return {
            **given(Content(group=Group(count=group.count)), delivery, language),
            "lines": lines,
            "more": group.count - told,
            "category": lines[0]["category"],
        }

    def _line(self, line: Line, delivery: DeliveryV1, language: str, turns: int) -> dict[str, Any]:
        type_ = self._catalogue.types.get(line.type)
        name = (type_.templates if type_ else "") or line.type
        folder = self._sources.find(name, "inapp", language, self._catalogue.fallback_locale) if type_ else None
        if folder is None:
            raise TemplateFailed(f"{line.type} has no inapp templates for {language}")
        content = Content(
            payload=line.payload,
            actor=line.actor,
            object=line.object,
            group=Group(count=line.count, actors=line.actors, others=line.others),
        )
        try:
            data = seen(content, delivery, folder.rpartition("/")[2], turns=turns)
        except ValueError as error:
            raise TemplateFailed(f"{line.type} in delivery {delivery.delivery_id}: {error}") from error
        entry = self._entry(folder, data)
        shown = {key: data[key] for key in ("count", "actors", "others")}
        told = {"type": line.type, "category": self._title(line.type, language), "at": instant(line.at)}
        return {"title": entry.title, "body": entry.body, "link": entry.link or "", **shown, **told}

    def _locales(self, type_: str) -> Mapping[str, str]:
        entry = self._catalogue.types.get(type_)
        return self._sources.locales.get((entry.templates or type_, "inapp"), {}) if entry else {}

    def _title(self, type_: str, language: str) -> str:
        """Of the type's category, in the language or the fallback; else its name."""
        entry = self._catalogue.types.get(type_)
        if entry is None:
            return ""
        titles = {normal(tag): title for tag, title in self._catalogue.categories[entry.category].titles.items()}
        chosen = choose(language, titles, self._catalogue.fallback_locale)
        return titles[chosen] if chosen else entry.category


def group_of(delivery: DeliveryV1) -> Group | None:
    """What a digest lists; None for a delivery that is none."""
    content = delivery.content
    return content.group if content and content.group and content.group.lines else None
