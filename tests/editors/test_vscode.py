"""The extension for VS Code: its manifest names what exists, and its grammar is that of the catalogue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from tools.make_grammar import GRAMMAR, LINE_END, grammar, text

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.load import VERSIONS

DIRECTORY: Final = Path(__file__).resolve().parents[2] / "editors" / "vscode"
MANIFEST: Final[dict[str, Any]] = json.loads((DIRECTORY / "package.json").read_text())
CONTRIBUTES: Final[dict[str, Any]] = MANIFEST["contributes"]
SOURCE: Final = (DIRECTORY / "extension.js").read_text()


def test_files_of_the_manifest_exist() -> None:
    named = [
        MANIFEST["main"],
        CONTRIBUTES["languages"][0]["configuration"],
        CONTRIBUTES["grammars"][0]["path"],
    ]
    assert [name for name in named if not (DIRECTORY / name).is_file()] == []


def test_the_grammar_is_that_of_the_language() -> None:
    language, used = CONTRIBUTES["languages"][0], CONTRIBUTES["grammars"][0]
    assert used["language"] == language["id"]
    assert used["scopeName"] == json.loads(GRAMMAR.read_text())["scopeName"]
    assert f"onLanguage:{language['id']}" in MANIFEST["activationEvents"]
    assert f'language: "{language["id"]}"' in SOURCE


def test_commands_are_registered() -> None:
    declared = {command["command"] for command in CONTRIBUTES["commands"]}
    assert set(re.findall(r'registerCommand\("([^"]+)"', SOURCE)) == declared


def test_settings_are_read_and_the_command_starts_the_server() -> None:
    properties = CONTRIBUTES["configuration"]["properties"]
    read = set(re.findall(r'getConfiguration\("whimbrel"\)\.get\("(\w+)"\)', SOURCE))
    assert {f"whimbrel.{name}" for name in read} == set(properties)
    assert properties["whimbrel.command"]["default"] == ["whimbrel", "lsp"]


def test_the_command_of_the_server_is_its_own() -> None:
    pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")
    from whimbrel.lsp.explain_url import COMMAND

    assert f'command: "{COMMAND}"' in SOURCE


def test_packages_that_the_source_requires_are_dependencies() -> None:
    required = {name.partition("/")[0] for name in re.findall(r'require\("([^"]+)"\)', SOURCE)}
    assert required - {"vscode"} == set(MANIFEST["dependencies"])


def test_the_committed_grammar_is_up_to_date() -> None:
    """`make grammar` writes it."""
    assert GRAMMAR.read_text(encoding="utf-8") == text()


def patterns(rule: object) -> Iterator[str]:
    """Yield the regular expressions of a rule and of those inside it."""
    if isinstance(rule, dict):
        yield from (value for key, value in rule.items() if key in ("match", "begin", "end"))
        rule = list(rule.values())
    if isinstance(rule, list):
        for inner in rule:
            yield from patterns(inner)


def test_patterns_compile_and_match_something() -> None:
    found = list(patterns(grammar()["repository"]))
    assert len(found) > 15
    assert [pattern for pattern in found if re.compile(pattern).search("")] == []


def test_a_line_that_a_backslash_joins_does_not_end() -> None:
    """The grammar's engine searches each line with its line end."""
    assert re.search(LINE_END, "Options None\n")
    assert not re.search(LINE_END, "Options \\\n")


@cache
def rules() -> tuple[dict[str, Any], ...]:
    """Return the rules of lines, in the order of the grammar."""
    repository: Any = grammar()["repository"]
    return (*repository["section"]["patterns"], *repository["directive"]["patterns"])


def scope_of(line: str) -> str:
    """Return the scope of the first word of a line by the rules of the grammar, in their order."""
    for rule in rules():
        match = re.search(rule.get("begin") or rule["match"], line)
        if match is not None:
            captures = rule.get("beginCaptures") or rule["captures"]
            return str(captures.get("2", captures["1"])["name"])
    return ""


def test_every_directive_and_section_has_its_scope() -> None:
    newer = {row.name.lower() for row in catalogue("2.4")}
    wrong = []
    for version in VERSIONS:
        for row in catalogue(version):
            is_section = row.name[0] == "<"
            wanted = "entity.name.tag.httpd" if is_section else "keyword.other.directive.httpd"
            if not is_section and row.name.lower() not in newer:
                wanted = "invalid.deprecated.directive.httpd"
            line = f"  {row.name} x{'>' if is_section else ''}"
            if scope_of(line) != wanted:
                wrong.append((line, scope_of(line)))
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "scope"),
    [
        ("</Directory>", "entity.name.tag.httpd"),
        ("<Else>", "entity.name.tag.httpd"),
        ("AcmeWidget on", "entity.name.function.directive.httpd"),
        ("OptionsX None", "entity.name.function.directive.httpd"),
        ("# Options None", ""),
        ("<Unknown x>", ""),
    ],
)
def test_other_lines(line: str, scope: str) -> None:
    assert scope_of(line) == scope


@pytest.mark.parametrize(
    ("argument", "scope"),
    [
        ("${ROOT}", "variable.other.define.httpd"),
        ("%{HTTP_HOST}", "variable.other.httpd"),
        ("$1", "variable.other.backreference.httpd"),
        ("mod_rewrite.c", "entity.name.type.module.httpd"),
        ("On", "constant.language.httpd"),
        ("-Indexes", "constant.language.httpd"),
        ("allow,deny", "constant.language.httpd"),
        ("8080", "constant.numeric.httpd"),
        ("[R=301,L]", "storage.modifier.flags.httpd"),
    ],
)
def test_arguments_have_their_scope(argument: str, scope: str) -> None:
    repository: Any = grammar()["repository"]
    rules = [*repository["argument"]["patterns"], *repository["variable"]["patterns"]]
    found = [rule["name"] for rule in rules if "match" in rule and re.search(rule["match"], argument)]
    assert found == [scope]
