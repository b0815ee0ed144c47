"""The id of a new cluster."""

import pytest

from notify_streams.local.kafka import cluster_id


@pytest.mark.parametrize("first", range(256))
def test_the_id_of_a_cluster_never_looks_like_an_option(first: int) -> None:
    made = cluster_id(bytes([first, *range(15)]))
    assert len(made) == 22
    assert not made.startswith("-")
