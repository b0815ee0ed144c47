"""Codes over HTTP: sent to the endpoint alone, taken once shown, and never to be had by trying."""

import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from notify_streams.domain import verification
from notify_streams.domain.addresses import address_key
from notify_streams.domain.verification import WINDOW_MS, Claimed
from notify_streams.gateway import verifying
from schemas.commands import VerifyEndpointV1, decode_command
from schemas.notifications import NotificationV1, decode_notification
from tests.builders import MAILBOX
from tests.wire.gateway_parts import SECRET, Bench, a_bench

HOME = "/v1/users/ann/endpoints/email/home"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        await bench.json("PUT", HOME, json={"address": MAILBOX}, headers=bench.user("ann"))
        yield bench


async def verify(bench: Bench, code: str | None = None, path: str = HOME, user: str = "ann") -> tuple[int, Any]:
    given = {} if code is None else {"json": {"code": code}}
    return await bench.json("POST", f"{path}/verify", headers=bench.user(user), **given)


def sent(bench: Bench) -> list[NotificationV1]:
    records = [value for topic, _, value, _ in bench.orchestrator.published if topic == "notifications.high"]
    return [decode_notification(value) for value in records]


def code_in(notification: NotificationV1) -> str:
    assert notification.content is not None
    code: str = msgspec.json.decode(notification.content.payload)["code"]
    return code


async def test_a_code_is_sent_to_that_endpoint_and_to_no_other(bench: Bench) -> None:
    status, body = await verify(bench)
    assert (status, body) == (202, {"status": "sent", "good_for_s": 600})
    [notification] = sent(bench)
    assert (notification.type, notification.user_id, notification.lane) == ("endpoint.verification", "ann", "high")
    assert (notification.channels, notification.endpoint_id) == (("email",), "home")
    assert notification.expires_at - notification.accepted_at == WINDOW_MS
    assert [key for topic, key, *_ in bench.orchestrator.published if topic == "notifications.high"] == [b"ann"]
    assert re.fullmatch("[0-9]{6}", code_in(notification))
    assert code_in(notification) not in str(body)


async def test_the_code_that_was_sent_verifies_the_endpoint(bench: Bench) -> None:
    await verify(bench)
    status, view = await verify(bench, code_in(sent(bench)[0]))
    assert (status, view["verified"], view["address"]) == (200, True, MAILBOX)
    command = decode_command(bench.orchestrator.published[-1][2])
    assert isinstance(command, VerifyEndpointV1)
    assert (command.endpoint_id, command.address_key) == ("home", address_key("email", MAILBOX))
    assert (await bench.json("GET", HOME, headers=bench.user("ann")))[1]["verified"] is True


async def test_a_verified_endpoint_is_sent_no_code(bench: Bench) -> None:
    await verify(bench)
    await verify(bench, code_in(sent(bench)[0]))
    assert (await verify(bench))[0] == 200
    assert len(sent(bench)) == 1


async def test_a_device_needs_no_code(bench: Bench) -> None:
    path = "/v1/users/ann/endpoints/push/phone"
    await bench.json("PUT", path, json={"address": "t" * 64, "platform": "ios"}, headers=bench.user("ann"))
    status, view = await verify(bench, path=path)
    assert (status, view["verified"], sent(bench)) == (200, True, [])


async def test_a_code_is_good_for_the_address_that_it_was_sent_to_only(bench: Bench) -> None:
    await verify(bench)
    await bench.json("PUT", HOME, json={"address": "eve@example.com"}, headers=bench.user("ann"))
    assert (await verify(bench, code_in(sent(bench)[0])))[0] == 422
    assert (await bench.json("GET", HOME, headers=bench.user("ann")))[1]["verified"] is False


@pytest.mark.parametrize("code", ["000000", "", "12345", "1234567", "код", "482 91", "x" * 5000])
async def test_a_wrong_code_is_a_422_and_repeats_nothing(bench: Bench, code: str) -> None:
    status, problem = await verify(bench, code)
    assert (status, problem["code"], problem["errors"][0]["pointer"]) == (422, "code_wrong", "/code")
    assert not code or code not in str(problem)


async def test_a_code_that_is_too_old_says_so(bench: Bench) -> None:
    claimed = Claimed("ann", "email", "home", address_key("email", MAILBOX))
    now = verifying._now()
    old = verification.code(SECRET, claimed, now - 2 * WINDOW_MS)
    status, problem = await verify(bench, old)
    assert (status, problem["code"]) == (422, "code_expired")
    assert (await verify(bench, verification.code(SECRET, claimed, now - WINDOW_MS + 1000)))[0] == 200


async def test_after_five_wrong_tries_not_even_the_right_code_is_taken(bench: Bench) -> None:
    await verify(bench)
    assert [(await verify(bench, "000000"))[0] for _ in range(5)] == [422] * 5
    async with bench.client.post(
        f"{HOME}/verify", json={"code": code_in(sent(bench)[0])}, headers=bench.user("ann")
    ) as response:
        assert (response.status, (await response.json())["code"]) == (429, "too_many_codes")
        assert 1 <= int(response.headers["Retry-After"]) <= 600
    assert (await bench.json("GET", HOME, headers=bench.user("ann")))[1]["verified"] is False


async def test_tries_are_counted_of_the_address_under_whatever_names_a_user_gives_it(bench: Bench) -> None:
    """Each name has codes of its own: else a new name would be five more tries."""
    statuses = []
    for n in range(8):
        path = f"/v1/users/ann/endpoints/email/e{n}"
        await bench.json("PUT", path, json={"address": MAILBOX}, headers=bench.user("ann"))
        statuses.append((await verify(bench, "000000", path))[0])
    assert statuses == [422] * 5 + [429] * 3


async def test_one_user_tries_no_more_than_twenty_times_over_all_addresses(bench: Bench) -> None:
    statuses = []
    for n in range(7):
        path = f"/v1/users/ann/endpoints/email/e{n}"
        await bench.json("PUT", path, json={"address": f"a{n}@example.com"}, headers=bench.user("ann"))
        statuses += [(await verify(bench, "000000", path))[0] for _ in range(3)]
    assert statuses == [422] * 20 + [429]


async def test_somebody_elses_tries_lock_nobody_out(bench: Bench) -> None:
    path = "/v1/users/eve/endpoints/email/home"
    await bench.json("PUT", path, json={"address": MAILBOX}, headers=bench.user("eve"))
    for _ in range(6):
        await verify(bench, "000000", path, "eve")
    await verify(bench)
    assert (await verify(bench, code_in(sent(bench)[0])))[0] == 200


async def test_a_fourth_code_within_ten_minutes_is_refused_with_when_to_come_back(bench: Bench) -> None:
    assert [(await verify(bench))[0] for _ in range(3)] == [202] * 3
    async with bench.client.post(f"{HOME}/verify", json={}, headers=bench.user("ann")) as response:
        assert response.status == 429
        assert 1 <= int(response.headers["Retry-After"]) <= 600
    assert len(sent(bench)) == 3
    assert len({n.notification_id for n in sent(bench)}) == 3


async def test_without_an_endpoint_or_with_somebody_elses_it_is_the_same_404(bench: Bench) -> None:
    mine = await verify(bench, path="/v1/users/ann/endpoints/email/nope")
    theirs = await verify(bench, user="eve")
    assert (mine[0], mine) == (404, theirs)
    assert sent(bench) == []


async def test_a_channel_that_the_catalogue_sends_no_codes_by_is_a_422(bench: Bench) -> None:
    """`sms` is not carried here, and `webhook` not of the type."""
    for path, address in (("sms/phone", "+491701234567"), ("webhook/mine", "https://hooks.example.com")):
        url = f"/v1/users/ann/endpoints/{path}"
        await bench.json("PUT", url, json={"address": address}, headers=bench.user("ann"))
        status, problem = await verify(bench, path=url)
        assert (status, problem["code"]) == (422, "not_verifiable")


async def test_a_body_that_is_none_is_refused(bench: Bench) -> None:
    for body, status in ((b"{", 400), (b"[]", 422), (b'{"code":7}', 422), (b'{"cod":"1"}', 422)):
        options: Any = {"data": body, "headers": {**bench.user("ann"), "Content-Type": "application/json"}}
        assert (await bench.json("POST", f"{HOME}/verify", **options))[0] == status


async def test_an_unconfirmed_verification_is_a_202(tmp_path: Path) -> None:
    async with a_bench(tmp_path, command_timeout="50ms") as bench:
        await bench.json("PUT", HOME, json={"address": MAILBOX}, headers=bench.user("ann"))
        await verify(bench)
        bench.orchestrator.silent = True
        status, body = await verify(bench, code_in(sent(bench)[0]))
        assert (status, body["status"]) == (202, "pending")


async def test_with_the_broker_away_no_code_is_said_to_be_sent(bench: Bench) -> None:
    bench.orchestrator.away = True
    assert (await verify(bench))[0] == 503


async def test_codes_and_addresses_are_in_no_log_whatever_happens(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-09"""
    caplog.set_level(logging.DEBUG)
    await verify(bench)
    code = code_in(sent(bench)[0])
    bench.orchestrator.away = True
    assert (await verify(bench))[0] == 503
    assert (await verify(bench, code))[0] == 503
    bench.orchestrator.away = False
    for shown in ("000000", code, code):
        await verify(bench, shown)
    assert "http.answered" in caplog.text
    for secret in (code, MAILBOX, "000000"):
        assert secret not in caplog.text


async def test_an_address_gets_ten_codes_however_many_users_say_that_it_is_theirs(bench: Bench) -> None:
    service, statuses = bench.key("service"), []
    for number in range(12):
        path = f"/v1/users/user-{number}/endpoints/email/home"
        await bench.json("PUT", path, headers=service, json={"address": "Ann@example.com"})
        statuses.append((await bench.json("POST", f"{path}/verify", headers=service))[0])
    assert statuses == [202] * 10 + [429] * 2
