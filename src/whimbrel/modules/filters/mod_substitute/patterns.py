"""Patterns of Substitute: parsing, and what one pattern does with one line.

Texts have one character per byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, cast

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.base.regex import Match, Regex, scannable
from whimbrel.base.regex_cost import Scan
from whimbrel.directives.command import Command
from whimbrel.modules.support.substitution import Substitution, compiled

Found = tuple[int, int, str]  # start and end of a match, and its replacement
NO_LIMIT: Final = 1 << 62
_FORMAT: Final = "Bad Substitute format, must be an s/// pattern"
_COMPLETE: Final = "Bad Substitute format, must be a complete s/// pattern"
_FLAGS: Final = "Bad Substitute flag, only s///[infq] are supported"


_INLINE: Final = re.compile(r"\(\?(?!:)|\\[EQ]").search  # options, which may change what a dot matches
_TOKENS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.?|\[:[a-z^]+:\]|[^\]\\])*(?:\]|\Z)|\.", re.DOTALL)


class OverlongLine(Exception):
    """A line exceeds SubstituteMaxLineLength, or a match of nothing would repeat for ever."""


@dataclass(frozen=True, slots=True)
class FixedText:
    """A pattern with the flag n, whose replacement is literal too."""

    text: str
    replacement: str
    ignore_case: bool = False
    flatten: bool = True

    @property
    def is_expression(self) -> bool:
        """Return False: there is no expression."""
        return False

    @property
    def fold(self) -> re.Pattern[str] | None:
        """Return the expression for the text in any case; None if the case counts."""
        return re.compile(re.escape(self.text), re.ASCII | re.IGNORECASE) if self.ignore_case else None

    def find(self, line: str) -> Iterator[Found]:
        """Yield the matches in *line*."""
        if self.ignore_case:
            for match in re.finditer(re.escape(self.text), line, re.ASCII | re.IGNORECASE):
                yield *match.span(), self.replacement
            return
        size = len(self.text)
        at = line.find(self.text)
        while at >= 0:
            yield at, at + size, self.replacement
            at = line.find(self.text, at + size)


@dataclass(frozen=True, slots=True)
class PatternExpression:
    """A pattern that is a regular expression; *scan*: its form for whole pages, if it has one."""

    regex: Regex
    substitution: Substitution
    scan: Scan | None
    flatten: bool = True

    @property
    def is_expression(self) -> bool:
        """Return True."""
        return True

    def find(self, line: str) -> Iterator[Found]:
        """Yield the matches in *line*; each search begins a new subject behind the last match, as in httpd.

        Raises:
            OverlongLine: the match of nothing at the beginning of a subject, which httpd repeats until the
                line is too long.
        """
        apply = self.substitution.apply
        for at, match in self._matches(line):
            start = match.start()
            end = match.end()
            yield at + start, at + end, apply(match)
            if not end:
                raise OverlongLine

    def _matches(self, line: str) -> Iterator[tuple[int, Match]]:
        scan = self.scan
        if scan is None or scan.cost.degree:
            return self.regex.find_all(line)
        return ((0, cast(Match, match)) for match in scan.pattern.finditer(line))


Pattern = FixedText | PatternExpression


def without_newlines(pattern: str) -> str:
    """Return *pattern* with dots that match no newline, as 2.4 has them in this module always."""
    if pattern[:2] == "(*":
        return pattern
    if _INLINE(pattern):
        return f"(?-s){pattern}"
    return _TOKENS.sub(lambda match: "[^\n]" if match[0] == "." else match[0], pattern)


def parse(cmd: Command, written: str) -> Pattern:
    """Return the pattern *written* as ``s/from/to/flags``; raise ConfigError."""
    if lower(written[:1]) != "s":
        raise ConfigError(_FORMAT)
    parts = written[2:].split(written[1], 2) if len(written) > 1 else []
    if len(parts) < 2 or not parts[0]:
        raise ConfigError(_COMPLETE)
    flags = lower(parts[2]) if len(parts) > 2 else ""
    if flags.strip("infq"):
        raise ConfigError(_FLAGS)
    ignore_case = "i" in flags
    flatten = flags.rfind("f") >= flags.rfind("q")
    if "n" in flags:
        return FixedText(parts[0], parts[1], ignore_case, flatten)
    version22 = cmd.dialect.substitute_22
    pattern = parts[0] if version22 else without_newlines(parts[0])
    regex = compiled(cmd, pattern, "Substitute could not compile regex", ignore_case=ignore_case)
    scan = scannable(pattern, ignore_case=ignore_case, version22=version22)
    to = parts[1]
    if version22:  # a backslash before any other character is a character
        to = re.sub(r"\\(?![$&])", r"\\\\", to)
    return PatternExpression(regex, Substitution(to, ampersand=cmd.dialect.ampersand_is_match), scan, flatten)
