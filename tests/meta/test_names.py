"""Names: no retired word in identifiers, file names and JSON keys; no class name with two meanings."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.meta.tree import ROOT, Function, Source, assert_none, sources, tracked, walk

RETIRED = frozenset(
    "kept told said asked asking looks way ways near nearly made folder folders outside unasked steady slim "
    "usual patience patient alone manners bury heard obey settle hurry mended mending wishes remedy estate "
    "twin likeness standin books book again laid often worth pieced spot unbuilt harmless lay whole "
    "wanting quiet manner gate seal here look turn tell ask".split()
)
# Names of httpd and of asyncio.
ALLOWED = frozenset({"kept_body", "KeptBodySize", "connection_made"})
# Class names that stand twice: why that is clear to a reader.
SHARED = {
    **dict.fromkeys(
        (
            "Answer",
            "DecidingLine",
            "Difference",
            "Edit",
            "Explanation",
            "Finding",
            "Request",
            "Step",
            "Verdict",
        ),
        "api: the public view of what another package computes",
    ),
    **dict.fromkeys(
        ("ChangedFile", "ChangedStep", "UnknownItem"), "api.schema_models: the JSON of the class of that name"
    ),
    "AddressChain": "config: virtual hosts of one address; mod_remoteip: addresses of a proxy chain",
    "CachedResponder": "the same part of a connection of HTTP/1 and of one of HTTP/2",
    "Condition": "a condition of SetEnvIf, CustomLog env=, RewriteCond, <IfDefine>: private to their modules",
    "Context": "directives: where a directive may stand; mod_rewrite: per-server or per-directory rules",
    "Directive": "syntax: a line of text; directives: its declaration",
    "Document": "syntax: a configuration file; mod_include: a page that is read in pieces",
    "Entry": "an entry of a listing, of an Accept field, of an Allow line: private to their modules",
    "FormatItem": "an item of ErrorLogFormat, compiled by the engine and parsed by the core",
    "Line": "a line of RewriteRule, of Header, of a request head: private to their modules",
    "MapError": "a malformed image map; a malformed type map",
    "Match": "regex: the match of a pattern; expr: the node of =~",
    "Rule": "upgrade: the check of one change; a rule of mod_rewrite, of mod_mime_magic, of Require",
    "Scoreboard": "engine.runtime: the protocol; server.worker.scoreboard: its implementation",
    "Section": "syntax: lines between two tags; config: the settings between them",
    "Sender": "the same part of a connection of HTTP/1 and of one of HTTP/2",
}


def words(name: str) -> list[str]:
    """Split an identifier into lower-case words."""
    return [
        part.lower()
        for part in re.split(r"[_\d]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix(".py")))
    ]


def is_retired(name: str) -> bool:
    """Return True if *name* has a retired word."""
    return name not in ALLOWED and not RETIRED.isdisjoint(words(name))


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a file defines or assigns."""
    for node in walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def json_keys(source: Source) -> Iterator[str]:
    """Yield the keys of dictionary displays in a file that writes JSON."""
    if re.search(r"^\s*(?:import json|from json )", source.text, re.M):
        for node in walk(source.tree):
            if isinstance(node, ast.Dict):
                yield from (
                    k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)
                )


def classes(tree: ast.Module) -> Iterator[str]:
    """Yield the public classes of one file."""
    return (n.name for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_"))


def test_no_retired_word_in_identifiers() -> None:
    found = {f"{s.name}: {name}" for s in sources("src") for name in identifiers(s.tree) if is_retired(name)}
    assert_none(sorted(found))


def test_no_retired_word_in_json_keys() -> None:
    assert_none(
        sorted({f"{s.name}: {key}" for s in sources("src") for key in json_keys(s) if is_retired(key)})
    )


@pytest.mark.parametrize("directory", ["src", "tests", "bench", "tools", "docs", "examples"])
def test_no_retired_word_in_file_names(directory: str) -> None:
    names = {str(path.relative_to(ROOT)) for path in tracked() if path.is_relative_to(ROOT / directory)}
    code = {name for name in names if name.endswith((".py", ".tsv", ".md"))}
    assert_none(
        sorted(
            name for name in code if "/documents/" not in name and any(is_retired(p) for p in name.split("/"))
        )
    )


def test_no_class_name_has_two_meanings() -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for source in sources("src"):
        for name in classes(source.tree):
            files[name].append(source.name)
    assert_none(
        f"{name}: {', '.join(found)}"
        for name, found in sorted(files.items())
        if len(found) > 1 and name not in SHARED
    )


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("CachedResponse", False),
        ("connection_made", False),
        ("lookup", False),
        ("kept_body", False),
        ("KeptAnswers", True),
        ("is_said", True),
        ("look_up", True),
    ],
)
def test_retired_words_are_found(name: str, wrong: bool) -> None:
    assert is_retired(name) is wrong
