"""Where in a TOML file an entry is found."""

import pytest

from notify_streams.content.toml_lines import line_of

TEXT = """# a comment, then [budget] in words
channels = [
  "email",  # hour = 3
]
about = \"\"\"
[budget]
hour = 1
\"\"\"

[types."a.b"]
category = "x"
sample = { text = "y", deep = { er = 1 } }
more.dotted = 1

[types.c]
category = "x"
  [budget]  # indented
  hour = 2
[defaults.tenants.shop]
zone = "UTC"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("channels",), 2),
        (("about",), 5),
        (("types", "a.b"), 10),
        (("types", "a.b", "category"), 11),
        (("types", "a.b", "sample", "deep", "er"), 12),
        (("types", "a.b", "more", "dotted"), 13),
        (("types", "a.b", "ttl"), 10),
        (("types", "c", "category"), 16),
        (("budget", "hour"), 18),
        (("budget", "day"), 17),
        (("defaults", "tenants", "shop", "zone"), 20),
        (("windows", "wait"), None),
        (("types", "z"), None),
        ((), None),
    ],
)
def test_the_line_is_that_of_the_entry_or_of_the_nearest_table_around_it(
    path: tuple[str, ...], line: int | None
) -> None:
    assert line_of(TEXT, path) == line
