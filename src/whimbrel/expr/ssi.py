"""Conditions of server-side includes up to 2.2; SSILegacyExprParser in 2.4.

Words, ``=`` (``==``), ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``!``, ``&&``, ``||``, parentheses,
``/regular expressions/`` and ``-A url``.  ``&&`` and ``||`` have the same precedence and are
right-associative.  Adjacent words are one, joined by a blank.  Manual: mod/mod_include.html#legacyexpr.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.regex import Match, Regex, RegexError, compile_regex


class SsiError(Exception):
    """The text is not a condition: httpd's message, before ``in file NAME``, and its number."""

    def __init__(self, reason: str, code: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


@dataclass(slots=True)
class SsiNode:
    """A part of a condition; *kind* is an operator, ``word``, ``regex``, ``-A``, ``(`` or ``!``."""

    kind: str
    text: str = ""
    left: SsiNode | None = None
    right: SsiNode | None = None
    closed: bool = False  # a closed parenthesis
    regex: Regex | None = None
    parent: SsiNode | None = None


class SsiHost(Protocol):
    """Callbacks of a condition to its document."""

    def substituted(self, text: str) -> str:
        """Return *text* with its variables substituted."""

    def matched(self, found: Match | None, regex: Regex) -> None:
        """Record the match of a regular expression; *found* is None if it failed."""

    def complain(self, text: str, code: str) -> None:
        """Write a line to the error log."""

    async def admitted(self, url: str) -> bool:
        """Return True if a sub-request for *url* is permitted."""


_BLANKS: Final = " \t\n\v\f\r"
_SPECIAL: Final = frozenset("()=!<>")
_COMPARE: Final[dict[str, Callable[[str, str], bool]]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_COMPARISONS: Final = frozenset({"=", "!=", *_COMPARE})
_LOGICAL: Final = frozenset({"&&", "||"})
_OPERATOR = re.compile(r"\(|\)|==|=|!=|!|\|\||&&|>=|>|<=|<")
_ESCAPED = re.compile(r"\\(.)", re.S)


def tokens(text: str) -> list[tuple[str, str]]:
    """Return (kind, text) pairs; an operator's text is empty.

    An unterminated quote or slash makes an empty word or expression of the rest.
    """
    out: list[tuple[str, str]] = []
    at = 0
    while True:
        while at < len(text) and text[at] in _BLANKS:
            at += 1
        if at >= len(text):
            return out
        operator = _OPERATOR.match(text, at)
        if operator is not None:
            out.append((operator[0] if operator[0] != "==" else "=", ""))
            at = operator.end()
        elif text.startswith("-A", at):
            out.append(("-A", ""))
            at += 2
        elif text[at] in "'/" and not (text[at] == "/" and out and out[-1][0] == "-A"):
            token, at = _delimited(text, at)
            out.append(token)
        else:
            token, at = _bare(text, at)
            out.append(token)


def _delimited(text: str, at: int) -> tuple[tuple[str, str], int]:
    quote = text[at]
    end = at + 1
    while end < len(text) and text[end] != quote:
        end += 2 if text[end] == "\\" else 1
    kind = "word" if quote == "'" else "regex"
    if end >= len(text):
        return (kind, ""), len(text)
    return (kind, _ESCAPED.sub(r"\1", text[at + 1 : end])), end + 1


def _bare(text: str, at: int) -> tuple[tuple[str, str], int]:
    end = at
    while (
        end < len(text)
        and text[end] not in _BLANKS
        and text[end] not in _SPECIAL
        and text[end : end + 2] not in ("&&", "||")
    ):
        end += 2 if text[end] == "\\" else 1
    return ("word", _ESCAPED.sub(r"\1", text[at:end])), min(end, len(text))


class _Builder:
    """Builder of the tree as in httpd: each token is inserted by searching upwards from the last."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bad: list[str] = []  # patterns that cannot be compiled
        self.root: SsiNode | None = None
        self.current: SsiNode | None = None

    def invalid(self) -> SsiError:
        return SsiError(f'Invalid expression "{self.text}"', "AH03188")

    def place(self, node: SsiNode) -> None:
        """Insert *node* below the last one."""
        node.parent = self.current
        if self.current is None:
            self.root = node
        else:
            self.current.right = node
        self.current = node

    def over(self, below: SsiNode, node: SsiNode) -> None:
        """Replace *below* by *node*; *below* becomes its left side."""
        node.left = below
        node.parent = below.parent
        below_parent = below.parent
        below.parent = node
        if below_parent is None:
            self.root = node
        else:
            below_parent.right = node
        self.current = node

    def take(self, kind: str, text: str) -> None:
        """Process one token."""
        if kind == "word":
            self._word(text)
        elif kind == "regex":
            if self.current is None or self.current.kind not in ("=", "!="):
                raise self.invalid()
            self._regex(text)
        elif kind == ")":
            self._close()
        elif kind in ("(", "!", "-A"):
            if self.current is not None and (
                self.current.kind in ("word", "regex") or self.current.closed or self.current.kind == "-A"
            ):
                raise self.invalid()
            self.place(SsiNode(kind))
        elif kind in _COMPARISONS:
            self._compare(kind)
        else:
            self._logical(kind)

    def _word(self, text: str) -> None:
        current = self.current
        if current is not None and current.kind == "word":
            current.text += (" " if current.text else "") + text
        elif current is not None and (current.kind == "regex" or current.closed):
            raise self.invalid()
        else:
            self.place(SsiNode("word", text))

    def _regex(self, pattern: str) -> None:
        node = SsiNode("regex", pattern)
        try:
            node.regex = compile_regex(pattern)
        except RegexError:
            self.bad.append(pattern)
        self.place(node)

    def _compare(self, kind: str) -> None:
        current = self.current
        if (
            current is None
            or current.kind != "word"
            or (current.parent is not None and current.parent.kind not in ("(", "&&", "||"))
        ):
            raise self.invalid()
        self.over(current, SsiNode(kind))

    def _logical(self, kind: str) -> None:
        current = self.current
        if current is None or (current.kind not in ("word", "regex") and not current.closed):
            raise self.invalid()
        while current.parent is not None and current.parent.kind not in ("(", "&&", "||"):
            current = current.parent
        self.over(current, SsiNode(kind))

    def _close(self) -> None:
        current = self.current
        while current is not None and not (current.kind == "(" and not current.closed):
            current = current.parent
        if current is None:
            raise SsiError(f"Unmatched ')' in \"{self.text}\"", "AH03189")
        current.closed = True
        self.current = current


class SsiCondition:
    """A compiled condition."""

    __slots__ = ("bad", "root", "text")

    def __init__(self, text: str) -> None:
        builder = _Builder(text)
        for kind, value in tokens(text):
            builder.take(kind, value)
        self.text = text
        self.root = builder.root
        self.bad = tuple(builder.bad)

    async def evaluate(self, host: SsiHost) -> bool:
        """Evaluate the condition; raises SsiError if it is invalid."""
        for pattern in self.bad:
            host.complain(f'unable to compile pattern "{pattern}"', "AH02667")
        return self.root is not None and await self._evaluate(self.root, host)

    def _invalid(self, code: str) -> SsiError:
        return SsiError(f'Invalid expression "{self.text}"', code)

    def _evaluate(self, node: SsiNode, host: SsiHost) -> Awaitable[bool]:
        if node.kind in _LOGICAL:
            return self._both(node, host)
        return self._one(node, host)

    async def _one(self, node: SsiNode, host: SsiHost) -> bool:
        if node.kind == "word":
            return bool(host.substituted(node.text))
        if node.kind == "(":
            if not node.closed:
                raise SsiError(f"Unmatched '(' in \"{self.text}\"", "AH03191")
            return node.right is None or await self._evaluate(node.right, host)
        if node.kind == "!":
            return node.right is not None and not await self._evaluate(node.right, host)
        if node.kind == "-A":
            if node.right is None or node.right.kind != "word":
                raise self._invalid("AH01335")
            return await host.admitted(host.substituted(node.right.text))
        return self._compared(node, host)

    async def _both(self, node: SsiNode, host: SsiHost) -> bool:
        """Evaluate a chain of ``&&`` and ``||`` with short circuit."""
        if node.left is None or node.right is None:
            raise self._invalid("AH01332")
        first = await self._evaluate(node.left, host)
        if first is (node.kind == "||"):
            return first
        return await self._evaluate(node.right, host)

    def _compared(self, node: SsiNode, host: SsiHost) -> bool:
        left = node.left
        right = node.right
        code = "AH01333" if node.kind in ("=", "!=") else "AH01334"
        if left is None or right is None or right.kind not in ("word", "regex"):
            raise self._invalid(code)
        first = host.substituted(left.text)
        if right.kind == "regex":
            return self._searched(right.regex, first, host) is (node.kind == "=")
        second = host.substituted(right.text)
        if node.kind in _COMPARE:
            return _COMPARE[node.kind](first, second)
        return (first == second) is (node.kind == "=")

    def _searched(self, regex: Regex | None, subject: str, host: SsiHost) -> bool:
        """Return True if *regex* matches; one that could not be compiled matches."""
        if regex is None:
            return True
        match = regex.search(subject)
        host.matched(match, regex)
        return match is not None
