"""Regular expressions and wildcards: RegexError alone; PCRE, `re` and the automaton of verify find the same.

The first byte selects the options; the first line is the pattern, the rest the subject.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from tests.fuzz import seeds as recorded
from whimbrel.access.patterns.automaton import Alphabet, NoAutomaton, PatternAutomaton, TooLarge
from whimbrel.access.patterns.syntax import UnknownSyntax, irregular_part, parse_pattern
from whimbrel.base.fnmatch import compile_fnmatch, simple_match
from whimbrel.base.regex import RegexError, compile_regex, scannable, without_end

COVERED = (
    "base/fnmatch.py",
    "base/pcre.py",
    "base/regex.py",
    "base/regex_cost.py",
    "access/patterns/automaton.py",
    "access/patterns/syntax.py",
)
TOKENS = (
    b"(",
    b")",
    b"(?:",
    b"(?i)",
    b"(?=",
    b"(?!",
    b"(?<=a)",
    b"[^/]+",
    b"[a-z0-9]",
    b"[[:alpha:]]",
    b"\\d",
    b"\\w*",
    b"\\b",
    b"\\x41",
    b"\\Q",
    b"\\E",
    b"{2,3}",
    b"*",
    b"+?",
    b"++",
    b"?",
    b"|",
    b"^",
    b"$",
    b".",
    b"\\1",
    b"\\n",
    b"\n",
    b"\\R",
    b"(?>",
    b"\xe9",
)
PATTERN = 60  # bytes of the longest pattern, and of the longest subject: PCRE gives up no search of them
FOUND = 20  # matches of one subject
_WRITTEN = re.compile(
    r"(?:RewriteRule|RewriteCond \S+|LocationMatch|RedirectMatch|AliasMatch) \"?([^\s\">]+)"
)


def seeds() -> Sequence[bytes]:
    found = [
        match[1]
        for case in recorded.cases("core-rewrite", "core-mapping")
        for match in _WRITTEN.finditer(case.conf)
    ]
    written = [
        r"^/a(b|c)*d$",
        r"(?i)\.(gif|jpe?g)$",
        r"^(?!/x)(.*)\.php(?:/|$)",
        r"\bfoo\b.{2,3}?",
        r"[^a-c\]x-]+\d",
        r"(a+)+b",
    ]
    patterns = recorded.few([text.encode("latin-1", "replace") for text in [*found, *written]], 80)
    return [b"\0" + pattern + b"\n/abcd/x.php?foo=1\n" for pattern in patterns]


def run(data: bytes) -> None:
    switches = data[0] if data else 0
    first, _, rest = data[1:].partition(b"\n")
    pattern, subject = first[:PATTERN].decode("latin-1"), rest[:PATTERN].decode("latin-1")
    ignore_case, version22 = bool(switches & 1), bool(switches & 2)
    _check_wildcards(pattern, subject, ignore_case)
    without_end(pattern)
    scannable(pattern, ignore_case=ignore_case, version22=version22)
    try:
        regex = compile_regex(pattern, ignore_case=ignore_case, version22=version22)
    except RegexError:
        regex = None
    else:
        pcre = regex.pcre()
        exact = pcre.search(subject)
        assert _spans(regex.search(subject)) == _spans(exact), (pattern, subject)
        each = [(start, _spans(match)) for start, match in islice(regex.find_all(subject), FOUND)]
        assert each == [(start, _spans(match)) for start, match in islice(pcre.find_all(subject), FOUND)]
        assert regex.groups == len(exact.groups()) if exact is not None else True
    _check_automaton(pattern, subject, ignore_case, version22, regex)


def _spans(match):  # type: ignore[no-untyped-def]
    return None if match is None else (match.start(), match.end(), match.group(), match.groups())


def _check_wildcards(pattern: str, subject: str, ignore_case: bool) -> None:
    if pattern.count("*") < 5:
        simple_match(subject, pattern)
        for by_segment in (False, True):
            compile_fnmatch(pattern, by_segment=by_segment, ignore_case=ignore_case).search(subject)


def _check_automaton(pattern, subject, ignore_case, version22, regex):  # type: ignore[no-untyped-def]
    """An automaton accepts what the expression finds; a tree exists for compiled patterns alone."""
    try:
        tree = parse_pattern(pattern, ignore_case=ignore_case, version22=version22)
    except UnknownSyntax:
        return
    if regex is None or irregular_part(tree):
        return
    alphabet = Alphabet([tree])
    try:
        automaton = PatternAutomaton(tree, alphabet, seconds=0.05)
        state = automaton.start
        for character in subject:
            part = next(n for n, part in enumerate(alphabet.parts) if part >> ord(character) & 1)
            state = automaton.step(state, part)
        accepted = automaton.accepts(state)
    except (TooLarge, NoAutomaton):
        return
    assert accepted == (regex.search(subject) is not None), (pattern, subject)
