"""`notify explain --verify`: what it prints and how it ends."""

import json

import msgspec
import pytest

from notify_streams.cli.verifying import checks, show
from notify_streams.records.memory import MemoryRecords
from schemas.codec import encode
from schemas.decisions import DecisionV1, Deliver
from tests.builders import A_NOTIFICATION
from tests.decisions import CATALOGUE, a_recorded_decision

TO_HOME = Deliver(channel="email", endpoint_ids=("home",))


async def known(*decisions: DecisionV1, catalogue: bool = True) -> MemoryRecords:
    records = MemoryRecords()
    await records.write(decisions)
    if catalogue:
        await records.write_catalogues({CATALOGUE.hash: encode(CATALOGUE)})
    return records


async def shown(records: MemoryRecords, *, as_json: bool = False) -> bool:
    """Whether all is well."""
    return show(A_NOTIFICATION, await checks(records, A_NOTIFICATION), as_json=as_json)


async def test_what_verifies_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert await shown(await known(a_recorded_decision()))
    assert capsys.readouterr().out.endswith("verified\n1 of 1 decision verified.\n")


async def test_a_difference_ends_badly_and_says_how_many_do_not_differ(capsys: pytest.CaptureFixture[str]) -> None:
    again = msgspec.structs.replace(a_recorded_decision(), now=a_recorded_decision().now + 1)
    wrong = msgspec.structs.replace(a_recorded_decision(), verdicts=(a_recorded_decision().verdicts[0], TO_HOME))
    assert not await shown(await known(wrong, again))
    said = capsys.readouterr().out
    assert "recorded: send it by mail to home" in said
    assert said.endswith("1 of 2 decisions verified.\n")


async def test_a_catalogue_that_nobody_recorded_ends_badly_and_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert not await shown(await known(a_recorded_decision(), catalogue=False))
    assert "the catalogue c0ffee, by which it was decided, is not in the records" in capsys.readouterr().out


async def test_without_a_decision_there_is_nothing_to_verify(capsys: pytest.CaptureFixture[str]) -> None:
    assert not await shown(await known())
    assert capsys.readouterr().err == f"No decision about notification {A_NOTIFICATION} is recorded (yet).\n"


async def test_json_holds_every_decision_and_what_came_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = msgspec.structs.replace(a_recorded_decision(), verdicts=(a_recorded_decision().verdicts[0], TO_HOME))
    assert not await shown(await known(wrong), as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert (said["notification_id"], said["verified"]) == (A_NOTIFICATION, False)
    [check] = said["decisions"]
    assert check["result"] == "differs"
    assert [v["verdict"] for v in check["decision"]["verdicts"]] == ["deliver", "deliver"]
    assert [v["verdict"] for v in check["again"]] == ["deliver", "defer"]


async def test_json_of_what_verifies_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert await shown(await known(a_recorded_decision()), as_json=True)
    assert json.loads(capsys.readouterr().out)["verified"] is True
