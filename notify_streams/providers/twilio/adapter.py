"""The Twilio provider: one Message created, and what its answer means (Twilio, "Messages resource").

The API knows no idempotency key for messages, so an answer that was lost stays unknown: every attempt carries the same
reference in its status callback, and a receipt for it settles what became of the one that was lost.
"""

import base64
import logging
from dataclasses import dataclass
from urllib.parse import quote

from notify_streams import settings
from notify_streams.domain import segments
from notify_streams.domain.answers import Answer, Refused, Sent
from notify_streams.domain.phone_numbers import E164, is_region
from notify_streams.domain.rendered import RenderedSms
from notify_streams.ports import Message
from notify_streams.providers.http import Http, Reply
from notify_streams.providers.mail.required import base, required
from notify_streams.providers.twilio import codes, payload
from notify_streams.providers.twilio.senders import Senders

DEFAULT_URL = "https://api.twilio.com"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TwilioProvider:
    """Implements `ports.Provider`."""

    http: Http
    url: str
    authorization: str
    senders: Senders
    public_url: str = ""
    name: str = "twilio"
    repeatable: bool = False

    @classmethod
    def of(
        cls, provider: settings.Provider, channel: settings.Channel, *, name: str = "twilio", public_url: str = ""
    ) -> "TwilioProvider":
        """From the settings. Raises SettingsError for what is missing, and for a sender that Twilio would not take."""
        required(provider, name, "account_sid", "auth_token")
        if provider.default_region and not is_region(provider.default_region):
            raise settings.SettingsError(f"providers.{name}.default_region: expected a country such as DE or GB")
        account = f"/2010-04-01/Accounts/{quote(provider.account_sid, safe='')}/Messages.json"
        return cls(
            Http.of(provider, channel, name=name),
            base(provider, name, DEFAULT_URL) + account,
            _basic(provider.account_sid, provider.auth_token),
            Senders.of(provider, name),
            public_url,
            name,
        )

    def takes(self, message: Message) -> bool:
        """Every text to a number."""
        return isinstance(message.rendered, RenderedSms) and E164.fullmatch(message.address) is not None

    async def send(self, message: Message, *, now: int) -> Answer:
        """Hand the text over. Whatever Twilio or the network does is an Answer; `Sent.detail` names a sender that had
        to take the place of the one that was asked for.
        """
        if not isinstance(message.rendered, RenderedSms):
            return Refused("no text message")
        text = message.rendered.text
        if len(text) > payload.LONGEST:
            return Refused(f"longer than {payload.LONGEST:,} characters")
        sender = self.senders.choose(message.address)
        if isinstance(sender, str):
            return Refused(sender)
        callback = payload.callback(self.public_url, self.name, message.reference)
        body = payload.form(message, text, sender, callback, now=now)
        headers = {"Authorization": self.authorization, "Content-Type": "application/x-www-form-urlencoded"}
        reply = await self.http.post(self.url, body, headers)
        if not isinstance(reply, Reply):
            return reply
        return self._answer(reply, segments.count(text).segments, sender.note, now)

    async def close(self) -> None:
        """Let go of connections."""
        await self.http.close()

    def _answer(self, reply: Reply, counted: int, note: str, now: int) -> Answer:
        said = reply.json()
        if reply.accepted and said.get("status") not in ("failed", "undelivered"):
            sid = said.get("sid")
            return Sent(sid if isinstance(sid, str) else None, self._segments(said.get("num_segments"), counted), note)
        code = codes.code_of(said.get("error_code") if reply.accepted else said.get("code"))
        if code in codes.TO_BE_WARNED_OF:
            log.warning("twilio.configuration provider=%s code=%s", self.name, code)
        # Created and failed at once: 400 stands for what the code does not say.
        return codes.meaning(400 if reply.accepted else reply.status, code, reply.retry_after(now))

    def _segments(self, said: object, counted: int) -> int:
        """As they are billed: 0 comes from Messaging Services, which choose the sender later."""
        billed = int(said) if isinstance(said, str) and said.isascii() and said.isdigit() and len(said) < 4 else 0
        if billed not in (0, counted):
            log.warning("sms.segments_differ provider=%s counted=%d billed=%d", self.name, counted, billed)
        return billed or counted


def _basic(user: str, password: str) -> str:
    """RFC 7617."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
