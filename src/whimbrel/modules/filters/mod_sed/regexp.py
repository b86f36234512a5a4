"""Basic regular expressions of Solaris sed, translated to expressions of `base.regex`.

Only single characters, classes and back references repeat (``*``, ``\\{m,n\\}``); a repeated group does not
exist. ``^`` is an anchor at the beginning, ``$`` at the end, elsewhere both are characters.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import is_alphanumeric
from whimbrel.base.regex import Match, Regex, compile_regex

MAX_GROUPS: Final = 9
_MAX_REPEAT: Final = 255
_SPECIAL: Final = frozenset("\\[](){}*+?|$^.")


class BadExpression(Exception):
    """The expression is wrong; the text is httpd's, without the line."""


@dataclass(frozen=True, slots=True)
class BasicExpression:
    """A compiled expression.

    Attributes:
        first: the form for a search from the beginning of the pattern space.
        repeated: the form that matches at the place of the last match alone: there, a repeated character with
            which the expression begins must occur.
        is_anchored: it begins with ``^``.
        groups: number of groups.
    """

    first: Regex
    repeated: Regex
    is_anchored: bool
    groups: int

    def search(self, text: str) -> Match | None:
        """Return the first match in *text*."""
        match: Match | None = self.first.search(text)
        return match

    def search_rest(self, rest: str) -> tuple[Match, int] | None:
        """Return the next match in *rest*, the text behind the last match, and what its positions lack."""
        if self.is_anchored:
            return None
        match = self.repeated.search(rest)
        if match is not None:
            return match, 0
        match = self.first.search(rest[1:]) if rest else None
        return None if match is None else (match, 1)


def constant_expression() -> BasicExpression:
    """Return the expression that an address without text stands for: it matches nothing at the beginning."""
    return BasicExpression(compile_regex("^"), compile_regex("^"), True, 0)


@dataclass(slots=True)
class _Atom:
    """One item: its text, its bytes in httpd's compiled form, and its repetition."""

    text: str
    size: int
    can_repeat: bool = True
    is_starred: bool = False
    counts: tuple[int, int] | None = None

    def render(self, *, must_occur: bool) -> str:
        """Return the item for `base.regex`."""
        if self.counts is not None:
            least, most = self.counts
            if must_occur and not most:
                return "(?!)"
            least = max(least, 1) if must_occur else least
            return f"{self.text}{{{least},{'' if most == _MAX_REPEAT else most}}}"
        return self.text + ("+" if must_occur else "*") if self.is_starred else self.text

    @property
    def may_be_empty(self) -> bool:
        """Return True for a repeated character that may be absent."""
        return self.is_starred if self.counts is None else self.counts[0] == 0


@dataclass(slots=True)
class Compiled:
    """Result of `compile_expression`; *expression* is None if the text is empty.

    Attributes:
        end: position behind the delimiter.
        size: bytes of httpd's compiled form.
    """

    expression: BasicExpression | None
    end: int
    size: int = 0


class _Reader:
    """Reader of one expression in *line* from *at* to the character *delimiter*."""

    def __init__(self, line: str, at: int, delimiter: str, room: int) -> None:
        self.line = line
        self.at = at
        self.delimiter = delimiter
        self.room = room
        self.atoms: list[_Atom] = []
        self.open: list[int] = []
        self.groups = 0
        self.closed = 0
        self.size = 0

    def take(self) -> str:
        """Return the next character, "" at the end of the line."""
        char = self.line[self.at : self.at + 1]
        self.at += 1
        return char

    def add(self, text: str, size: int, *, can_repeat: bool = True) -> None:
        """Add an item."""
        self.atoms.append(_Atom(text, size, can_repeat))
        self.size += size

    def literal(self, char: str) -> None:
        """Add a character."""
        self.add("\\" + char if char in _SPECIAL else char, 2)

    def read(self) -> None:
        """Read up to the delimiter; raise BadExpression."""
        while True:
            if self.size >= self.room:
                raise BadExpression("too much command text: %s")
            char = self.take()
            if char == self.delimiter and char:
                break
            if char == ".":
                self.add(".", 1)
            elif char in ("", "\n"):
                raise BadExpression("Illegal or missing delimiter: %s")
            elif char == "*":
                self.star()
            elif char == "$" and self.line[self.at : self.at + 1] in (self.delimiter, "\n"):
                self.add("$", 1, can_repeat=False)
            elif char == "[":
                self.bracket()
            elif char == "\\":
                self.escape()
            else:
                self.literal(char)
        self.size += 1
        if self.open:
            raise BadExpression("\\( \\) imbalance: %s")

    def star(self) -> None:
        """Repeat the last item, or add a star."""
        last = self.atoms[-1] if self.atoms else None
        if last is None or not last.can_repeat:
            self.literal("*")
        elif last.counts is None:
            last.is_starred = True

    def escape(self) -> None:
        """Read what follows a backslash."""
        char = self.take()
        if char == "(":
            if self.groups >= MAX_GROUPS:
                raise BadExpression("Too many \\(: %s")
            self.groups += 1
            self.open.append(self.groups)
            self.add("(", 2, can_repeat=False)
        elif char == ")":
            if not self.open:
                raise BadExpression("\\( \\) imbalance: %s")
            self.open.pop()
            self.closed += 1
            self.add(")", 2, can_repeat=False)
        elif char == "{" and self.atoms:
            self.range()
        elif char in ("", "\n"):
            raise BadExpression("Illegal or missing delimiter: %s")
        elif char == "n":
            self.add("\n", 2)
        elif "1" <= char <= "9":
            if int(char) > self.closed:
                raise BadExpression("``\\digit'' out of range: %s")
            self.add(f"(?:\\{char})", 2)
        else:
            self.literal(char)

    def number(self) -> tuple[int, str]:
        """Return a number of ``\\{m,n\\}`` and the character behind it."""
        char = self.take()
        value = 0
        while True:
            if not "0" <= char <= "9":
                raise BadExpression("Bad number: %s")
            value = min(10 * value + int(char), 1 << 20)
            char = self.take()
            if char in ("\\", ","):
                break
        if value >= _MAX_REPEAT:
            raise BadExpression("Range endpoint too large: %s")
        return value, char

    def range(self) -> None:
        """Read ``\\{m\\}``, ``\\{m,\\}`` or ``\\{m,n\\}`` behind the brace."""
        least, char = self.number()
        most = least
        if char == ",":
            if self.line[self.at : self.at + 1] == "\\":
                self.at += 1
                most = _MAX_REPEAT
            else:
                most, char = self.number()
                if char == ",":
                    raise BadExpression("More than 2 numbers given in \\{ \\}: %s")
        if self.take() != "}":
            raise BadExpression("} expected after \\: %s")
        if most < least:
            raise BadExpression("First number exceeds second in \\{ \\}: %s")
        if self.atoms[-1].can_repeat:  # a group does not repeat
            self.atoms[-1].counts = (least, most)
        self.size += 2

    def bracket(self) -> None:
        """Read a class behind its bracket."""
        if self.size + 17 >= self.room:
            raise BadExpression("too much command text: %s")
        members: set[int] = set()
        char = self.take()
        is_negated = char == "^"
        if is_negated:
            char = self.take()
        last = 0
        while True:
            if char in ("", "\0", "\n"):
                raise BadExpression("[ ] imbalance: %s")
            if char == "-" and last:
                char = self.take()
                if char == "]":
                    members.add(ord("-"))
                    break
                members.update(range(last, ord(char or "\0")))
            last = ord(char or "\0")
            members.add(last)
            char = self.take()
            if char == "]":
                break
        members.discard(0)
        is_wide = any(member > 127 for member in members)
        self.add(_class(members, is_negated=is_negated), 33 if is_wide else 17)


def _class(members: set[int], *, is_negated: bool) -> str:
    """Return the class for `base.regex`."""
    items = []
    ordered = sorted(members)
    at = 0
    while at < len(ordered):
        end = at
        while end + 1 < len(ordered) and ordered[end + 1] == ordered[end] + 1:
            end += 1
        low = _member(ordered[at])
        high = _member(ordered[end])
        if end > at + 1:
            items.append(f"{low}-{high}")
        else:
            items.append(low if end == at else low + high)
        at = end + 1
    return f"[{'^' if is_negated else ''}{''.join(items)}]" if items else "(?!)"


def _member(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and (is_alphanumeric(char) or char in " _,;:<>=\"'") else f"\\x{code:02x}"


def compile_expression(line: str, at: int, delimiter: str, room: int) -> Compiled:
    """Compile the expression in *line* from *at* to *delimiter*; raise BadExpression.

    *room*: bytes that httpd's compiled form may take.
    """
    first = line[at : at + 1]
    if first in (delimiter, "\n") and first:
        return Compiled(None, at + (first == delimiter))
    reader = _Reader(line, at, delimiter, room)
    is_anchored = first == "^"
    reader.at += is_anchored
    reader.read()
    normal = []
    repeated = []
    at_begin = True
    for atom in reader.atoms:
        must_occur = at_begin and atom.may_be_empty
        normal.append(atom.render(must_occur=False))
        repeated.append(atom.render(must_occur=must_occur and not atom.text.startswith("(?:")))
        at_begin = at_begin and not atom.can_repeat and atom.text in ("(", ")")
    text = "".join(normal)
    expression = BasicExpression(
        compile_regex("^" + text if is_anchored else text),
        compile_regex("^" + "".join(repeated)),
        is_anchored,
        reader.groups,
    )
    return Compiled(expression, reader.at, reader.size + 1)
