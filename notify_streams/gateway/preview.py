"""POST /v1/preview: what would be decided for a user now, and what they would read; nothing is sent or charged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from notify_streams.domain import accept, fan_out, segments
from notify_streams.domain.decide import decide, slice_of
from notify_streams.domain.rendered import (
    Rendered,
    RenderedEmail,
    RenderedInbox,
    RenderedPush,
    RenderedSms,
    RenderedWebhook,
    TemplateFailed,
)
from notify_streams.gateway import envelopes
from notify_streams.gateway.auth import Auth
from notify_streams.gateway.envelopes import Envelope, envelope_of
from notify_streams.gateway.events import permitted
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import Renderer
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.decisions import Deliver, StateSlice, Suppress, Verdict
from schemas.deliveries import DeliveryV1
from schemas.events import CloudEvent
from schemas.notifications import NotificationV1
from schemas.profiles import ProfileV1
from schemas.words import IN_WORDS, Channel, Lane, Millis, Reason


class Shown(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What is read on one channel, in `locale`.

    `subject`, `text`, `html` of a mail; `title`, `body`, `link` of a push message or inbox entry; `data` of a webhook.
    A text message has `text` exactly as it is sent, its `encoding` (gsm7, ucs2), `units` in that, and `segments`.
    """

    locale: str = ""
    subject: str | None = None
    text: str | None = None
    html: str | None = None
    title: str | None = None
    body: str | None = None
    link: str | None = None
    data: dict[str, str] | None = None
    encoding: str | None = None
    units: int | None = None
    segments: int | None = None


class ChannelPreview(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One channel. `decision` is deliver, defer, collect or suppress, `because` its reason in words, `until` ms.

    `failed` is why it could not be rendered, in place of `shown`.
    """

    channel: Channel
    decision: str
    reason: Reason | None = None
    because: str | None = None
    until: Millis | None = None
    endpoint_ids: tuple[str, ...] = ()
    shown: Shown | None = None
    failed: str | None = None


class PreviewAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """For the event's first recipient, by the profile of this version. The attention budget is not looked at."""

    user_id: str
    notification_id: str
    lane: Lane
    profile_version: int
    expires_at: Millis
    channels: tuple[ChannelPreview, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """Decides and renders as the orchestrator and the senders do, by the same functions. `clock` in ms."""

    auth: Auth
    catalogue: Catalogue
    limits: accept.Limits
    profiles: Profiles
    renderer: Renderer
    clock: Callable[[], int]

    def routes(self) -> tuple[Route, ...]:
        """The one."""
        return (
            Route(
                method="POST",
                path="/v1/preview",
                handler=self.post,
                summary="What would be decided for an event's first recipient, and what they would read",
                who="producer",
                body=CloudEvent,
                media_type=envelopes.STRUCTURED,
                answers={200: PreviewAnswer},
                problems=(400, 401, 403, 413, 415, 422, 503),
            ),
        )

    async def post(self, request: web.Request) -> web.Response:
        """Takes what POST /v1/events takes; no Idempotency-Key is needed."""
        key = self.auth.key(request, "producer")
        headers = CIMultiDict({"Idempotency-Key": "preview", **request.headers})
        envelope = envelope_of(headers, await request.read(), key.own_source).of_tenant(key.tenant)
        now = self.clock()
        accepted = permitted(_judged(envelope, self.catalogue, self.limits, now), envelope, key)
        notification = accepted.notifications[0]
        profile = await self.profiles.read(notification.user_id)
        return json_response(encode(self._answer(notification, profile, now)))

    def _answer(self, notification: NotificationV1, profile: ProfileV1, now: int) -> PreviewAnswer:
        type_ = self.catalogue.types[notification.type]
        profile_slice = slice_of(profile, notification, type_)
        verdicts = decide(notification, profile_slice, StateSlice(), self.catalogue, now)
        return PreviewAnswer(
            user_id=notification.user_id,
            notification_id=notification.notification_id,
            lane=notification.lane,
            profile_version=profile.version,
            expires_at=notification.expires_at,
            channels=tuple(self._channel(notification, profile, verdict, now) for verdict in verdicts),
        )

    def _channel(self, notification: NotificationV1, profile: ProfileV1, verdict: Verdict, now: int) -> ChannelPreview:
        shown, failed = self._shown(next(_deliveries(notification, profile, verdict.channel, now)))
        reason = None if isinstance(verdict, Deliver) else verdict.reason
        return ChannelPreview(
            channel=verdict.channel,
            decision=type(verdict).__name__.lower(),
            reason=reason,
            because=None if reason is None else IN_WORDS[reason],
            until=None if isinstance(verdict, Deliver | Suppress) else verdict.until,
            endpoint_ids=verdict.endpoint_ids if isinstance(verdict, Deliver) else (),
            shown=shown,
            failed=failed,
        )

    def _shown(self, delivery: DeliveryV1) -> tuple[Shown | None, str | None]:
        try:
            if delivery.channel == "inapp":
                return shown(self.renderer.inbox(delivery), delivery.locale or ""), None
            return shown(*self.renderer.message(delivery)), None
        except TemplateFailed as error:
            return None, str(error)


def shown(rendered: Rendered | RenderedInbox, locale: str) -> Shown:
    """As it is answered."""
    match rendered:
        case RenderedEmail(subject, text, html):
            return Shown(locale=locale, subject=subject, text=text, html=html)
        case RenderedSms(text):
            counted = segments.count(text)
            return Shown(
                locale=locale,
                text=text,
                encoding=counted.encoding,
                units=counted.units,
                segments=counted.segments,
            )
        case RenderedWebhook(data):
            return Shown(locale=locale, data=data)
        case RenderedPush() | RenderedInbox():
            return Shown(locale=locale, title=rendered.title, body=rendered.body, link=rendered.link)


def _judged(
    envelope: Envelope, catalogue: Catalogue, limits: accept.Limits, now: int
) -> accept.Accepted | accept.Rejected:
    record = accept.Record(
        value=envelope.value, headers=envelope.headers, lane="high", accepted_at=now, origin="preview"
    )
    return accept.accept(record, catalogue, limits)


def _deliveries(notification: NotificationV1, profile: ProfileV1, channel: Channel, now: int) -> Iterator[DeliveryV1]:
    """As it would be made for an endpoint, whatever was decided."""
    verdict = Deliver(channel=channel, endpoint_ids=("preview",))
    return fan_out.deliveries(notification, profile, verdict, now, 0)
