"""What the page says, in the languages that it knows."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from schemas.words import Channel

Language = Literal["en", "de", "fr"]
LANGUAGES: tuple[Language, ...] = ("en", "de", "fr")
WORDS = msgspec.json.decode((Path(__file__).parent / "words.json").read_bytes(), type=dict[Language, dict[str, str]])


def language(profile: str | None, accept: str) -> Language:
    """The reader's own where it is known, else the first that the browser asks for (RFC 9110 12.5.4); else English."""
    wanted = [profile or "", *_asked(accept)]
    return next((known for tag in wanted for known in LANGUAGES if _primary(tag) == known), "en")


def title(titles: Mapping[str, str], category: str, spoken: Language) -> str:
    """A category's name in this language, else in any that it has, else its own."""
    by_language = {_primary(tag): text for tag, text in titles.items()}
    return by_language.get(spoken) or by_language.get("en") or next(iter(titles.values()), category)


def filled(spoken: Language, name: str, *, category: str, channel: Channel) -> str:
    """One sentence."""
    words = WORDS[spoken]
    return words[name].format(category=category, channel=words[channel])


def _asked(accept: str) -> Iterable[str]:
    """The tags of Accept-Language, best first; what is no header of the kind asks for nothing."""
    weighed = []
    for place, part in enumerate(accept[:500].split(",")):
        tag, _, parameter = part.strip().partition(";")
        try:
            weight = float(parameter.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        if 0 < weight <= 1:
            weighed.append((-weight, place, tag))
    return (tag for _, _, tag in sorted(weighed))


def _primary(tag: str) -> str:
    return tag.strip().replace("_", "-").lower().partition("-")[0]
