"""Parser of RewriteRule and RewriteCond lines: flags, the pieces of a substitution, and the characters that
each piece may contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.mappers.mod_rewrite.args import Line, split_flags, split_line
from whimbrel.syntax import spans
from whimbrel.upgrade.rules.rewriting.patterns import can_match, group_text
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

BLANK: Final = " "
MARK: Final = "?"
_PIECE: Final = re.compile(r"\\.|[$%][0-9]|%\{[^}]*\}|\$\{")
_SCHEME: Final = re.compile(
    r"(?:https?|ftp|ldaps?|nntp|wss?|gopher|ajp|scgi|fcgi|mailto|news):", re.IGNORECASE
)
_PLAIN: Final = frozenset(
    {
        "http_host",
        "http:host",
        "server_name",
        "server_port",
        "server_addr",
        "server_admin",
        "server_protocol",
        "remote_addr",
        "remote_host",
        "remote_port",
        "request_method",
        "request_scheme",
        "https",
        "document_root",
        "auth_type",
        "is_subreq",
        "api_version",
        "time",
        "time_year",
        "time_mon",
        "time_day",
        "time_hour",
        "time_min",
        "time_sec",
        "time_wday",
    }
)
"""Variables that contain neither blanks nor question marks."""


@dataclass(frozen=True, slots=True)
class SubstitutionPiece:
    """One piece of a substitution: *kind* is ``text``, ``$``, ``%`` (back references), ``%{`` (a variable) or
    ``${`` (a map)."""

    kind: str
    text: str


def pieces(text: str) -> Iterator[SubstitutionPiece]:
    """Yield the pieces of a substitution or test string, in order."""
    at = 0
    while match := _PIECE.search(text, at):
        if match.start() > at:
            yield SubstitutionPiece("text", text[at : match.start()])
        piece = match[0]
        at = match.end()
        if piece[0] == "\\":
            yield SubstitutionPiece("text", piece[1:])
        elif piece == "${":
            end = _map_end(text, at)
            yield SubstitutionPiece("${", text[at:end])
            at = end + 1
        elif piece[1] == "{":
            yield SubstitutionPiece("%{", piece[2:-1].lower())
        else:
            yield SubstitutionPiece(piece[0], piece[1:])
    if at < len(text):
        yield SubstitutionPiece("text", text[at:])


def map_parts(piece: SubstitutionPiece) -> tuple[str, str, str]:
    """Return the name, key and default of a map piece."""
    name, _, rest = piece.text.partition(":")
    depth = 0
    for at, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if char == "|" and not depth:
            return name, rest[:at], rest[at + 1 :]
    return name, rest, ""


def _map_end(text: str, at: int) -> int:
    depth = 1
    while at < len(text):
        depth += (text[at] == "{") - (text[at] == "}")
        if not depth:
            break
        at += 1
    return at


@dataclass(frozen=True)
class RewriteLine:
    """A RewriteRule with its conditions."""

    line: Statement
    parts: Line
    conditions: tuple[Line, ...]

    @cached_property
    def flags(self) -> dict[str, str]:
        """The flags: names in lower case, and values."""
        return {name.lower(): value for name, value in split_flags(self.parts.flags) or ()}

    @cached_property
    def pieces(self) -> list[SubstitutionPiece]:
        return list(pieces(self.parts.second))

    def has(self, *names: str) -> bool:
        return not self.flags.keys().isdisjoint(names)

    @property
    def substitutes(self) -> bool:
        """Return True if the rule makes a new URL."""
        status = self.flags.get("r", self.flags.get("redirect", ""))
        refuses = self.has("f", "forbidden", "g", "gone") or (status[:1].isdigit() and status[:1] != "3")
        return self.parts.second not in ("-", "") and not refuses

    @property
    def redirects(self) -> bool:
        """Return True if the rule redirects the client; a proxied URL is no redirect."""
        return not self.has("p", "proxy") and (
            self.has("r", "redirect") or _SCHEME.match(self.parts.second) is not None
        )

    def may_hold(self, piece: SubstitutionPiece, char: str) -> bool:
        """Return True if the value of *piece* may contain *char*, given what its pattern can match."""
        if piece.kind == "text":
            return char in piece.text
        if piece.kind == "$":
            pattern = self.parts.first
            return pattern[:1] != "!" and can_match(group_text(pattern, int(piece.text)), char)
        if piece.kind == "%":
            return any(_condition_can(condition, int(piece.text), char) for condition in self.conditions)
        if piece.kind == "%{":
            return variable_can(piece.text, char)
        return True


def variable_can(name: str, char: str) -> bool:
    """Return True if the variable (lower case) may contain *char*."""
    if name == "query_string":
        return char == MARK
    if name == "server_software":
        return char == BLANK
    return name.removeprefix("la-u:").removeprefix("la-f:") not in _PLAIN


def _condition_can(condition: Line, number: int, char: str) -> bool:
    pattern = condition.second
    if pattern[:1] == "!" or not can_match(group_text(pattern, number), char):
        return False
    return any(_test_can(piece, char) for piece in pieces(condition.first))


def _test_can(piece: SubstitutionPiece, char: str) -> bool:
    """Return True if a piece of the test string of a condition may contain *char*."""
    return (
        char in piece.text if piece.kind == "text" else piece.kind != "%{" or variable_can(piece.text, char)
    )


def rewrite_rules(tree: ConfigTree) -> list[RewriteLine]:
    """Return every active RewriteRule with its conditions, in reading order."""
    cached = tree.cache.get("rewrite lines")
    if not isinstance(cached, list):
        cached = list(_read_rules(tree)) if tree.has("rewriterule") else []
        tree.cache["rewrite lines"] = cached
    return cached


def _read_rules(tree: ConfigTree) -> Iterator[RewriteLine]:
    active = set(tree.named("rewriterule", "rewritecond"))
    pending: list[Line] = []
    for line in filter(active.__contains__, tree.all_statements()):
        parts = split_line(line.args)
        if parts is None:
            continue
        if line.name == "rewritecond":
            pending.append(parts)
        else:
            yield RewriteLine(line, parts, tuple(pending))
            pending = []


# edits -------------------------------------------------------------------------------------------
def source_args(line: Statement) -> str:
    """Return the arguments as written, with variables of the configuration unexpanded."""
    start, end = spans.args_range(line.file.document, line.node)
    return line.file.document.bytes[start:end].decode("latin-1").rstrip()


def with_flags(line: Statement, flags: list[str]) -> str | None:
    """Return the arguments with further *flags*; None if their text has an unusual form."""
    args = source_args(line)
    parts = split_line(args)
    if parts is None:
        return None
    if not parts.flags:
        return f"{args} [{','.join(flags)}]"
    at = args.rfind(parts.flags)
    if not parts.flags.startswith("[") or not parts.flags[1:].endswith("]") or at < 0:
        return None  # httpd: bad flag delimiters
    end = at + len(parts.flags) - 1
    between = "," if parts.flags[1:-1].strip() else ""
    return f"{args[:end]}{between}{','.join(flags)}{args[end:]}"


def without_flags(line: Statement, names: frozenset[str]) -> str | None:
    """Return the arguments without the flags of these names (lower case); None if their text has an unusual
    form."""
    args = source_args(line)
    parts = split_line(args)
    if parts is None or not args.endswith(parts.flags) or not parts.flags.startswith("["):
        return None
    left = [flag.strip() for flag in parts.flags[1:-1].split(",") if flag.strip().lower() not in names]
    before = args[: len(args) - len(parts.flags)]
    return f"{before}[{','.join(left)}]" if left else before.rstrip()
