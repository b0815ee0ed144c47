"""From a delivery to the message that providers get: the same for every attempt."""

from collections.abc import Callable

import msgspec

from notify_streams.domain import references, unsubscribe
from notify_streams.domain.identity import identity
from notify_streams.domain.references import Reference
from notify_streams.ports import Message, Renderer
from schemas.catalogue import Catalogue
from schemas.deliveries import DeliveryV1

Compose = Callable[[DeliveryV1], Message]


class Composer(msgspec.Struct, frozen=True):
    """`secret` signs references and links; `public_url` is how the world reaches the gateway, empty for no links."""

    renderer: Renderer
    catalogue: Catalogue
    secret: str
    public_url: str = ""

    def message(self, delivery: DeliveryV1) -> Message:
        """Raises TemplateFailed, and ValueError for a delivery whose ids are none."""
        link = self._unsubscribe(delivery)
        rendered, locale = self.renderer.message(delivery, unsubscribe=link)
        type_ = self.catalogue.types.get(delivery.type)
        reference = Reference(delivery.delivery_id, delivery.notification_id, delivery.channel, delivery.user_id)
        return Message(
            delivery_id=delivery.delivery_id,
            address="" if delivery.content is None else delivery.content.address or "",
            rendered=rendered,
            locale=locale,
            platform=delivery.platform,
            lane=delivery.lane,
            type=delivery.type,
            category="" if type_ is None else type_.category,
            tenant=delivery.tenant,
            notification_id=delivery.notification_id,
            user_id=delivery.user_id,
            accepted_at=delivery.accepted_at,
            expires_at=delivery.expires_at,
            identity=identity(delivery),
            reference=references.sign(self.secret, reference),
            unsubscribe=link,
            hook=delivery.hook,
        )

    def _unsubscribe(self, delivery: DeliveryV1) -> str | None:
        """Of mails that a reader can switch off: what is mandatory has none."""
        type_ = self.catalogue.types.get(delivery.type)
        if delivery.channel != "email" or not self.public_url or type_ is None or type_.mandatory:
            return None
        token = unsubscribe.token(
            self.secret,
            user_id=delivery.user_id,
            channel=delivery.channel,
            category=type_.category,
            issued_at=delivery.accepted_at,
            type=delivery.type,
        )
        return unsubscribe.url(self.public_url, token)
