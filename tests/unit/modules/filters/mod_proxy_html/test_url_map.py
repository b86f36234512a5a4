"""URL maps: results that apache2 gives for the same texts."""

from __future__ import annotations

import pytest

from whimbrel.base.regex import compile_regex
from whimbrel.modules.filters.mod_proxy_html.url_map import Rewriter, UrlMap, _compiled


def rewriter(*lines: str) -> Rewriter:
    """Return the maps of ProxyHTMLURLMap lines."""
    maps = []
    for line in lines:
        before, after, flags = (line.split(" ") + ["", ""])[:3]
        regex = compile_regex(before, ignore_case="i" in flags) if "R" in flags else None
        maps.append(UrlMap(before, after, flags, regex))
    return Rewriter(maps)


@pytest.mark.parametrize(
    ("lines", "given", "wanted"),
    [
        (("/a/ /N/",), "/a/x", "/N/x"),
        (("/a/ /N/",), "/A/x", "/N/x"),
        (("/a/ /N/",), "x/a/x", "x/a/x"),
        (("/a/ /N/ h",), "/a/x", "/a/x"),
        (("/([a-z])/ /R$1/ R",), "/a/x", "/Ra/x"),
        (("/([a-z])/ /R$1/ Rl", "/Ra/ /S/ R"), "/a/x", "/S/x"),
        (("/([a-z])/ /R$1/ R", "/Ra/ /S/ R"), "/a/x", "/Ra/x"),
        (("/a/ /b/", "/b/ /c/"), "/a/x", "/b/x"),
    ],
)
def test_a_link_is_changed_by_the_first_map(lines: tuple[str, ...], given: str, wanted: str) -> None:
    assert rewriter(*lines).link(given) == wanted


@pytest.mark.parametrize(
    ("lines", "given", "wanted"),
    [
        (("/a/ /N/",), "f('/a/x','/a/y','/a/z')", "f('/N/x','/N/y','/N/z')"),
        (("/a/ /longer/",), "f('/a/x','/a/y','/a/z')", "f('/longer/x','/a/longer/,'/a/z')"),
        (("/a/ /s",), "f('/a/x','/a/y','/a/z')", "f('/sx','//s','//s')"),
        (("/a/ /n/ ^",), "f('/a/x')", "f('/a/x')"),
        (("f(' g(' ^",), "f('/a/x')", "g('/a/x')"),
        (("z') Z') $",), "f('/a/z')", "f('/a/Z')"),
        (("/a/ /b/ L", "/b/ /c/"), "/a/ /b/", "/b/ /b/"),
        (("/a/ /b/", "/b/ /c/"), "/a/ /b/", "/c/ /c/"),
        (("/a/ /b/ e",), "/a/", "/a/"),
    ],
)
def test_an_event_is_changed_as_by_apache(lines: tuple[str, ...], given: str, wanted: str) -> None:
    assert rewriter(*lines).event(given) == wanted


@pytest.mark.parametrize(
    ("lines", "given", "wanted"),
    [
        (("/a/ /longer/",), "a='/a/x', b='/a/y'", "a='/longer/x', b='/longer/y'"),
        (("/a/ /n/ ^",), "/a/ /a/", "/n/ /a/"),
        (("/a/ /n/ $",), "/a/ /a/", "/a/ /n/"),
        (("/a/ /n/ c",), "/a/", "/a/"),
        (("^x y R",), "xxa", "yya"),
        (("x* - R",), "ab", "-a-b"),
    ],
)
def test_a_script_is_changed_as_a_whole(lines: tuple[str, ...], given: str, wanted: str) -> None:
    assert rewriter(*lines).script(given) == wanted


def test_a_map_to_nothing_ends() -> None:
    assert "/a/" not in rewriter("/a/ ").script("/a/ /a/")
    assert rewriter("/a/ ").event("/a/ /a/ /a/") is not None


@pytest.mark.parametrize(
    ("flags", "text", "is_found"),
    [("R", "b", True), ("R", "a\nb", False), ("Rs", "a\nb", True), ("R", "B", False), ("Ri", "B", True)],
)
def test_flags_of_an_expression(flags: str, text: str, is_found: bool) -> None:
    """mod_proxy_html.c, comp_urlmap: s is AP_REG_NEWLINE, i is AP_REG_ICASE."""
    regex = _compiled("^b$", flags)
    assert regex is not None and (regex.search(text) is not None) is is_found
    assert _compiled("^b$", "si") is None and _compiled("(", "R") is None
