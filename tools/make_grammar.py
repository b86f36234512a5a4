"""Write the TextMate grammar of the editors' extension from the catalogue: names, sections, fixed words.

Usage: python -m tools.make_grammar
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.argument_words import argument_words

GRAMMAR: Final = Path(__file__).resolve().parents[1] / "editors/vscode/syntaxes/httpd.tmLanguage.json"
SCOPE: Final = "source.httpd"
LINE_END: Final = r"(?<!\\)\n"
"""The end of a line that is not joined to the next one; editors search a line with its end."""


def names() -> tuple[list[str], list[str], list[str]]:
    """Return the directives of 2.4, those of 2.2 alone, and the sections of both without ``<``."""
    newer = {row.name.lower() for row in catalogue("2.4")}
    older = {row.name.lower() for row in catalogue("2.2")}
    sections = {name[1:] for name in newer | older if name[0] == "<"}
    return (
        sorted(name for name in newer if name[0] != "<"),
        sorted(name for name in older - newer if name[0] != "<"),
        sorted(sections),
    )


def words() -> list[str]:
    """Return the fixed words of arguments of letters."""
    found = {word for known in argument_words().values() for word, _version in known} | {"On", "Off"}
    return sorted({word.lower() for word in found if re.fullmatch(r"[A-Za-z][\w,-]*", word)})


def alternatives(texts: list[str]) -> str:
    """Return a pattern of any of *texts*, the longest first."""
    return "|".join(re.escape(text) for text in sorted(texts, key=lambda text: (-len(text), text)))


def directive(texts: list[str], scope: str) -> dict[str, object]:
    """Return the rule of lines that begin with one of *texts*."""
    return {
        "begin": rf"(?i)^\s*({alternatives(texts)})(?=\s|$)",
        "beginCaptures": {"1": {"name": scope}},
        "end": LINE_END,
        "patterns": [{"include": "#argument"}],
    }


def grammar() -> dict[str, object]:
    """Return the grammar."""
    newer, older, sections = names()
    tag = {"1": {"name": "punctuation.definition.tag.httpd"}, "2": {"name": "entity.name.tag.httpd"}}
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "comment": "Written by tools/make_grammar.py from the catalogue of directives; do not edit.",
        "name": "Apache httpd configuration",
        "scopeName": SCOPE,
        "fileTypes": ["htaccess", "htgroups"],
        "patterns": [{"include": "#comment"}, {"include": "#section"}, {"include": "#directive"}],
        "repository": {
            "comment": {"begin": r"^\s*#", "end": LINE_END, "name": "comment.line.number-sign.httpd"},
            "section": {
                "patterns": [
                    {
                        "match": rf"(?i)^\s*(</)({alternatives(sections)})\s*(>)",
                        "captures": {**tag, "3": {"name": "punctuation.definition.tag.httpd"}},
                    },
                    {
                        "begin": rf"(?i)^\s*(<)({alternatives(sections)})(?=[\s>]|$)",
                        "beginCaptures": tag,
                        "end": rf"(>)\s*$|{LINE_END}",
                        "endCaptures": {"1": {"name": "punctuation.definition.tag.httpd"}},
                        "patterns": [{"include": "#argument"}],
                    },
                ]
            },
            "directive": {
                "patterns": [
                    directive(newer, "keyword.other.directive.httpd"),
                    directive(older, "invalid.deprecated.directive.httpd"),
                    {
                        "begin": r"^\s*([A-Za-z]\w*)(?=\s|$)",
                        "beginCaptures": {"1": {"name": "entity.name.function.directive.httpd"}},
                        "end": LINE_END,
                        "patterns": [{"include": "#argument"}],
                    },
                ]
            },
            "argument": {
                "patterns": [
                    {"match": r"\\$", "name": "constant.character.escape.httpd"},
                    {"include": "#variable"},
                    _string('"', "double"),
                    _string("'", "single"),
                    {
                        "match": r"\[[A-Za-z][^\]\s]*\]",
                        "name": "storage.modifier.flags.httpd",
                    },
                    {"match": r"(?i)\bmod_\w+\.c\b|\b\w+_module\b", "name": "entity.name.type.module.httpd"},
                    {
                        "match": rf"(?i)(?<![^\s+\-=])(?:{alternatives(words())})(?=[\s>]|$)",
                        "name": "constant.language.httpd",
                    },
                    {"match": r"(?<!\S)\d+(?=[\s>]|$)", "name": "constant.numeric.httpd"},
                ]
            },
            "variable": {
                "patterns": [
                    {"match": r"\$\{[^}\s]*\}", "name": "variable.other.define.httpd"},
                    {"match": r"%(?:[<>!]?[\d,]*)\{[^}\s]*\}\^?\w{0,3}", "name": "variable.other.httpd"},
                    {"match": r"[$%]\d", "name": "variable.other.backreference.httpd"},
                ]
            },
        },
    }


def _string(quote: str, kind: str) -> dict[str, object]:
    return {
        "begin": quote,
        "end": rf"{quote}|{LINE_END}",
        "name": f"string.quoted.{kind}.httpd",
        "patterns": [
            {"match": rf"\\[\\{quote}]", "name": "constant.character.escape.httpd"},
            {"include": "#variable"},
        ],
    }


def text() -> str:
    """Return the grammar as the file has it."""
    return json.dumps(grammar(), indent=2) + "\n"


if __name__ == "__main__":
    GRAMMAR.parent.mkdir(parents=True, exist_ok=True)
    GRAMMAR.write_text(text(), encoding="utf-8")
