"""The simulator in the demo: the trouble it makes, the browsers that subscribe to it, what it posted."""

from collections import Counter
from typing import Any

import aiohttp

from .api import ApiError
from .people import DEAD_DEVICES, FAILING_OVER

BROWSER = "{browser}"
SIMULATOR = "{simulator}"
_ANSWER = aiohttp.ClientTimeout(total=10)
# Rules for the script: two devices are no more, and SES is busy for the first mail of some.
_RULES: tuple[dict[str, Any], ...] = (
    *({"recipient": token, "answers": [{"stage": "data", "code": 410}] * 3} for token in DEAD_DEVICES["apns"]),
    *({"recipient": token, "answers": [{"stage": "data", "code": 404}] * 3} for token in DEAD_DEVICES["fcm"]),
    *(
        {"recipient": mailbox, "provider": "ses", "answers": [{"stage": "data", "code": 503}]}
        for mailbox in FAILING_OVER
    ),
)


class Simulator:
    """Raises ApiError where it does not answer as expected."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http, self.url = http, url

    async def prepare(self) -> None:
        """From now on it does as the demo wants it."""
        for rule in _RULES:
            await self._ask("PUT", "/script", rule)

    async def reached(self, users: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The people, with addresses that lead here."""
        return [{**user, "endpoints": [await self._reached(user, e) for e in user["endpoints"]]} for user in users]

    async def posted(self) -> tuple[Counter[str], int]:
        """Receipts that were taken, by provider; and of how many messages something is still to be said."""
        callbacks = (await self._ask("GET", "/counts"))["callbacks"]
        return Counter(callbacks["by_provider"]), callbacks["waiting"]

    async def _reached(self, user: dict[str, Any], endpoint: dict[str, Any]) -> dict[str, Any]:
        if endpoint["address"] == BROWSER:
            subscription = await self._ask("POST", "/webpush/subscribe", {"name": user["user_id"]}, text=True)
            return {**endpoint, "address": subscription}
        return {**endpoint, "address": endpoint["address"].replace(SIMULATOR, self.url)}

    async def _ask(self, method: str, path: str, body: object = None, *, text: bool = False) -> Any:
        try:
            async with self._http.request(method, self.url + path, json=body, timeout=_ANSWER) as answer:
                answer.raise_for_status()
                return await (answer.text() if text else answer.json())
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiError(f"{method} {self.url}{path}: {error!r}") from error
