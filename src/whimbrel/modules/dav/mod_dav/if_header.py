"""The If field (RFC 4918, 10.4), read as httpd reads it; no input or output.

`parse` returns lists of conditions with the resource that each is about.  Evaluation is in `validation`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.http.syntax.url import getparents, unescape
from whimbrel.modules.dav.mod_dav.errors import DavError, ErrorId
from whimbrel.modules.dav.mod_dav.uri import UriError, path_of


class StateKind(IntEnum):
    """What a condition compares: an entity tag, a lock token, or a state token of another kind."""

    ETAG = 1
    TOKEN = 2
    UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a list; *value* is the tag or token."""

    kind: StateKind
    value: str
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class ConditionList:
    """Conditions that must all hold for the resource *uri*, a decoded path without the slash at its end; None
    stands for the resource of the request.

    *is_lock_token*: the list stands for the Lock-Token field of UNLOCK.
    """

    uri: str | None
    conditions: tuple[Condition, ...]
    is_lock_token: bool = False


IfHeader = tuple[ConditionList, ...]
# A function from the text of a lock token to its normal form; raises DavError.
ParseToken = Callable[[str], str]


def _token(text: str, at: int, end: str) -> tuple[str, int] | None:
    """Return the text from *at* + 1, without blanks in front, up to *end*, and the place of *end*."""
    start = at + 1
    while text[start : start + 1] in (" ", "\t") and start < len(text):
        start += 1
    stop = text.find(end, start)
    return None if stop < 0 else (text[start:stop], stop)


def parse(value: str, parse_token: ParseToken) -> IfHeader:
    """Return the lists of an If field, last one first, as httpd evaluates them; raise DavError with 400."""
    lists: list[ConditionList] = []
    uri: str | None = None
    is_tagged: bool | None = None
    at = 0
    while at < len(value):
        c = value[at]
        if c == "<":
            found = _token(value, at, ">")
            if is_tagged is False or found is None:
                raise DavError(
                    400,
                    'Invalid If-header: unclosed "<" or unexpected tagged-list production.',
                    ErrorId.IF_TAGGED,
                )
            uri = _resource(found[0])
            is_tagged = True
            at = found[1]
        elif c == "(":
            is_tagged = bool(is_tagged)
            found = _token(value, at, ")")
            if found is None:
                raise DavError(400, 'Invalid If-header: unclosed "(".', ErrorId.IF_UNCLOSED)
            lists.append(ConditionList(uri, _conditions(found[0], parse_token)))
            at = found[1]
        elif c not in " \t":
            raise _unexpected(c)
        at += 1
    return tuple(reversed(lists))


def _unexpected(c: str) -> DavError:
    text = f"Invalid \"If:\" header: Unexpected character encountered (0x{ord(c):02x}, '{c}')."
    return DavError(400, text, ErrorId.IF_UNKNOWN_CHAR)


def _resource(tag: str) -> str:
    """Return the decoded path of the URL in a tagged list."""
    try:
        path = path_of(tag)
    except UriError:
        path = ""
    if not path:
        raise DavError(400, "Invalid URI in tagged If-header.", ErrorId.IF_TAGGED)
    if not path.startswith("/"):
        raise DavError(400, "Invalid URI path tagged If-header.", ErrorId.IF_TAGGED)
    decoded, status = unescape(getparents(path))
    if status:
        raise DavError(400, "Invalid percent encoded URI in tagged If-header.", ErrorId.IF_TAGGED)
    return decoded[:-1] if len(decoded) > 1 and decoded.endswith("/") else decoded


def _conditions(text: str, parse_token: ParseToken) -> tuple[Condition, ...]:
    """Return the conditions of a list, last one first."""
    found: list[Condition] = []
    is_negated = False
    at = 0
    while at < len(text):
        c = text[at]
        if c in "<[":
            token = _token(text, at, ">" if c == "<" else "]")
            if token is None:
                raise DavError(400, "", ErrorId.IF_PARSE)
            found.append(_state(token[0], is_negated, parse_token if c == "<" else None))
            is_negated = False
            at = token[1]
        elif c == "N":
            if text[at : at + 3] == "Not":
                if is_negated:
                    raise DavError(
                        400,
                        'Invalid "If:" header: Multiple "not" entries for the same state.',
                        ErrorId.IF_MULTIPLE_NOT,
                    )
                is_negated = True
            at += 2
        elif c not in " \t":
            raise _unexpected(c)
        at += 1
    return tuple(reversed(found))


def _state(value: str, is_negated: bool, parse_token: ParseToken | None) -> Condition:
    if parse_token is None:
        return Condition(StateKind.ETAG, value, is_negated)
    try:
        return Condition(StateKind.TOKEN, parse_token(value), is_negated)
    except DavError as problem:
        if problem.error_id != ErrorId.LOCK_UNKNOWN_TOKEN:
            raise
        return Condition(StateKind.UNKNOWN, value, is_negated)
