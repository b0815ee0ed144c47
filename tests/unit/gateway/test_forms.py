"""Forms as vendors post them."""

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.gateway.receipts.forms import fields

URLENCODED = "application/x-www-form-urlencoded"
texts = st.text(st.characters(codec="utf-8"), max_size=20)


@given(st.lists(st.tuples(texts.filter(bool), texts), max_size=6))
def test_what_was_encoded_is_read_in_order_blank_and_repeated_ones_included(pairs: list[tuple[str, str]]) -> None:
    assert fields(urlencode(pairs).encode(), URLENCODED) == pairs


@pytest.mark.parametrize(
    ("body", "content_type", "value"),
    [
        (b"Body=Gr%C3%BC%C3%9Fe+%E2%80%A6", URLENCODED, "Grüße …"),
        ("Body=Grüße".encode(), URLENCODED, "Grüße"),
        (b"Body=Gr%FC%DFe", f"{URLENCODED}; charset=iso-8859-1", "Grüße"),
        (b"Body=Gr%FC%DFe", URLENCODED, "Gr\ufffd\ufffde"),
        (b"Body=Gr%FC", f"{URLENCODED}; charset=klingon", "Gr\ufffd"),
        (b"Body=%zz%", URLENCODED, "%zz%"),
    ],
)
def test_text_is_intact_or_visibly_replaced(body: bytes, content_type: str, value: str) -> None:
    """WHK-08"""
    assert fields(body, content_type) == [("Body", value)]


def test_parts_of_a_multipart_form_are_as_they_were_line_breaks_included() -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n2\r\n\r\n--b\r\n'
    body += b'Content-Disposition: form-data; name="f"; filename="x.txt"\r\n\r\nfile\r\n--b--\r\n'
    assert fields(body, "multipart/form-data; boundary=b") == [("a", "1\r\n2\r\n")]


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "hex", "unicode_escape", "x" * 1000, "a/../b"])
def test_what_is_no_charset_of_texts_is_read_as_utf_8(charset: str) -> None:
    """Anybody may name one: `idna` raises, and `punycode` takes minutes for two megabytes."""
    content_type = f"{URLENCODED}; charset={charset}"
    assert fields(b"Body=x-" + b"a" * 200_000, content_type) == [("Body", "x-" + "a" * 200_000)]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            b"".join(b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (n, n + 1) for n in range(2000)),
            id="two thousand levels",
        ),
        pytest.param(b"--b0\r\nContent-Type: message/rfc822\r\n\r\n", id="a mail"),
        pytest.param(b"--b0\r\n\r\n" + b"\n" * 60_000, id="sixty thousand lines"),
        pytest.param(b"--b0\r\n\r\n" + b"x" * 1_000_000, id="a megabyte"),
    ],
)
def test_what_a_parser_would_be_busy_with_is_no_form(body: bytes) -> None:
    assert fields(body, "multipart/form-data; boundary=b0") is None


@given(
    st.binary(max_size=200), st.sampled_from(["multipart/form-data; boundary=b", "multipart/form-data", URLENCODED, ""])
)
def test_no_bytes_break_it(body: bytes, content_type: str) -> None:
    found = fields(body, content_type)
    assert found is None or all(isinstance(value, str) for _, value in found)
