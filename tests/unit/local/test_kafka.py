"""The id of a new cluster."""

from notify_streams.local.kafka import cluster_id


def test_the_id_of_a_cluster_never_looks_like_an_option() -> None:
    made = [cluster_id(bytes([first, *range(15)])) for first in range(256)]
    assert {len(id_) for id_ in made} == {22}
    assert not any(id_.startswith("-") for id_ in made)
