"""Master keys by id: an older one still reads what it wrapped, a missing one is named."""

import pytest

from notify_streams.domain.sealing import SECRET_BYTES, UserKey
from notify_streams.ports import Unavailable
from notify_streams.privacy.masters import Masters

OLD, NEW = b"o" * SECRET_BYTES, b"n" * SECRET_BYTES
ANN = UserKey(b"a" * SECRET_BYTES)


def test_after_a_rotation_what_the_older_master_key_wrapped_is_still_read() -> None:
    kept = Masters("m1", {"m1": OLD}).wrap(ANN, "ann")
    both = Masters("m2", {"m1": OLD, "m2": NEW})
    assert both.unwrap(kept, "ann").key_id == ANN.key_id
    assert Masters("m2", {"m2": NEW}).unwrap(both.wrap(ANN, "ann"), "ann").key_id == ANN.key_id


def test_a_master_key_that_is_not_given_is_an_outage_that_names_it() -> None:
    kept = Masters("m1", {"m1": OLD}).wrap(ANN, "ann")
    with pytest.raises(Unavailable, match="'m1' that wrapped one of them is not given"):
        Masters("m2", {"m2": NEW}).unwrap(kept, "ann")


def test_another_secret_under_the_same_id_is_an_outage_that_names_it() -> None:
    kept = Masters("m1", {"m1": OLD}).wrap(ANN, "ann")
    with pytest.raises(Unavailable, match="'m1' is not the one"):
        Masters("m1", {"m1": NEW}).unwrap(kept, "ann")


@pytest.mark.parametrize(
    ("current", "secrets", "reason"),
    [
        ("m2", {"m1": OLD}, "'m2': not among those given"),
        ("m1", {"m1": b"short"}, "'m1': expected 64 bytes, got 5"),
        ("", {"": OLD}, "'': its id must have 1 to 255 bytes"),
    ],
)
def test_unusable_master_keys_are_refused_by_name(current: str, secrets: dict[str, bytes], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Masters(current, secrets)
