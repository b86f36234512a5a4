"""Conditions of 2.2; every result is what httpd 2.4.71 gave under SSILegacyExprParser On.  A is "one", E
is empty.
"""

from __future__ import annotations

import asyncio
import re

import pytest

from whimbrel.base.regex import Match, Regex
from whimbrel.expr.ssi import SsiCondition, SsiError


class Document:
    """Two variables; every sub-request is permitted."""

    def __init__(self) -> None:
        self.codes: list[str] = []

    def substituted(self, text: str) -> str:
        return re.sub(r"\$\{?(\w+)\}?", lambda m: "one" if m[1] == "A" else "", text)

    def matched(self, found: Match | None, regex: Regex) -> None:
        pass

    def complain(self, text: str, code: str) -> None:
        self.codes.append(code)

    async def admitted(self, url: str) -> bool:
        return True


def said(text: str) -> str:
    """Return ``T``, ``F``, or the number of the message."""
    document = Document()
    try:
        held = asyncio.run(SsiCondition(text).evaluate(document))
    except SsiError as problem:
        return problem.code
    return " ".join(["T" if held else "F", *document.codes])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a || b && $E", "T"),
        ("$E && a || b", "F"),
        ("$E || a && $E", "F"),
        ("a = a = a", "AH03188"),
        ("a = b = b", "AH03188"),
        ("!a = b", "AH03188"),
        ("!$E", "T"),
        ("! $E && $E", "F"),
        ("!!a", "T"),
        ("a && b = c", "F"),
        ("a = b || c", "T"),
        ("(a)(b)", "AH03188"),
        ("a (b)", "AH03188"),
        ("(a) b", "AH03188"),
        ("()", "T"),
        ("a ||", "AH01332"),
        ("|| a", "AH03188"),
        ("a | b", "T"),
        ("a & b", "T"),
        ("a = /b", "T"),
        ("a = /b/ && c", "F"),
        ("a /b/", "AH03188"),
        ("a = (b)", "AH01333"),
        ("(a) = a", "AH03188"),
        ("(a = a) = a", "AH03188"),
        ("$A = 'one'", "T"),
        ("'$A' = one", "T"),
        ("'$A = one", "F"),
        ("a\\ b = 'a b'", "T"),
        ("a-A", "T"),
        ("-A /inc.txt", "T"),
        ("-A/inc.txt", "T"),
        ("-A", "AH01335"),
        ("a -A /inc.txt", "AH03188"),
        ("-A = b", "AH03188"),
        ("-A $E", "T"),
        ("a < /b/", "AH03188"),
        ("/b/ = a", "AH03188"),
        ("a = /(/", "T AH02667"),
        ("a = !b", "AH01333"),
        ("a != b != c", "AH03188"),
        ("a<b", "T"),
        ("a>b", "F"),
        ("a<=b", "T"),
        ("a=b", "F"),
        ("a==a", "T"),
        ("a=a", "T"),
        ("a!=a", "F"),
        ("a &&& b", "T"),
        ("a ||| b", "T"),
        ("((a)", "AH03191"),
        ("(a))", "AH03189"),
        ("a = 'b' c", "F"),
        ("'a' 'b' = 'a b'", "T"),
        ("'a''b' = 'a b'", "T"),
        ("a'b' = 'a b'", "F"),
        ("$A = /^(.)(.)/", "T"),
        ("$A = /O/", "F"),
        ("\\$A = '$A'", "T"),
        ("\\'a = b", "F"),
        ("'it\\'s' = it's", "T"),
        ("a = b c = d", "AH03188"),
        ("a && (b || $E) && !($E)", "T"),
        ("($E)", "F"),
        ("a b c", "T"),
        ("= a", "AH03188"),
        ("!", "F"),
        ("a !b", "AH03188"),
        ("! = a", "AH03188"),
        ("a (", "AH03188"),
        ("a =", "AH01333"),
        ("a = b &&", "AH01332"),
        ("a >", "AH01334"),
        ("a && || b", "AH03188"),
        ("a=/o\\/x/", "F"),
        ("o/x = /o\\/x/", "T"),
        ("a/b = 'a/b'", "T"),
        ("a = ''", "F"),
        ("'' = ''", "T"),
        ("'' || a", "T"),
        ("a && ''", "F"),
        ("$A = ${A}", "T"),
        ("${A} = one", "T"),
        ("$NONE = $E", "T"),
        ("1 < 2", "T"),
        ("10 < 9", "T"),
        ("$E && a = /(/", "F AH02667"),
        ("$E && b =", "F"),
        ("a || b =", "T"),
        ("a\\b = ab", "T"),
        ("'a\\b' = ab", "T"),
        ("1 = /\\d/", "F"),
        ("a\\\\b = 'a\\b'", "F"),
        ("a = b = (", "AH03188"),
        ("a = /b/ c", "AH03188"),
        ("a = && b", "AH03188"),
        ("! && a", "AH03188"),
        ("-A && a", "AH03188"),
        ("(a && b) && c || $E", "T"),
        ("($E && a) || b", "T"),
        ("a < (b)", "AH01334"),
        ("a = -A /x", "AH01333"),
        ("a = (b", "AH01333"),
        ("!(a", "AH03191"),
        ("-Ax = -Ax", "AH03188"),
        ("-A '/x y'", "T"),
        ("a&&b", "T"),
        ("a||$E", "T"),
        ("!(!a)", "T"),
        ("! a b", "F"),
        ("a = b c", "F"),
        ("a\\= = 'a='", "T"),
        ("(a = a) && (b = b)", "T"),
        ("(a = a && b = b)", "T"),
        ("((a))", "T"),
        ("(!a)", "F"),
        ("(!)", "F"),
        ("!()", "F"),
        ("'' b = ' b'", "F"),
        ("a '' = 'a '", "T"),
        ("a && !b || c", "T"),
        ("!a && $E || a", "F"),
        ("$E = /^$/", "T"),
        ("a = /A/", "F"),
    ],
)
def test_conditions(text: str, expected: str) -> None:
    assert said(text) == expected
