"""The gateway as its clients see it: a producer, a service, an operator, and people with a token of their own."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import jwt
import msgspec

_ANSWER = aiohttp.ClientTimeout(total=30)
_TOKEN_LIVES = timedelta(hours=12)


class ApiError(RuntimeError):
    """The gateway gave an answer that the demo cannot go on with; the message says which."""


class Secrets(msgspec.Struct, frozen=True):
    """What opens the gateway for this run."""

    producer: str
    service: str
    operator: str
    tokens: str

    def token(self, user_id: str) -> str:
        """A user's own, for half a day."""
        return jwt.encode({"sub": user_id, "exp": datetime.now(UTC) + _TOKEN_LIVES}, self.tokens, algorithm="HS256")


class Answer(msgspec.Struct, frozen=True):
    """Status, headers and body of one."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body's value."""
        return msgspec.json.decode(self.body)


class Api:
    """One gateway."""

    def __init__(self, http: aiohttp.ClientSession, base: str, secrets: Secrets) -> None:
        self.base, self.secrets = base, secrets
        self._http = http

    async def ask(
        self, method: str, path: str, secret: str, *, body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> Answer:
        """One request, whatever the answer. Raises ApiError when there is none."""
        sent = {"Authorization": f"Bearer {secret}", **headers}
        try:
            async with self._http.request(method, self.base + path, data=body, headers=sent, timeout=_ANSWER) as answer:
                return Answer(answer.status, answer.headers.copy(), await answer.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiError(f"{method} {self.base}{path}: {error!r}") from error

    async def get(self, path: str, secret: str) -> Any:
        """The value of a 200. Raises ApiError for anything else."""
        return self._wanted(await self.ask("GET", path, secret), f"GET {path}").json()

    async def put(self, method: str, path: str, secret: str, value: Any) -> None:
        """Change something; a 202 (not confirmed in time) is asked again. Raises ApiError."""
        body = msgspec.json.encode(value)
        for _ in range(5):
            answer = await self.ask(method, path, secret, body=body, headers={"Content-Type": "application/json"})
            if answer.status != 202:
                break
        self._wanted(answer, f"{method} {path}")

    def _wanted(self, answer: Answer, what: str) -> Answer:
        if answer.status != 200:
            raise ApiError(f"{what}: {answer.status} {answer.body[:300].decode(errors='replace')}")
        return answer
