"""Which HTTP statuses are final, which are ours to mend, and which pass."""

import pytest

from notify_streams.domain.answers import Misconfigured, Refused, TryLater
from notify_streams.domain.http_status import accepted, detail, meaning


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ((408, 425, 429, 500, 502, 503, 504, 507, 599), TryLater),
        ((400, 404, 405, 410, 413, 415, 422, 501, 505), Refused),
        ((401, 402, 403, 407, 301, 302, 307, 308), Misconfigured),
    ],
)
def test_each_status_has_its_class(statuses: tuple[int, ...], kind: type) -> None:
    """RTY-04."""
    for status in statuses:
        assert type(meaning(status, "x")) is kind, status


def test_what_passes_names_the_provider_and_the_wait() -> None:
    assert meaning(503, "503", 7.0) == TryLater("503", 7.0, about="provider")


def test_only_2xx_is_accepted() -> None:
    assert [status for status in (199, 200, 202, 204, 299, 300, 304) if accepted(status)] == [200, 202, 204, 299]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("UNREGISTERED", "404 UNREGISTERED"),
        (21610, "404 21610"),
        (None, "404"),
        ("no such token d3adb33f", "404"),
        ("ann@example.com", "404"),
        ("+49151", "404"),
        ({"a": 1}, "404"),
        ("x" * 65, "404"),
    ],
)
def test_a_detail_holds_a_plain_code_or_nothing(code: object, expected: str) -> None:
    assert detail(404, code) == expected
