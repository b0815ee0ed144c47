"""The registry's table: kept, replaced, forgotten."""

from pathlib import Path

from schemas.addresses import AddressState, Held, Owner
from tables.addresses import Addresses
from tests.builders import NOW
from tests.fakes import Recording, Table


def test_an_address_is_kept_replaced_and_forgotten_with_its_changelog(tmp_path: Path) -> None:
    table, outgoing = Table(tmp_path, "notify.addresses-changelog"), Recording()
    addresses, key = Addresses(table, "notify."), b"0a" * 16
    assert addresses.load(1, key) is None
    state = AddressState("push", (Owner("ann", "phone", NOW),), (Held("manual", None, NOW, "/keys/ops"),), (1, 4))
    addresses.store(1, key, state, outgoing)
    assert (addresses.load(1, key), addresses.load(0, key)) == (state, None)
    addresses.store(1, key, None, outgoing)
    assert (addresses.load(1, key), table.content(1)) == (None, {})
    assert [(r.topic, r.partition, r.key, r.value is None) for r in outgoing.records] == [
        ("addresses-changelog", 1, key, False),
        ("addresses-changelog", 1, key, True),
    ]
