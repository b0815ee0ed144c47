"""Forms as vendors post them: URL-encoded or multipart, in whatever charset."""

import codecs
import re
from email.message import Message
from email.parser import BytesParser
from urllib.parse import parse_qsl

MOST_FIELDS = 1000
_MOST_BYTES, _MOST_LINES = 64 * 1024, 4000  # of a multipart form: its parser is slow
_CHARSET = re.compile(
    r"utf-8|utf-16(-[bl]e)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|gb2312|gbk|gb18030|big5|shift_jis|euc_jp|euc_kr|iso2022_jp"
)
_NESTED = re.compile(rb"content-type\s*:\s*(multipart|message)\s*/", re.IGNORECASE)


def fields(body: bytes, content_type: str) -> list[tuple[str, str]] | None:
    """Names and values in order; None for what is no form. Bytes that are not of their charset come as U+FFFD."""
    header = Message()
    header["Content-Type"] = content_type
    match header.get_content_type():
        case "application/x-www-form-urlencoded":
            return _urlencoded(body, header.get_content_charset("utf-8"))
        case "multipart/form-data":
            return _multipart(body, content_type)
        case _:
            return None


def _urlencoded(body: bytes, charset: str) -> list[tuple[str, str]] | None:
    """Latin-1 on the way: it has a character for every byte, escaped or not."""
    try:
        pairs = parse_qsl(
            body.decode("latin-1"), keep_blank_values=True, encoding="latin-1", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        return None
    return [(_text(name.encode("latin-1"), charset), _text(value.encode("latin-1"), charset)) for name, value in pairs]


def _multipart(body: bytes, content_type: str) -> list[tuple[str, str]] | None:
    """Files are left out. A part that has parts of its own is no form's (RFC 7578, 4.3), and a nest of them would hold
    the parser, and with it the whole gateway, for seconds.
    """
    if len(body) > _MOST_BYTES or body.count(b"\n") + body.count(b"\r") > _MOST_LINES or _NESTED.search(body):
        return None
    head = b"Content-Type: " + content_type.encode("ascii", errors="replace") + b"\r\n\r\n"
    form = BytesParser().parsebytes(head + body)
    parts = form.get_payload()
    if not isinstance(parts, list) or form.defects or len(parts) > MOST_FIELDS:
        return None
    found = []
    for part in parts:
        if not isinstance(part, Message):
            return None
        name = part.get_param("name", header="Content-Disposition")
        value = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(value, bytes) and part.get_filename() is None:
            found.append((name, _text(value, part.get_content_charset("utf-8"))))
    return found


def _text(raw: bytes, charset: str) -> str:
    """Only charsets that texts are in: strangers name them, and Python knows others that raise or take minutes."""
    try:
        known = _CHARSET.fullmatch(codecs.lookup(charset).name) is not None
    except (LookupError, ValueError):
        known = False
    return raw.decode(charset if known else "utf-8", errors="replace")
