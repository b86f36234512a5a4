"""The patterns of lines and sections: what each is matched with, and what else the line says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.dialect import Dialect
from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.regex import without_end
from whimbrel.verify.config_lines import ConfigLine, LineScope
from whimbrel.verify.patterns.languages import Pattern

URL: Final = "url"
RELATIVE: Final = "relative url"
FILE: Final = "file"
DIRECTORY: Final = "directory"
RESPONSE: Final = "response field"
UNKNOWN: Final = ""


@dataclass(frozen=True, slots=True)
class PatternUse:
    """One pattern of a line.

    Attributes:
        subject: what it is matched with: url, relative url, file, directory, response field, or the name of a
            variable or header field; "" if a request cannot be made for it.
        rest: the other words of the line, to find its partner.
        has_spans: the result depends on which part of the text is matched, not only on the match.
    """

    pattern: Pattern
    subject: str
    rest: tuple[str, ...] = ()
    has_spans: bool = False


_CASELESS: Final = frozenset(("setenvifnocase", "browsermatchnocase"))
_OF_URL: Final = frozenset(("aliasmatch", "scriptaliasmatch", "wsgiscriptaliasmatch", "proxypassmatch"))
_SECTIONS: Final = frozenset(("files", "directory", "location", "proxy"))
_EDITS: Final = frozenset(("edit", "edit*"))
_FLAGS: Final = re.compile(r"\[([^\]]*)\]\Z")
_TEST: Final = re.compile(r"%\{(?:HTTP:([^}]+)|([A-Za-z_]+))\}\Z")
_OF_EXPRESSION: Final = re.compile(
    r"""(?:%\{(?P<name>[A-Za-z_]+)(?::(?P<field>[^{}]++))?\}|(?:req|http|req_novary)\(\s*+'(?P<called>[^']+)'\s*\))?
    (?:["']|(?<!\s))\s*+(?P<operator>=~|!~)\s*+["']?
    (?:m?\#(?P<hash>(?:[^\#\\]|\\.)*)\#|/(?P<slash>(?:[^/\\]|\\.)*)/)(?P<flags>i?)(?![a-z])""",
    re.VERBOSE,
)
_NAMED_GROUP: Final = re.compile(r"\(\?(?:P?<[A-Za-z_]|')")
_HAS_GROUP: Final = re.compile(r"\$[0-9&]")
_HAS_CONDITION_GROUP: Final = re.compile(r"%[0-9]")


def family(name: str) -> str:
    """Return the name that a directive has in common with its twins that differ in the matching alone."""
    return name.removesuffix("nocase") if name in _CASELESS else name.removesuffix("match")


def uses_of_line(line: ConfigLine, *, version22: bool) -> list[PatternUse]:
    """Return the patterns of a directive, [] if it has none; *version22*: mod_rewrite is that of 2.2."""
    name = line.name
    words = line.words()
    version22 = version22 and name in ("rewriterule", "rewritecond")  # the one module that matches otherwise
    if name in ("setenvif", "setenvifnocase") and len(words) > 2:
        pattern = Pattern(words[1], name in _CASELESS)
        spans = bool(_HAS_GROUP.search(" ".join(words[2:])))
        return [PatternUse(pattern, words[0], (words[0].lower(), *words[2:]), spans)]
    if name in ("browsermatch", "browsermatchnocase") and len(words) > 1:
        pattern = Pattern(words[0], name in _CASELESS)
        spans = bool(_HAS_GROUP.search(" ".join(words[1:])))
        return [PatternUse(pattern, "User-Agent", tuple(words[1:]), spans)]
    if name == "rewriterule" and len(words) > 1:
        subject = URL if line.scope.kind == "server" else RELATIVE
        use = _of_rewriting(words[0], subject, words[1], words[2:], version22)
        return [PatternUse(use.pattern, use.subject, use.rest, _has_spans(line, words[1], _HAS_GROUP))]
    if name == "rewritecond" and len(words) > 1:
        if words[1].lstrip("!")[:1] in ("-", "<", ">", "=") or words[0].lower() == "expr":
            return list(uses_of_expression(line.args))
        use = _of_rewriting(words[1], _variable(words[0]), words[0], words[2:], version22)
        return [PatternUse(use.pattern, use.subject, use.rest, _has_spans(line, "", _HAS_CONDITION_GROUP))]
    if name in _OF_URL and words:
        return [PatternUse(Pattern(words[0]), URL, tuple(words[1:]), True)]
    if name == "redirectmatch" and words:
        at = 0 if len(words) == 1 or words[0].startswith(("/", "^")) else 1
        rest = (*words[:at], *words[at + 1 :])
        spans = bool(_HAS_GROUP.search(" ".join(rest)))
        return [PatternUse(Pattern(words[at]), URL, rest, spans)]
    if name in ("header", "requestheader"):
        return list(_of_edit(words))
    return list(uses_of_expression(line.args))


def _of_rewriting(text: str, subject: str, other: str, flags: list[str], version22: bool) -> PatternUse:
    found = _FLAGS.match(flags[0]) if flags else None
    words = [word.strip() for word in found[1].split(",")] if found is not None else []
    ignore_case = any(word.lower() in ("nc", "nocase") for word in words)
    rest = (other, *(word for word in words if word.lower() not in ("nc", "nocase")))
    negated = text.startswith("!")
    return PatternUse(Pattern(text[negated:], ignore_case, negated, version22), subject, rest)


def _has_spans(line: ConfigLine, substitution: str, groups: re.Pattern[str]) -> bool:
    """Return True if the rule of *line*, or a condition of the rule, refers to groups of the pattern."""
    if groups.search(substitution):
        return True
    return any(groups.search(one.args) for one in rewriting_of(line) if one is not line)


def rewriting_of(line: ConfigLine) -> list[ConfigLine]:
    """Return the rule that *line* is or belongs to, with its conditions; the rule is the last."""
    found: list[ConfigLine] = []
    for one in line.scope.lines:
        if one.name == "rewritecond":
            found.append(one)
        elif one.name == "rewriterule":
            found.append(one)
            if line in found:
                return found
            found = []
    return [line]


def _variable(test: str) -> str:
    """Return the variable or field that is all of the test string of a condition, "" for other ones."""
    found = _TEST.match(test)
    return "" if found is None else found[1] or _field_of(found[2])


def _field_of(variable: str) -> str:
    low = variable.lower()
    if not low.startswith("http_") or low == "http_host":
        return low
    return "-".join(part.capitalize() for part in low.removeprefix("http_").split("_"))


def _of_edit(words: list[str]) -> Iterator[PatternUse]:
    low = [word.lower() for word in words[:2]]
    at = next((number for number, word in enumerate(low) if word in _EDITS), -1)
    if at >= 0 and len(words) > at + 2:
        rest = (*words[: at + 2], *words[at + 3 :])
        yield PatternUse(Pattern(words[at + 2]), RESPONSE, rest, True)
        return
    yield from uses_of_expression(" ".join(words))


def uses_of_expression(text: str) -> Iterator[PatternUse]:
    """Yield the patterns in an expression; *rest* is the text around all of them."""
    found = list(_OF_EXPRESSION.finditer(text))
    rest = (_OF_EXPRESSION.sub(_without_pattern, text),)
    for match in found:
        if match["field"] and match["name"].lower() in ("http", "req"):
            subject = match["field"]
        else:
            subject = match["called"] or _field_of(match["name"] or "")
        pattern = match["hash"] if match["hash"] is not None else match["slash"].replace("\\/", "/")
        yield PatternUse(Pattern(pattern, bool(match["flags"])), subject, rest)


def _without_pattern(match: re.Match[str]) -> str:
    return f"{match['name']}:{match['field']}:{match['called']}{match['operator']}"


def use_of_scope(scope: LineScope, dialect: Dialect) -> PatternUse | None:
    """Return the pattern of a section, as it is matched under *dialect*; None if it has none."""
    kind = scope.kind.removesuffix("match")
    if kind in ("if", "elseif"):
        return next(uses_of_expression(scope.args), None)
    words = [word for word in ConfigLine("", scope.args, "", 0, scope).words() if word]
    if kind not in _SECTIONS or not words:
        return None
    is_regex = scope.kind.endswith("match") or words[0] == "~"
    subject = {"files": FILE, "directory": DIRECTORY, "location": URL}.get(kind, UNKNOWN)
    if is_regex:
        text = words[-1]
        if kind == "directory" and dialect.paths_have_no_end:
            text = without_end(text)
        return PatternUse(Pattern(text), subject, (), bool(_NAMED_GROUP.search(text)))
    if kind == "files" or set(words[-1]) & set("*?["):
        text = words[-1].rstrip("/") if kind == "directory" else words[-1]
        compiled = compile_fnmatch(text, by_segment=kind != "files")
        return PatternUse(Pattern(compiled.pattern), subject)
    return None
