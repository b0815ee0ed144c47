"""Producers' own webhooks need no template: they say what they were made with."""

import msgspec

from notify_streams.domain.rendered import Rendered, RenderedInbox, RenderedWebhook, TemplateFailed
from notify_streams.ports import Renderer
from schemas.deliveries import DeliveryV1

_decode = msgspec.json.Decoder(dict[str, str]).decode


class WithHooks:
    """Implements `ports.Renderer`: everything else is rendered by `templates`."""

    def __init__(self, templates: Renderer) -> None:
        self._templates = templates

    def message(self, delivery: DeliveryV1, *, unsubscribe: str | None = None) -> tuple[Rendered, str]:
        """See ports.Renderer."""
        if not delivery.hook:
            return self._templates.message(delivery, unsubscribe=unsubscribe)
        if delivery.content is None:
            raise TemplateFailed(f"{delivery.type}: its content is sealed")
        try:
            return RenderedWebhook(_decode(delivery.content.payload)), delivery.locale or ""
        except msgspec.DecodeError as error:
            raise TemplateFailed(f"{delivery.type}: {error}") from error

    def inbox(self, delivery: DeliveryV1) -> RenderedInbox:
        """See ports.Renderer."""
        return self._templates.inbox(delivery)
