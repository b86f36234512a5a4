"""Syntax trees of PCRE patterns over bytes.

The parser accepts what it knows exactly and raises `UnknownSyntax` for the rest. Parts that no automaton
decides (back references, atomic groups) are nodes of the tree: samples are made of them.
"""

from __future__ import annotations

import re
from typing import Final

from whimbrel.access.patterns import classes
from whimbrel.base.lazy_dataclasses import dataclass

MAX_PATTERN: Final = 8192
"""Characters of a pattern; longer ones are not parsed."""
MAX_DEPTH: Final = 60
"""Groups in groups."""


class UnknownSyntax(Exception):
    """The pattern has a construct that the parser does not know."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One byte of a set."""

    members: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after another; none for the empty text."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several alternatives."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Quantified:
    """A part from *least* to *most* times, None without a limit; *is_greedy* matters for groups alone."""

    part: Tree
    least: int
    most: int | None
    is_greedy: bool = True


@dataclass(frozen=True, slots=True)
class Capture:
    """A group that captures."""

    part: Tree
    number: int


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place: *kind* is start, end, word (a boundary) or inner (no boundary)."""

    kind: str


@dataclass(frozen=True, slots=True)
class Around:
    """A lookahead, or a lookbehind if *is_behind*; it must not match if *is_negative*."""

    part: Tree
    is_behind: bool
    is_negative: bool


@dataclass(frozen=True, slots=True)
class Irregular:
    """A part that no automaton decides.

    Attributes:
        reason: the name of the construct.
        part: what a sample is made of.
        number: of the group that a back reference repeats, 0 for other constructs.
    """

    reason: str
    part: Tree
    number: int = 0


Tree = Chars | Sequence | Choice | Quantified | Capture | Anchor | Around | Irregular
EMPTY: Final = Sequence(())
_QUANTIFIER: Final = re.compile(r"[*+?]|\{([0-9]{1,5})(?:(,)([0-9]{0,5}))?\}")
_UNSURE_QUANTIFIER: Final = re.compile(r"\{[ \t]*+(?:[0-9]++[ \t]*+)?(?:,[ \t]*+(?:[0-9]++[ \t]*+)?)?\}")
"""What some versions of PCRE read as text and others as a repetition; and repetitions without a part."""
_INLINE: Final = re.compile(r"\(\?([isx]*)(?:-([isx]+))?(:|\))")
_NAMED: Final = re.compile(r"\(\?(?:P?<([A-Za-z_]\w*)>|'([A-Za-z_]\w*)')", re.ASCII)
_AROUNDS: Final = {"(?=": (False, False), "(?!": (False, True), "(?<=": (True, False), "(?<!": (True, True)}
_CONTROLS: Final = {"a": 7, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9}
_SETS: Final = {
    "d": classes.DIGIT,
    "w": classes.WORD,
    "s": classes.SPACE,
    "h": classes.HORIZONTAL,
    "v": classes.VERTICAL,
}
_ANCHORS: Final = {"A": "start", "G": "", "z": "end", "b": "word", "B": "inner"}
_BACK_REFERENCE: Final = re.compile(r"\\([1-9][0-9]?)(?![0-9])|\\g\{?([1-9][0-9]?)\}?")
_BEFORE_END: Final = Choice((Sequence((Chars(classes.NEWLINE), Anchor("end"))), Anchor("end")))
_END_OF_LINE: Final = Around(_BEFORE_END, False, False)
_HIGHEST: Final = 1000
"""The highest number of a repetition; PCRE knows 65535, of which an automaton would be too large."""


def parse_pattern(pattern: str, *, ignore_case: bool = False, version22: bool = False) -> Tree:
    """Return the tree of *pattern*; the flags are those of `compile_regex`."""
    if len(pattern) > MAX_PATTERN:
        raise UnknownSyntax("the pattern is too long")
    if not all(ord(character) < 256 for character in pattern):
        raise UnknownSyntax("a character that is no byte")
    parser = _Parser(pattern, version22)
    parser.ignore_case = ignore_case
    tree = parser.choice()
    if parser.at < len(pattern):
        raise UnknownSyntax("an unmatched parenthesis")
    return tree


class _Parser:
    def __init__(self, text: str, version22: bool) -> None:
        self.text = text
        self.at = 0
        self.ignore_case = False
        self.is_dotall = not version22
        self.is_extended = False
        self.version22 = version22
        self.groups = 0
        self.depth = 0

    def rest(self, length: int = 1) -> str:
        """Return the next *length* characters."""
        return self.text[self.at : self.at + length]

    # structure --------------------------------------------------------------------------------------
    def choice(self) -> Tree:
        """Parse alternatives up to the end of the group; flags that are set inside end there."""
        flags = (self.ignore_case, self.is_dotall, self.is_extended)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnknownSyntax("too many groups in groups")
        parts = [self.sequence()]
        while self.rest() == "|":
            self.at += 1
            parts.append(self.sequence())
        self.depth -= 1
        self.ignore_case, self.is_dotall, self.is_extended = flags
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def sequence(self) -> Tree:
        """Parse parts up to the end of the alternative."""
        parts: list[Tree] = []
        while self.at < len(self.text) and self.rest() not in "|)":
            if self.is_extended and self._skip_blank():
                continue
            if self.text.startswith("\\Q", self.at):
                self._quoted(parts)
                continue
            if self.text.startswith("\\E", self.at):
                self.at += 2
                continue
            part = self.atom()
            if part is not None:
                parts.append(self._repeated(part))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _skip_blank(self) -> bool:
        if self.rest() in " \t\n\v\f\r":
            self.at += 1
            return True
        if self.rest() != "#":
            return False
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end + 1
        return True

    def _quoted(self, parts: list[Tree]) -> None:
        end = self.text.find("\\E", self.at)
        end = len(self.text) if end < 0 else end
        literals = [self._literal(ord(character)) for character in self.text[self.at + 2 : end]]
        self.at = min(end + 2, len(self.text))
        if literals:
            parts.extend(literals[:-1])
            parts.append(self._repeated(literals[-1]))

    def _repeated(self, part: Tree) -> Tree:
        """Return *part* with the quantifiers that follow it."""
        while (found := _QUANTIFIER.match(self.text, self.at)) is not None:
            if self.is_extended:
                raise UnknownSyntax("a quantifier under (?x)")
            if isinstance(part, Anchor | Around):
                raise UnknownSyntax("a quantifier behind an assertion")
            self.at = found.end()
            least, most = _limits(found)
            kind = self.rest()
            if kind == "+":
                self.at += 1
                part = Irregular("a possessive quantifier", Quantified(part, least, most))
                continue
            if kind == "?":
                self.at += 1
            part = Quantified(part, least, most, kind != "?")
        return part

    def atom(self) -> Tree | None:
        """Parse one part without its quantifier; None for flags and comments."""
        character = self.rest()
        if character == "(":
            return self.group()
        if character == "[":
            return self._bracket()
        if character == "\\":
            return self._escape()
        if character in "*+?" or _UNSURE_QUANTIFIER.match(self.text, self.at):
            raise UnknownSyntax("a quantifier without a part, or one that not all versions of PCRE know")
        self.at += 1
        if character == ".":
            return Chars(classes.ANY if self.is_dotall else classes.ANY & ~classes.NEWLINE)
        if character == "^":
            return Anchor("start")
        if character == "$":
            return _END_OF_LINE if self.version22 else Anchor("end")
        return self._literal(ord(character))

    def _literal(self, byte: int) -> Chars:
        one = 1 << byte
        return Chars(classes.folded(one) if self.ignore_case else one)

    # groups -----------------------------------------------------------------------------------------
    def group(self) -> Tree | None:
        """Parse what begins with a parenthesis; None for flags and comments."""
        if self.text.startswith("(?#", self.at):
            end = self.text.find(")", self.at)
            if end < 0:
                raise UnknownSyntax("an unclosed comment")
            self.at = end + 1
            return None
        for opening, (is_behind, is_negative) in _AROUNDS.items():
            if self.text.startswith(opening, self.at):
                return Around(self._inside(len(opening)), is_behind, is_negative)
        if self.text.startswith("(?>", self.at):
            return Irregular("an atomic group", self._inside(3))
        if (inline := _INLINE.match(self.text, self.at)) is not None:
            return self._with_flags(inline)
        named = _NAMED.match(self.text, self.at)
        if named is None and self.rest(2) in ("(?", "(*"):
            raise UnknownSyntax(f"the group {self.rest(4)}")
        self.groups += 1
        number = self.groups
        return Capture(self._inside(1 if named is None else named.end() - self.at), number)

    def _inside(self, length: int) -> Tree:
        self.at += length
        tree = self.choice()
        if self.rest() != ")":
            raise UnknownSyntax("an unclosed group")
        self.at += 1
        return tree

    def _with_flags(self, found: re.Match[str]) -> Tree | None:
        before = (self.ignore_case, self.is_dotall, self.is_extended)
        for letters, value in ((found[1], True), (found[2] or "", False)):
            self.ignore_case = value if "i" in letters else self.ignore_case
            self.is_dotall = value if "s" in letters else self.is_dotall
            self.is_extended = value if "x" in letters else self.is_extended
        if found[3] == ")":
            self.at = found.end()
            return None
        tree = self._inside(found.end() - self.at)
        self.ignore_case, self.is_dotall, self.is_extended = before
        return Sequence((tree,)) if isinstance(tree, Anchor | Around) else tree

    # escapes and classes ----------------------------------------------------------------------------
    def _escape(self) -> Tree:
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in _ANCHORS and _ANCHORS[letter]:
            self.at += 2
            return Anchor(_ANCHORS[letter])
        if letter == "Z":
            self.at += 2
            return _END_OF_LINE
        if letter == "N" and not self.version22:
            self.at += 2
            return Chars(classes.ANY & ~classes.NEWLINE)
        if (found := _BACK_REFERENCE.match(self.text, self.at)) is not None:
            number = int(found[1] or found[2])
            if number > self.groups:
                raise UnknownSyntax("a reference to a later group")
            self.at = found.end()
            return Irregular("a back reference", EMPTY, number)
        value = self._escaped()
        return self._literal(value) if value >= 0 else Chars(~value)

    def _escaped(self) -> int:
        """Parse an escape that classes have, too; return its byte, or the complement (`~`) of its set."""
        letter = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if self.version22 and letter and letter in "hHvV":
            raise UnknownSyntax(f"the escape \\{letter} in 2.2")
        if letter and letter.lower() in _SETS:
            inside = _SETS[letter.lower()]
            return ~(inside if letter.islower() else classes.ANY & ~inside)
        if letter == "x":
            return self._hexadecimal()
        if letter == "0":
            return self._octal()
        if letter == "c" or not letter or letter.isascii() and letter.isalnum():
            raise UnknownSyntax(f"the escape \\{letter}")
        return ord(letter)

    def _hexadecimal(self) -> int:
        found = re.compile(r"\{([0-9a-fA-F]{1,2})\}|([0-9a-fA-F]{1,2})").match(self.text, self.at)
        if found is None:
            raise UnknownSyntax("the escape \\x")
        self.at = found.end()
        return int(found[1] or found[2], 16)

    def _octal(self) -> int:
        found = re.compile(r"[0-7]{0,2}").match(self.text, self.at)
        assert found is not None  # the expression matches nothing, too
        self.at = found.end()
        return int(found[0] or "0", 8)

    def _bracket(self) -> Chars:
        if self.rest(7) in ("[[:<:]]", "[[:>:]]"):
            raise UnknownSyntax("a boundary in brackets")
        self.at += 1
        is_negated = self.rest() == "^"
        self.at += is_negated
        inside = 0
        is_first = True
        while is_first or self.rest() != "]":
            if self.at >= len(self.text):
                raise UnknownSyntax("an unclosed class")
            is_first = False
            inside |= self._member()
        self.at += 1
        return Chars(classes.ANY & ~inside if is_negated else inside)

    def _member(self) -> int:
        """Parse a byte, a range, a set or a POSIX class, and return its bytes in all cases that count."""
        if self.rest(2) in ("[:", "[.", "[="):
            posix = re.compile(r"\[:(\^?)([a-z]+):\]").match(self.text, self.at)
            if posix is not None and posix[2] in classes.POSIX:
                self.at = posix.end()
                self._refuse_range()
                name = "alpha" if self.ignore_case and posix[2] in ("lower", "upper") else posix[2]
                inside = classes.POSIX[name]
                return classes.ANY & ~inside if posix[1] else inside
            if re.compile(r"\[([:.=])[^\]]*\1\]").match(self.text, self.at) is not None:
                raise UnknownSyntax("a class name")
        low = self._byte()
        if low < 0:
            self._refuse_range()
            return ~low
        high = low
        if self.rest() == "-" and self.text[self.at + 1 : self.at + 2] not in ("", "]"):
            if self.text[self.at + 1 : self.at + 3] in ("[:", "\\Q", "\\E"):
                raise UnknownSyntax("a range to a class")
            self.at += 1
            high = self._byte()
            if high < low:
                raise UnknownSyntax("a range out of order")
        return classes.folded(classes.span(low, high)) if self.ignore_case else classes.span(low, high)

    def _refuse_range(self) -> None:
        """Raise where a hyphen follows a set and is not the last of the class: PCRE's versions differ."""
        if self.rest() == "-" and self.text[self.at + 1 : self.at + 2] != "]":
            raise UnknownSyntax("a range from a class")

    def _byte(self) -> int:
        if self.rest() != "\\":
            self.at += 1
            return ord(self.text[self.at - 1])
        letter = self.text[self.at + 1 : self.at + 2]
        if letter == "b":
            self.at += 2
            return 8
        if letter in ("Q", "E") or letter.isdigit() and letter != "0":
            raise UnknownSyntax(f"the escape \\{letter} in a class")
        return self._escaped()


def _limits(found: re.Match[str]) -> tuple[int, int | None]:
    if found[1] is None:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[found[0]]
    least = int(found[1])
    most: int | None = least
    if found[2] is not None:
        most = int(found[3]) if found[3] else None
    if max(least, most or 0) > _HIGHEST or (most is not None and most < least):
        raise UnknownSyntax("a repetition of more than a thousand")
    return least, most


def irregular_part(tree: Tree) -> str:
    """Return the name of the first construct of *tree* that no automaton decides; "" if there is none."""
    if isinstance(tree, Irregular):
        return tree.reason
    parts: tuple[Tree, ...] = ()
    if isinstance(tree, Sequence | Choice):
        parts = tree.parts
    elif isinstance(tree, Quantified | Capture | Around):
        parts = (tree.part,)
    return next((reason for part in parts if (reason := irregular_part(part))), "")
