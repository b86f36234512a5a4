"""mod_filter's directives: messages, chains, merging."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine
from tests.support.site import Site

from whimbrel.engine.output.filter import FilterType
from whimbrel.modules.filters.mod_filter import change_chain
from whimbrel.modules.filters.mod_filter.settings import FilterDirConfig, joined, since_reset

LOAD = "LoadModule filter_module m/mod_filter.so\nLoadModule case_filter_module m/mod_case_filter.so\n"
FILES = {"htdocs/a.txt": "some words", "htdocs/a.html": "<b>", "htdocs/d/b.txt": "inner"}
UP = {
    "2.2": "FilterDeclare up\nFilterProvider up CASEFILTER Content-Type $text/plain\n",
    "2.4": "FilterDeclare up\nFilterProvider up CASEFILTER \"%{CONTENT_TYPE} == 'text/plain'\"\n",
}


def body(root: Path, conf: str, path: str = "/a.txt", version: str = "2.4") -> str:
    return fetch(build_engine(root, LOAD + conf, FILES, version), path).body


@pytest.mark.parametrize(
    ("words", "chain"),
    [
        ("a b", ("a", "b")),
        ("a +b @c", ("c", "a", "b")),
        ("a =b", (None, "b")),
        ("a !", (None,)),
        ("a -a", ()),
        ("a b c -B", ("a", "c")),
        ("a b b c -b", ("a", "b", "c")),  # httpd steps over the filter behind the removed one
        ("a a -a", ("a",)),
        ("-a", ()),
        ("! -a", (None,)),  # httpd ends here with a segmentation fault
    ],
)
def test_forms_of_filter_chain(words: str, chain: tuple[str | None, ...]) -> None:
    conf = FilterDirConfig()
    for word in words.split():
        change_chain(None, conf, [word])  # type: ignore[arg-type]
    assert conf.chain == chain


def test_a_reset_drops_the_outer_chain() -> None:
    assert joined(("a", "b"), ("c",)) == ("a", "b", "c")
    assert joined(("a",), (None, "c")) == (None, "c")
    assert since_reset(("x", None)) == (None,)


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        ("FilterProvider up NOSUCH true", "Unknown filter provider NOSUCH"),
        (
            'FilterProvider up CASEFILTER "bogus ("',
            "Error parsing FilterProvider expression:syntax error, unexpected $end",
        ),
        ("FilterProtocol up change=yes", "FilterProtocol: No such filter"),
        (
            "FilterDeclare up\nFilterProtocol up X change=yes",
            "FilterProtocol: No such provider for this filter",
        ),
        ("FilterTrace up 1", "Undeclared smart filter up"),
        ("AddOutputFilterByType CASEFILTER", "AddOutputFilterByType requires at least two arguments"),
        ("AddOutputFilterByType CASEFILTER;NOSUCH text/x", "Unknown filter provider NOSUCH"),
    ],
)
def test_refusals_of_24(tmp_path: Path, conf: str, message: str) -> None:
    assert Site(tmp_path, LOAD + conf + "\n").check("2.4").endswith(message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("up CASEFILTER true", "usage: FilterProvider filter provider condition match"),
        ("up CASEFILTER a b c", "usage: FilterProvider filter provider condition match"),
        ("up NOSUCH Content-Type x", "Unknown filter provider NOSUCH"),
        ("up CASEFILTER what=x y", "FilterProvider: unrecognized dispatch table"),
        ("up CASEFILTER req=x /y", "Bad regexp syntax"),
        ("up CASEFILTER req=x /(/", "Bad regexp"),
    ],
)
def test_refusals_of_22(tmp_path: Path, words: str, message: str) -> None:
    assert Site(tmp_path, LOAD + f"FilterProvider {words}\n").check("2.2").endswith(message)


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_a_chain_selects_by_its_condition(tmp_path: Path, version: str) -> None:
    conf = UP[version] + "FilterChain up\n"
    assert body(tmp_path, conf, "/a.txt", version) == "SOME WORDS"
    assert body(tmp_path, conf, "/a.html", version) == "<b>"


def test_sections_reset_and_extend_the_chain(tmp_path: Path) -> None:
    up, path = UP["2.4"] + "FilterChain up\n", "/d/b.txt"
    assert body(tmp_path, up + "<Location /d>\nFilterChain !\n</Location>\n", path) == "inner"
    assert body(tmp_path, up + "<Location /d>\nFilterChain -up\n</Location>\n", path) == "INNER"
    assert body(tmp_path, UP["2.4"] + "<Location /d>\nFilterChain up\n</Location>\n", path) == "INNER"
    assert body(tmp_path, UP["2.4"] + "<Location /d>\nFilterChain up\n</Location>\n") == "some words"


def test_a_declaration_in_a_section_replaces_the_outer_one(tmp_path: Path) -> None:
    conf = UP["2.4"] + "FilterChain up\n<Location /d>\nFilterDeclare up\n</Location>\n"
    assert (body(tmp_path, conf), body(tmp_path, conf, "/d/b.txt")) == ("SOME WORDS", "inner")


def test_names_of_smart_filters_have_case_and_those_of_providers_have_none(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, LOAD + "FilterProvider up caseFilter true\nFilterChain UP up\n", FILES)
    assert fetch(serving, "/a.txt").body == "SOME WORDS"
    logged = b"".join(b"".join(parts) for parts in serving.runtime.logs.values())  # type: ignore[attr-defined]
    assert b"AH01380: Unknown filter UP not added" in logged


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("", FilterType.PROTOCOL + 3),
        ("FilterDeclare up\n", FilterType.RESOURCE),
        ("FilterDeclare up Content_Set\n", FilterType.CONTENT_SET),
        ("FilterDeclare up BOGUS\n", FilterType.RESOURCE),
        ("FilterProvider up CASEFILTER false\n", FilterType.RESOURCE),
    ],
)
def test_a_filter_without_declaration_has_the_type_of_its_first_provider(
    tmp_path: Path, declared: str, kind: int
) -> None:
    conf = f"LoadModule ratelimit_module m/mod_ratelimit.so\n{declared}FilterProvider up RATE_LIMIT true\n"
    record = Site(tmp_path, LOAD + conf).load().main.defaults.record(FilterDirConfig)
    assert record.filters["up"].type == kind


def test_a_built_in_filter_may_be_a_provider(tmp_path: Path) -> None:
    assert body(tmp_path, "FilterProvider up BYTERANGE true\nFilterChain up\n") == "some words"


def test_htaccess_declares_and_chains(tmp_path: Path) -> None:
    files = {
        **FILES,
        "htdocs/d/.htaccess": UP["2.4"] + "FilterChain up\nFilterProtocol up CASEFILTER cache=no\n",
    }
    engine = build_engine(tmp_path, LOAD + "<Directory />\nAllowOverride All\n</Directory>\n", files)
    reply = fetch(engine, "/d/b.txt")
    assert (reply.body, reply.get("Cache-Control")) == ("INNER", "no-cache")
    assert fetch(engine, "/a.txt").body == "some words"
