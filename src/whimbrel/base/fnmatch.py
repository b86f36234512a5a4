"""Shell patterns as apr_fnmatch reads them: ``*``, ``?``, ``[a-z]``, ``[!a]``, backslash."""

from __future__ import annotations

from functools import lru_cache

from whimbrel.base.regex import Regex, compile_regex
from whimbrel.base.static_typing import Final


@lru_cache(maxsize=4096)
def compile_fnmatch(pattern: str, *, by_segment: bool = False, ignore_case: bool = False) -> Regex:
    """*pattern* as an expression; *by_segment*: wildcards and classes match no slash (FNM_PATHNAME)."""
    out: list[str] = []
    at = 0
    end = len(pattern)
    anything = "[^/]" if by_segment else "."
    while at < end:
        c = pattern[at]
        at += 1
        if c == "*":
            out.append(anything + "*")
        elif c == "?":
            out.append(anything)
        elif c == "[":
            part, at = _class(pattern, at, by_segment, ignore_case)
            out.append(part)
        else:
            if c == "\\" and at < end:
                c = pattern[at]
                at += 1
            out.append(_literal(c))
    return compile_regex("^" + "".join(out) + "$", ignore_case=ignore_case)


def _literal(c: str) -> str:
    if not " " < c < "\x7f":
        return f"\\x{ord(c):02x}"
    return c if c.isalnum() or c == "_" else "\\" + c


def _class(pattern: str, at: int, by_segment: bool, ignore_case: bool) -> tuple[str, int]:
    """Return the class after a bracket at *at*, and its end; an unclosed bracket stands for itself."""
    start = at
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    members: set[int] = set()
    first = True
    while True:
        c = pattern[at : at + 1]
        if not c:
            return r"\[", start
        if c == "]" and not first:
            break
        first = False
        low, at = _member(pattern, at)
        high = low
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(pattern, at + 1)
        members.update(range(low, high + 1))
    if ignore_case:
        members |= {ord(chr(m).swapcase()) for m in members if m < 128}
    if by_segment:
        members = members | {ord("/")} if negated else members - {ord("/")}
    inside = "".join(f"\\x{m:02x}" for m in sorted(members))
    if negated and inside:
        part = f"[^{inside}]"
    elif inside:
        part = f"[{inside}]"
    elif negated:
        part = "."
    else:
        part = "(?!)"
    return part, at + 1


def _member(pattern: str, at: int) -> tuple[int, int]:
    if pattern[at] == "\\" and at + 1 < len(pattern):
        at += 1
    return ord(pattern[at]), at + 1


_WILDCARDS: Final = {"*": ".*", "?": "."}


def simple_match(text: str, pattern: str) -> bool:
    """Return True if *text* matches a pattern of ``*`` and ``?`` (ap_strcmp_match)."""
    if "*" not in pattern and "?" not in pattern:
        return text == pattern
    import re  # no start needs it

    parts = (_WILDCARDS.get(char) or re.escape(char) for char in pattern)
    return re.fullmatch("".join(parts), text, re.S) is not None
