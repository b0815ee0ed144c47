"""Builders for templates on disk: valid unless told otherwise."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from notify_streams.content import sources
from notify_streams.content.catalogue import FileCatalogues
from notify_streams.content.templates import Templates
from schemas.catalogue import Catalogue
from schemas.content import Actor, Content
from schemas.deliveries import DeliveryV1
from schemas.words import Channel

CATALOGUE = """
channels = ["inapp", "email"]
[categories.orders]
[types."order.confirmed"]
category = "orders"
channels = ["inapp", "email"]
"""


class Folder:
    """A catalogue and templates under a test's own folder."""

    def __init__(self, root: Path, catalogue: str = CATALOGUE) -> None:
        self.root = root
        self.path = root / "catalogue.toml"
        self.path.write_text(catalogue)
        (root / "templates").mkdir()

    def put(self, name: str, text: str) -> "Folder":
        path = self.root / "templates" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self

    def mail(
        self,
        *,
        type: str = "order.confirmed",
        locale: str = "en",
        subject: str = "Hello",
        text: str = "Hello",
        html: str = "Hello",
    ) -> "Folder":
        for ending, content in (("subject", subject), ("txt", text), ("html", html)):
            self.put(f"{type}/{locale}/email.{ending}", content)
        return self

    def inbox(self, *, type: str = "order.confirmed", locale: str = "en", **parts: str) -> "Folder":
        return self.put(f"{type}/{locale}/inapp.json", json.dumps({"title": "Hello", **parts}))

    def load(self) -> Catalogue:
        return FileCatalogues(self.path, self.root / "templates").load()

    def renderer(self) -> Templates:
        found = sources.read(self.root / "templates")
        return Templates(found, FileCatalogues(self.path, self.root / "templates").load_with(found))


def a_delivery(
    channel: Channel = "email",
    *,
    type: str = "order.confirmed",
    locale: str | None = "en",
    zone: str | None = None,
    payload: Mapping[str, Any] | None = None,
    actor: Actor | None = None,
) -> DeliveryV1:
    raw = msgspec.Raw(msgspec.json.encode(payload or {}))
    return DeliveryV1(
        delivery_id="7d0c2f6e-5a53-5c1b-9f43-0d6a8d4b1f11",
        notification_id="n-1",
        user_id="user-42",
        type=type,
        channel=channel,
        endpoint_id="mailbox-1",
        accepted_at=0,
        expires_at=1,
        decided_at=0,
        locale=locale,
        zone=zone,
        content=Content(payload=raw, actor=actor),
    )
