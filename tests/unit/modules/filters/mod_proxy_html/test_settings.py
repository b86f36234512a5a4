"""Directives of mod_proxy_html: messages and merging."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.site import Site

from whimbrel.base.errors import ConfigError
from whimbrel.modules.filters.mod_proxy_html.settings import (
    ProxyHtmlDirConfig,
    set_doctype,
    set_fixup,
)
from whimbrel.modules.filters.mod_proxy_html.url_map import UrlMap
from whimbrel.registry.settings import merge, with_defaults

LOAD = "LoadModule proxy_html_module m/mod_proxy_html.so\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ProxyHTMLBufSize 7k", "Invalid value for directive ProxyHTMLBufSize, expected integer"),
        ("ProxyHTMLEnable", "ProxyHTMLEnable must be On or Off"),
        ("ProxyHTMLDocType a b c", "ProxyHTMLDoctype takes 1-2 arguments, (HTML|XHTML) [Legacy]"),
        ("ProxyHTMLURLMap /a/ /b/ h V", "syntax error, unexpected T_STR_BEGIN"),
        ("ProxyHTMLURLMap /a/ /b/ h !V", "syntax error, unexpected T_OP_NOT"),
    ],
)
def test_messages(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Site(tmp_path, LOAD + line).load()
    assert caught.value.reason == message


def test_two_sections_join_their_maps_in_reverse() -> None:
    first, second, third = (UrlMap(name, "") for name in "abc")
    joined = merge(ProxyHtmlDirConfig(maps=[first, second]), ProxyHtmlDirConfig(maps=[third]))
    assert [each.before for each in joined.maps] == ["c", "b", "a"]


def test_flags_of_an_outer_section_stay_on_until_a_reset() -> None:
    outer = ProxyHtmlDirConfig(switches=frozenset(("meta",)))
    inner = ProxyHtmlDirConfig(switches=frozenset(("extended",)))
    assert merge(outer, inner).switches == {"meta", "extended"}
    set_fixup(None, inner, ["reset"])  # type: ignore[arg-type]
    assert merge(outer, inner).switches == {"extended"}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["html"], ("strict", False)),
        (["XHTML", "Legacy"], ("legacy", True)),
        (["<!DOCTYPE html>"], ("", False)),
        (["<!DOCTYPE html>", "XML"], ("", True)),
    ],
)
def test_document_types(words: list[str], wanted: tuple[str, bool]) -> None:
    conf = ProxyHtmlDirConfig()
    set_doctype(None, conf, words)  # type: ignore[arg-type]
    full = with_defaults(conf)
    assert (full.enforced, full.is_xhtml) == wanted
