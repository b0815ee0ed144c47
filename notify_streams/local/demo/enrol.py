"""The people of the demo at the gateway: what they want, and where they are reached."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from .api import Api
from .lines import FOLDER

_AT_ONCE = 64


def people() -> list[dict[str, Any]]:
    """`users.jsonl`."""
    return [msgspec.json.decode(line) for line in (FOLDER / "users.jsonl").read_bytes().splitlines()]


async def enrol(api: Api, users: list[dict[str, Any]], done: Callable[[], None]) -> None:
    """Each sets preferences with a token of their own; a service puts where they are reached. Raises ApiError.

    Many at once: the system works off commands in batches, so that they take little longer than one.
    """
    slots = asyncio.Semaphore(_AT_ONCE)

    async def put(method: str, path: str, secret: str, value: Any) -> None:
        async with slots:
            await api.put(method, path, secret, value)

    async def one(user: dict[str, Any]) -> None:
        path = f"/v1/users/{user['user_id']}"
        changes = [put("PATCH", f"{path}/preferences", api.secrets.token(user["user_id"]), user["preferences"])]
        for endpoint in user["endpoints"]:
            place = f"{path}/endpoints/{endpoint['channel']}/{endpoint['endpoint_id']}"
            known = {name: endpoint[name] for name in ("address", "verified", "platform") if name in endpoint}
            changes.append(put("PUT", place, api.secrets.service, known))
        await asyncio.gather(*changes)
        done()

    try:
        async with asyncio.TaskGroup() as group:
            for user in users:
                group.create_task(one(user))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
