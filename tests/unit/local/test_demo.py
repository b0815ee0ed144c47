"""The demo's files are what the script writes, and are what they claim to be."""

import json
from collections import Counter

import msgspec

from notify_streams.local.demo.generate import FOLDER, hour
from notify_streams.local.demo.people import DEAD_DEVICES, users
from schemas.commands import Preferences


def lines(name: str) -> list[object]:
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


def test_the_files_are_up_to_date() -> None:
    kafka, http = hour()
    assert lines("hour.jsonl") == json.loads(json.dumps(kafka))
    assert lines("hour_http.jsonl") == json.loads(json.dumps(http))
    assert lines("users.jsonl") == json.loads(json.dumps(users()))


def test_every_user_has_preferences_that_the_gateway_takes() -> None:
    for user in users():
        msgspec.convert(user["preferences"], Preferences)


def test_the_people_are_reached_on_every_channel_and_platform() -> None:
    met = Counter((e["channel"], e.get("platform", "")) for user in users() for e in user["endpoints"])
    assert met.keys() == {
        *(("push", platform) for platform in ("ios", "android", "web")),
        *((channel, "") for channel in ("email", "sms", "webhook")),
    }
    assert all(tokens for tokens in DEAD_DEVICES.values())


def test_every_line_says_in_one_way_what_to_send() -> None:
    kafka, http = hour()
    assert all(len({"event", "binary", "raw", "null"} & line.keys()) == 1 for line in kafka)
    assert all(len({"event", "short"} & line.keys()) == 1 for line in http)
