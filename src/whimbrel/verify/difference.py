"""Comparison of two answers, field by field; `VARIABLE` names what may differ by nature, and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.upgrade.rules.modules.php import COMMON, OF_ONE_VERSION
from whimbrel.verify.answer import Answer
from whimbrel.verify.program_sources import SOURCE, is_php, is_source, what_is_sent
from whimbrel.verify.state_pages import OF_EACH_SERVER, is_of_state

VARIABLE: Final[dict[str, str]] = {
    "date": "the time of the response",
    "server": "names the version",
    "etag": "2.2 puts the inode into it and 2.4 does not: compared by presence between versions",
    "last-modified": "of generated pages: the time of the response",
    "content-length": "follows from the body",
    "transfer-encoding": "framing follows from the body",
    "connection": "of the connection, not of the resource",
    "keep-alive": "counts the requests of the connection",
    "allow": "compared as a set: 2.2 lists methods in another order",
    "set-cookie": "values of random bytes: compared by name",
    "www-authenticate": "the nonce of Digest is signed with a random key of the process",
    "proxy-authenticate": "as www-authenticate",
    "authentication-info": "the proof of Digest follows from the nonce, as the next nonce",
    "proxy-authentication-info": "as authentication-info",
    "body": "of pages that are made at each request (see state_pages): not compared",
    "boundary": "of multipart bodies: random",
    "vary": "compared as a set, whose order says nothing (RFC 9110, 12.5.5); of the server's own pages, "
    "which 2.2 filters by type and 2.4 does not, without Accept-Encoding",
    "content-encoding": "of the server's own pages: as vary",
}
"""Header fields (lower case) and other parts of answers that differ between equal configurations, and why."""
_IGNORED: Final = frozenset(
    ("date", "server", "content-length", "transfer-encoding", "connection", "keep-alive")
)
NEW_VARIABLES: Final = frozenset(
    (
        *("CONTEXT_DOCUMENT_ROOT", "CONTEXT_PREFIX", "REQUEST_SCHEME", "SSL_SESSION_RESUMED"),
        "DOCUMENT_ARGS",
        *("cache-hit", "cache-invalidate", "cache-miss", "cache-revalidate", "cache-status"),
    )
)
"""Variables that 2.2 never sets: of programs, of mod_include for pages, and those of mod_cache for logs."""
_OF_PAGES: Final = frozenset(("content-type", "content-encoding"))
_BOUNDARY: Final = re.compile(r"(?i)boundary=\"?[0-9a-z]+\"?")
_OF_DIGEST: Final = frozenset(
    ("www-authenticate", "proxy-authenticate", "authentication-info", "proxy-authentication-info")
)
_NONCE: Final = re.compile(r"(?<![\w\"])((?:next)?nonce|rspauth)=\"[^\"]*\"")

VALUES: Final = ("status", "content-type", "handler", "cache-control", "vary", "user")
"""Parts whose values say what changes; those of others differ from request to request."""
MAX_VALUE: Final = 60  # characters of a value


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One part of two answers that differs: ``status``, ``body``, ``user`` ..., or a header field."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name}: {self.old or 'none'} -> {self.new or 'none'}"


@dataclass(frozen=True, slots=True)
class Difference:
    """The parts in which two answers differ, the most important one first."""

    parts: tuple[FieldDifference, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts."""
        return tuple(part.name for part in self.parts)

    def mirrored(self) -> Difference:
        """Return the difference with both sides exchanged."""
        return Difference(tuple(FieldDifference(part.name, part.new, part.old) for part in self.parts))

    def __str__(self) -> str:
        return "; ".join(map(str, self.parts))


def words_of(difference: Difference) -> str:
    """Return what differs: statuses and some fields with their values, all else by name."""
    return ", ".join(
        f"{part.name} {_short(part.old)} -> {_short(part.new)}" if part.name in VALUES else part.name
        for part in difference.parts
    )


def _short(value: str) -> str:
    if value and len(value) <= MAX_VALUE:
        return value
    if value:
        return value[:MAX_VALUE] + "..."
    return "none"


def compare(old: Answer, new: Answer) -> Difference | None:
    """Return the parts in which the answers differ, None if they agree.

    With different statuses only the status and the target of a redirect are compared; where one side sends
    the program that the other would run, nothing else.
    """
    parts: list[FieldDifference] = []
    if is_source(old, new) or is_source(new, old):
        words = [what_is_sent(one) for one in (old, new)]
        return Difference((FieldDifference(SOURCE, words[0], words[1]),))
    if old.status != new.status:
        parts.append(FieldDifference("status", str(old.status), str(new.status)))
        _compare(parts, "location", _location(old), _location(new))
        return Difference(tuple(parts))
    if old.status < 400 or old.status == 404:
        _compare(parts, "file", old.file, new.file)
    _compare(parts, "user", old.user, new.user)
    _compare(parts, "demands on the back end", old.back_end, new.back_end)
    is_worded = old.is_built_in and new.is_built_in and old.dialect != new.dialect
    names = dict.fromkeys(name.lower() for name, _ in (*old.fields, *new.fields))
    for name in names:
        if name == "content-type" and is_of_state(old, new):
            _compare(parts, name, *(one.content_type.partition(";")[0] for one in (old, new)))
        elif name not in _IGNORED and not (is_worded and name in _OF_PAGES):
            form = _form(name, old, new, is_worded)
            _compare(parts, name, form(old), form(new))
    if old.body != new.body and not (is_worded or is_of_state(old, new, OF_EACH_SERVER)):
        parts.append(
            FieldDifference("body", f"{old.length} bytes {old.body}", f"{new.length} bytes {new.body}")
        )
    if old.status < 400 and not (old.runs_program and new.runs_program and is_php(old.handler, new.handler)):
        _compare(parts, "handler", *(OF_ONE_VERSION.sub(COMMON, one.handler) for one in (old, new)))
    if old.status < 400:
        _compare_environments(parts, old, new)
    return Difference(tuple(parts)) if parts else None


def _compare(parts: list[FieldDifference], name: str, old: str, new: str) -> None:
    if old != new:
        parts.append(FieldDifference(name, old, new))


def _location(answer: Answer) -> str:
    return ", ".join(answer.field("location"))


def _form(name: str, old: Answer, new: Answer, is_worded: bool) -> Callable[[Answer], str]:
    """Return the function that gives the comparable form of the field *name*; *is_worded*: of pages that both
    versions word."""
    if name == "vary":
        left_out = {"accept-encoding"} if is_worded else set()
        return lambda answer: ",".join(sorted(_tokens(answer.field(name)) - left_out))
    if name == "etag" and old.dialect != new.dialect:
        return lambda answer: "present" if answer.field(name) else ""
    if name == "last-modified" and old.is_built_in:
        return lambda answer: "present" if answer.field(name) else ""
    if name == "allow":
        return lambda answer: ",".join(sorted(_tokens(answer.field(name))))
    if name == "set-cookie":
        return lambda answer: ", ".join(value.partition("=")[0] for value in answer.field(name))
    if name in _OF_DIGEST:
        return lambda answer: _NONCE.sub(r"\1=", _text(answer.field(name)))
    return lambda answer: _BOUNDARY.sub("boundary=", _text(answer.field(name)))


def _tokens(values: tuple[str, ...]) -> set[str]:
    return {word.strip().lower() for value in values for word in value.split(",") if word.strip()}


def _text(values: tuple[str, ...]) -> str:
    """Return the values of a field as one text; an empty field is not a missing one."""
    return ", ".join(values) or ('""' if values else "")


def _compare_environments(parts: list[FieldDifference], old: Answer, new: Answer) -> None:
    before = dict(old.environment)
    after = dict(new.environment)
    is_new = old.dialect == "2.2" != new.dialect
    for name in dict.fromkeys((*before, *after)):
        if is_new and name.removeprefix("REDIRECT_") in NEW_VARIABLES and name not in before:
            continue
        _compare(parts, f"environment {name}", before.get(name, ""), after.get(name, ""))
