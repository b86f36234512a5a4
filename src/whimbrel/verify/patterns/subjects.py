"""The texts that a request can have at each place that patterns are matched with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.access.patterns import classes
from whimbrel.verify.patterns.languages import Subjects
from whimbrel.verify.patterns.uses import DIRECTORY, FILE, RELATIVE, URL

_NO_NUL: Final = classes.span(1, 255)
_TEXT: Final = classes.span(32, 126)
_VISIBLE: Final = classes.span(33, 126)
_SEGMENT: Final = r"(?!\.{1,2}(?:/|\z))[^/]+"
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_TWO: Final = {"hour": r"[01][0-9]|2[0-3]", "min": "[0-5][0-9]", "sec": "[0-5][0-9]", "wday": "[0-6]"}
_TIMES: Final = {
    "time_year": r"\A(?:19[89]|20[0-2])[0-9]\z",
    "time_mon": r"\A(?:0[1-9]|1[0-2])\z",
    "time_day": r"\A(?:0[1-9]|[12][0-9]|3[01])\z",
    **{f"time_{name}": rf"\A(?:{pattern})\z" for name, pattern in _TWO.items()},
    "time": r"\A20[0-2][0-9](?:0[1-9]|1[0-2])(?:0[1-9]|1[0-9]|2[0-8])(?:[01][0-9]|2[0-3])(?:[0-5][0-9]){2}\z",
}
_REQUEST_LINE: Final = r"\A[A-Z]{3,7} /[^ #]* HTTP/1\.[01]\z"
_HOST: Final = r"\A[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*\z"
_PATTERNS: Final = {
    URL: rf"\A/(?:{_SEGMENT}(?:/{_SEGMENT})*/?)?\z",
    RELATIVE: rf"\A(?:{_SEGMENT}(?:/{_SEGMENT})*/?)?\z",
    FILE: rf"\A{_SEGMENT}\z",
    "request_uri": rf"\A/(?:{_SEGMENT}(?:/{_SEGMENT})*/?)?\z",
    "http_host": _HOST,
    "server_name": _HOST,
    "remote_host": _HOST,
    "remote_addr": rf"\A{_OCTET}(?:\.{_OCTET}){{3}}\z|\A[0-9a-f]{{1,4}}(?::[0-9a-f]{{1,4}}){{7}}\z",
    "request_method": r"\A[A-Z]+\z",
    "the_request": _REQUEST_LINE,
    "request_protocol": r"\AHTTP/1\.[01]\z",
    "server_protocol": r"\AHTTP/1\.[01]\z",
    "https": r"\A(?:on|off)\z",
    "request_scheme": r"\Ahttps?\z",
    **_TIMES,
}
_FIELD: Final = r"\A(?:[^ ](?:.*[^ ])?)?\z"


def any_subject(*, is_mixed: bool) -> Subjects:
    """Return all texts; without line feeds if *is_mixed*."""
    return Subjects("", _NO_NUL & ~classes.NEWLINE if is_mixed else _NO_NUL)


def subjects_of(subject: str, tops: Iterable[str], *, is_mixed: bool) -> Subjects:
    """Return the texts that *subject* can be.

    *tops* are the served directories. *is_mixed*: the sides have different dialects, which differ about line
    feeds in any pattern.
    """
    low = subject.lower()
    members = _NO_NUL & ~classes.NEWLINE if is_mixed else _NO_NUL
    if low in (DIRECTORY, "request_filename", "script_filename"):
        return Subjects(_below(tops), members)
    if low in ("query_string", "args"):
        return Subjects(r"\A[^#]*\z", _VISIBLE)
    if low in (URL, RELATIVE, FILE, "request_uri"):
        return Subjects(_PATTERNS[low], members)
    if low in _PATTERNS:
        return Subjects(_PATTERNS[low], _TEXT)
    if not low or "_" in low or " " in low:
        return Subjects("", members)
    return Subjects(_FIELD, _TEXT | classes.span(128, 255))


def _below(tops: Iterable[str]) -> str:
    inside = "|".join(_literal(top.rstrip("/")) for top in tops)
    return rf"\A(?:{inside})(?:/{_SEGMENT})*/?\z"


def _literal(text: str) -> str:
    return "".join(one if one.isalnum() or one == "/" else f"\\x{ord(one):02x}" for one in text)
