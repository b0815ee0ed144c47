from pathlib import Path

import agents
import notify_streams
import schemas
import tables

ROOT = Path(__file__).parents[2]


def test_the_four_packages_are_this_projects_own() -> None:
    packages = (notify_streams, agents, tables, schemas)  # other packages are called `tables` and `agents`, too
    assert {Path(package.__file__ or "").parents[1] for package in packages} == {ROOT}
