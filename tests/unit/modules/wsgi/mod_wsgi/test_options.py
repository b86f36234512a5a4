"""Words of the directives of mod_wsgi (mod_wsgi.c, wsgi_parse_option)."""

from __future__ import annotations

import pytest

from whimbrel.base.errors import ConfigError
from whimbrel.modules.wsgi.mod_wsgi.options import options


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("a=b", [("a", "b")]),
        ("  a=b\tc=d", [("a", "b"), ("c", "d")]),
        ('a="b c" d=e', [("a", "b c"), ("d", "e")]),
        ("a= b=c", [("a", "b=c")]),  # ap_getword_conf skips blanks
        ("a=b=c", [("a", "b=c")]),
        ("a=", [("a", "")]),
    ],
)
def test_names_and_values(text: str, found: list[tuple[str, str]]) -> None:
    assert list(options(text, "refused")) == found


@pytest.mark.parametrize("text", ["a", "a b=c", "=b", " =b", "a =b", "a=b c"])
def test_a_word_without_a_name_or_a_sign_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="refused$"):
        list(options(text, "refused"))
