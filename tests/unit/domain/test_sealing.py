"""What is sealed under a user's key: the same on a repeat, open only there, gone with the key."""

from binascii import a2b_base64, b2a_base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.sealing import SECRET_BYTES, Broken, Place, Redacted, UserKey, opened, unwrap, wrap
from schemas.content import Sealed

ANN, BOB = UserKey(bytes(range(SECRET_BYTES))), UserKey(b"b" * SECRET_BYTES)
HERE = Place("7d0f5c6e-0000-5000-8000-000000000001", "content", "notifications")
PINNED = Sealed("016c677ab5840b688ceff24d", "7+6GDe6UMysFBFcrR1FZ+Q==", "yu/S0VRhyHmUZDASz4WGAXmDTw==")
MASTER, OTHER_MASTER = b"m" * SECRET_BYTES, b"n" * SECRET_BYTES


@given(st.binary(max_size=300))
def test_what_was_sealed_opens_and_a_repeat_gives_the_same_bytes(plain: bytes) -> None:
    sealed = ANN.seal(plain, HERE)
    assert opened(sealed, ANN, HERE) == plain
    assert UserKey(ANN.secret).seal(plain, HERE) == sealed


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_two_texts_never_share_a_nonce(one: bytes, other: bytes) -> None:
    assert (ANN.seal(one, HERE).nonce == ANN.seal(other, HERE).nonce) == (one == other)


@pytest.mark.parametrize("part", ["record_id", "field", "hop"])
def test_the_same_text_elsewhere_is_other_bytes_and_opens_only_there(part: str) -> None:
    there = msgspec.structs.replace(HERE, **{part: "else"})
    assert ANN.seal(b"Ann", there).data != ANN.seal(b"Ann", HERE).data
    with pytest.raises(Broken, match="not as it was sealed"):
        ANN.open(ANN.seal(b"Ann", HERE), there)


def test_parts_of_a_place_do_not_run_into_each_other() -> None:
    sealed = ANN.seal(b"Ann", Place("ab", "c", "d"))
    with pytest.raises(Broken):
        ANN.open(sealed, Place("a", "bc", "d"))


@given(st.sampled_from(["nonce", "data"]), st.integers(0, 15), st.integers(1, 255))
def test_an_altered_byte_is_noticed(part: str, at: int, change: int) -> None:
    sealed = ANN.seal(b"a text of more than 16 bytes", HERE)
    altered = bytearray(a2b_base64(getattr(sealed, part)))
    altered[at] ^= change
    spelled = b2a_base64(altered, newline=False).decode()
    with pytest.raises(Broken):
        ANN.open(msgspec.structs.replace(sealed, **{part: spelled}), HERE)


@pytest.mark.parametrize(
    ("nonce", "data", "reason"),
    [("", "", "expected 16 bytes"), ("AAAA", "AAAA", "expected 16 bytes"), ("?", "AAAA", "sealed: ")],
)
def test_what_was_never_sealed_is_broken_not_a_crash(nonce: str, data: str, reason: str) -> None:
    with pytest.raises(Broken, match=reason):
        ANN.open(Sealed(ANN.key_id, nonce, data), HERE)


@pytest.mark.parametrize("key", [None, BOB], ids=["destroyed", "made anew"])
def test_without_the_key_it_was_sealed_under_it_is_redacted(key: UserKey | None) -> None:
    sealed = ANN.seal(b"Ann", HERE)
    assert opened(sealed, key, HERE) == Redacted(ANN.key_id)


def test_another_users_key_does_not_open_what_claims_to_be_its_own() -> None:
    forged = msgspec.structs.replace(ANN.seal(b"Ann", HERE), key_id=BOB.key_id)
    with pytest.raises(Broken):
        opened(forged, BOB, HERE)


def test_the_sealed_form_is_pinned() -> None:
    """What is in a log or an archive must open for as long as its key lives."""
    assert ANN.seal(b'{"payload":{"n":1}}', HERE) == PINNED


def test_a_key_is_named_by_its_print_and_never_shows_its_secret() -> None:
    assert ANN.key_id != BOB.key_id
    assert repr(ANN) == f"UserKey({ANN.key_id})"


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="64 bytes, not 32"):
        UserKey(b"x" * 32)


def test_a_wrapped_key_is_read_with_its_master_key_and_for_its_user_only() -> None:
    wrapped = wrap(ANN, "ann", MASTER)
    assert ANN.secret not in wrapped
    assert unwrap(wrapped, "ann", MASTER).secret == ANN.secret
    for user, master, kept in (("bob", MASTER, wrapped), ("ann", OTHER_MASTER, wrapped), ("ann", MASTER, b"short")):
        with pytest.raises(Broken, match="not as it was wrapped"):
            unwrap(kept, user, master)
