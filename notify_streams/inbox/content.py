"""What an inbox row says: the part of it that erasure and sealing must reach, as one JSON value."""

import msgspec

from notify_streams.ports import InboxItem
from schemas.codec import encode


class InboxContent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Rendered text and the producer's payload; of an aggregated item of how many notifications, and who is named."""

    title: str
    body: str = ""
    link: str | None = None
    payload: msgspec.Raw = msgspec.Raw(b"{}")
    count: int = 1
    actors: tuple[str, ...] = ()
    others: int = 0


decode_content = msgspec.json.Decoder(InboxContent).decode


def content_of(item: InboxItem) -> bytes:
    """The value of the column `content`."""
    return encode(
        InboxContent(
            title=item.title,
            body=item.body,
            link=item.link,
            payload=msgspec.Raw(item.payload),
            count=item.count,
            actors=item.actors,
            others=item.others,
        )
    )
