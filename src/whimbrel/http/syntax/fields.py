"""The field lines of a request head or of a chunked body's trailer, with folding and limits (RFC 9112 5,
httpd's reading).
"""

from __future__ import annotations

import re

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.line_reader import (
    HeadLimits,
    InputState,
    Line,
    LogMessage,
    ParserOptions,
    read_line,
)

_STRICT_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+:")
_BAD_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LOOSE_SPACE = re.compile(r"[\t\n\v\f\r ]")
_LOOSE_BAD_VALUE = re.compile(r"[\n\v\f\r]")
LOG_NAME = 80

TOO_LARGE = "Size of a request header field exceeds server limit."
TOO_MANY = "The number of request header fields exceeds this server's limit."


_TOKENS = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")


def has_token(value: str | None, token: str) -> bool:
    """Return True if *value* has *token* (lower case) as ap_find_token reads it: between any characters that
    are not of a token.

    A word that *token* begins with matches too: httpd compares as many characters as the word has.
    """
    return bool(value) and any(token.startswith(word.lower()) for word in _TOKENS.findall(value or ""))


@dataclass(slots=True)
class Fields:
    """The parsed fields, repeated names merged; unmerged with *status*, an error."""

    headers: Headers
    next: int
    status: int = 0
    reasons: list[LogMessage] = field(default_factory=list)
    notes: str = ""

    def refuse(
        self, code: str, words: str, *, level: str = "debug", notes: str = "", cause: str = ""
    ) -> None:
        """Stop with 400."""
        self.status = 400
        self.notes = notes or self.notes
        self.reasons.append(LogMessage(level, code, words, cause))


class FieldReader:
    """Reads field lines of a growing buffer, each once, from *at* up to the empty line."""

    __slots__ = ("_count", "_found", "_limits", "_pending", "_rules")

    def __init__(self, at: int, limits: HeadLimits, rules: ParserOptions) -> None:
        self._limits = limits
        self._rules = rules
        self._found = Fields(Headers(), at)
        self._pending: str | None = None
        self._count = 0

    def read(self, data: bytes | bytearray, ending: InputState = InputState.OPEN) -> Fields | None:
        """Go on in *data*, which begins as it did in the last call; None when more bytes are needed.

        A field is checked only when the line after it is there, as that may continue it.
        """
        found = self._found
        limits = self._limits
        while True:
            line = read_line(data, found.next, limits.field_size, self._rules, ending)
            if line.kind == "more":
                return None
            found.next = line.next
            if line.kind != "ok":
                _broken(found, line, ending)
                return found
            text = _trimmed(line.text)
            self._add(text)
            if found.status:
                return found
            if not text:
                break
        found.headers.compress()
        _check_merged(found, limits)
        return found

    def _add(self, text: str) -> None:
        found = self._found
        pending = self._pending
        if text[:1] in ("\t", " ") and text:
            self._pending = _folded(found, pending, text, self._limits)
            return
        if pending is not None:
            self._count += 1
            _store(found, pending, self._count, self._limits, self._rules)
        self._pending = text


def _trimmed(text: str) -> str:
    """Return a value without trailing white space; if it is all white space, one byte remains."""
    return text.rstrip("\t ") or text[:1]


def _broken(found: Fields, line: Line, ending: InputState) -> None:
    """A line that is too long, ends wrongly, or is incomplete."""
    words = f"Failed to read request header line {line.text or '(null)'}"
    if line.kind == "end":
        cause = (
            "(70014)End of file found"
            if line.text
            else "(20014)Internal error (specific information not available)"
        )
        found.refuse("", words, cause=cause)
        if ending is InputState.TIMEOUT:
            found.status = 408
            found.reasons = []
    elif line.kind == "long":
        found.refuse("", words, cause="(28)No space left on device")
        name = _name(line.text)
        found.refuse(
            "AH00561",
            f"Request header exceeds LimitRequestFieldSize{': ' if name else ''}{name}",
            level="info",
            notes=TOO_LARGE,
        )
    else:
        found.refuse("", f"Failed to read request header line {line.text}", cause="(22)Invalid argument")


def _name(text: str) -> str:
    return text.partition(":")[0][:LOG_NAME]


def _folded(found: Fields, pending: str | None, text: str, limits: HeadLimits) -> str | None:
    """Return the field *pending* with a continuation line: its leading white space becomes one space."""
    if pending is None:
        found.refuse("AH03442", "Line folding encountered before first header line")
        return None
    if len(text) == 1:
        found.refuse("AH03443", "Empty folded line encountered")
        return None
    joined = f"{pending} {text.lstrip(chr(9) + ' ')}"
    if len(joined) + 1 >= limits.field_size:
        found.refuse(
            "AH00562",
            f"Request header exceeds LimitRequestFieldSize after folding: {_name(pending)}",
            level="info",
            notes=TOO_LARGE,
        )
    return joined


def _store(found: Fields, text: str, count: int, limits: HeadLimits, rules: ParserOptions) -> None:
    """Check one whole field and add it."""
    if limits.fields and count > limits.fields:
        found.refuse(
            "AH00563", "Number of request headers exceeds LimitRequestFields", level="info", notes=TOO_MANY
        )
    elif rules.strict:
        _store_strict(found, text)
    else:
        _store_loose(found, text)


def _store_strict(found: Fields, text: str) -> None:
    match = _STRICT_NAME.match(text)
    if match is None:
        found.refuse("AH02426", f"Request header field name is malformed: {text[:LOG_NAME]}")
        return
    value = text[match.end() :].lstrip("\t ")
    if _BAD_VALUE.search(value):
        found.refuse("AH02427", f"Request header value is malformed: {value[:LOG_NAME]}")
        return
    found.headers.add(match[0][:-1], value)


def _store_loose(found: Fields, text: str) -> None:
    name, colon, value = text.partition(":")
    value = value.lstrip("\t ")
    if not colon:
        found.refuse("AH00564", f"Request header field is missing ':' separator: {text[:LOG_NAME]}")
    elif not name:
        found.refuse("AH03453", "Request header field name was empty")
    elif _LOOSE_SPACE.search(name):
        found.refuse("AH03452", "Request header field name presented invalid whitespace")
    elif _LOOSE_BAD_VALUE.search(value):
        found.refuse("AH03451", "Request header field value presented bad whitespace")
    else:
        found.headers.add(name, value)


def _check_merged(found: Fields, limits: HeadLimits) -> None:
    """LimitRequestFieldSize counts for merged values too."""
    for name, value in found.headers:
        if len(value) > limits.field_size:
            found.refuse(
                "AH00560",
                f"Request header exceeds LimitRequestFieldSize after merging: {name[:LOG_NAME]}",
                level="info",
                notes=TOO_LARGE,
            )
            return
