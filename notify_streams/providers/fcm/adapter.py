"""The FCM provider: one `messages:send` per token (FCM HTTP v1, REST method projects.messages.send)."""

import asyncio
import logging
from dataclasses import dataclass

from notify_streams import settings
from notify_streams.domain.answers import Answer, Refused, Sent, TryLater
from notify_streams.domain.rendered import RenderedPush
from notify_streams.ports import Message
from notify_streams.providers.fcm import codes, payload
from notify_streams.providers.fcm.auth import Account, Tokens
from notify_streams.providers.http import Failure, Http, Reply

DEFAULT_URL = "https://fcm.googleapis.com"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FcmProvider:
    """Implements `ports.Provider`.

    Repeatable: tag and collapse key are the same for every attempt, so that a device shows one notification whatever
    became of an attempt whose answer was lost.
    """

    http: Http
    tokens: Tokens
    url: str
    name: str = "fcm"
    repeatable: bool = True

    @classmethod
    def of(
        cls, provider: settings.Provider, channel: settings.Channel, *, name: str = "fcm", public_url: str = ""
    ) -> "FcmProvider":
        """From the settings. Raises SettingsError for a service account that is missing or none."""
        account = Account.read(provider.credentials_file, f"providers.{name}.credentials_file")
        http = Http.of(provider, channel, name=name)
        base = (provider.url or DEFAULT_URL).rstrip("/")
        return cls(http, Tokens(account, http), f"{base}/v1/projects/{account.file.project_id}/messages:send", name)

    def takes(self, message: Message) -> bool:
        """Push for Android; for others only what has the form of FCM's own tokens, which hold a colon."""
        if not isinstance(message.rendered, RenderedPush) or message.address.startswith("{"):
            return False
        return message.platform in ("android", None) or ":" in message.address

    async def send(self, message: Message, *, now: int) -> Answer:
        """Hand the message over. Whatever FCM or the network does is an Answer."""
        body = payload.body(message, now=now)
        if body is None:
            return Refused("the link leaves no room for a text")
        until = self.http.deadline()
        reply = await self._post(body, now, until)
        if isinstance(reply, Reply) and codes.token_refused(reply.status, reply.json()):
            reply = await self._post(body, now, until)  # a token may end early; the second one is new
        return self._answer(reply, now) if isinstance(reply, Reply) else reply

    async def close(self) -> None:
        """Let go of connections."""
        await self.tokens.close()
        await self.http.close()

    async def _post(self, body: bytes, now: int, until: float) -> Reply | Failure | Answer:
        try:
            async with asyncio.timeout_at(until):
                token = await self.tokens.token(now)
        except TimeoutError:
            return TryLater("no access token in time", about="provider")
        if not isinstance(token, str):
            return token
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        reply = await self.http.post(self.url, body, headers, until=until)
        if isinstance(reply, Reply) and codes.token_refused(reply.status, reply.json()):
            self.tokens.forget(token)
        return reply

    def _answer(self, reply: Reply, now: int) -> Answer:
        answer = reply.json()
        if reply.accepted:
            name = answer.get("name")
            return Sent(name if isinstance(name, str) else None)
        if codes.code_of(answer) in codes.TO_BE_WARNED_OF:
            log.warning("fcm.configuration provider=%s code=%s", self.name, codes.code_of(answer))
        return codes.meaning(reply.status, answer, reply.retry_after(now))
