"""Host names of requests: validation and normal form (RFC 9110, 7.2; RFC 1123, 2.1)."""

from __future__ import annotations

import re
import socket
from typing import NamedTuple

from whimbrel.base.numbers import atoi, is_letter, lower
from whimbrel.http.syntax.line_reader import LogMessage, ParserOptions

_DOTTED = re.compile(r"[0-9.]*")
_LEADING_ZERO = re.compile(r"(?:\A|\.)0[0-9]|\A\.")
_LITERAL = re.compile(r"[0-9A-Fa-f:.]*")
_MISPLACED = re.compile(r"::.*::|:::|:\.|\.:|\.\.")
_PROBLEM = 6  # bytes of a bad name that the message shows


class Host(NamedTuple):
    """A host in lower case without port, brackets and final dot, or *reasons* for its refusal."""

    name: str
    port: int | None = None
    reasons: tuple[LogMessage, ...] = ()


def check_host(given: str, rules: ParserOptions, *, from_target: bool = False) -> Host:
    """Validate a Host field, or the host of an absolute target (*from_target*) without port and brackets."""
    if re.fullmatch(r"[0-9]+", given, re.ASCII):
        if rules.strict:
            return Host(
                "",
                None,
                (LogMessage("debug", "AH02416", f"[strict] purely numeric host names not allowed: {given}"),),
            )
        return Host(given)
    bad = LogMessage("debug", "AH00550", f"Client sent malformed Host header: {given}")
    split = (given, None, ":" in given) if from_target else _split_port(given)
    if split is None:
        return Host("", None, (bad,))
    name, port, literal = split
    if literal:
        return Host("", None, (bad,)) if _is_bad_literal(name, rules) else Host(lower(name), port)
    if ".." in name or "/" in name or "\\" in name:
        return Host("", None, (bad,))
    name = lower(name).removesuffix(".")
    problem = _strict_problem(name, rules) if rules.strict else None
    return Host(name, port) if problem is None else Host("", None, (problem, bad))


def _split_port(given: str) -> tuple[str, int | None, bool] | None:
    """(name, port or None, is it an IPv6 literal); None for a bad port or literal, or no name."""
    match = re.search(r":([0-9]+)\Z", given, re.ASCII)
    port = None
    if match is not None:
        port = atoi(match[1])
        if not 0 < port < 65536 or match.start() == 0:
            return None
        given = given[: match.start()]
    if given[:1] != "[":
        return given, port, False
    if given[-1:] != "]" or not _is_ipv6(given[1:-1]):
        return None
    return given[1:-1], port, True


def _is_ipv6(text: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET6, text)
    except (OSError, ValueError):
        return False
    return True


def _is_bad_literal(name: str, rules: ParserOptions) -> bool:
    """Return True if *name* is no IPv6 literal.

    2.4 admits one ``::``, and no dot beside a colon or a dot; an absolute target is checked no further.
    """
    if _LITERAL.fullmatch(name) is None:
        return True
    return not rules.version22 and _MISPLACED.search(name) is not None


def _strict_problem(name: str, rules: ParserOptions) -> LogMessage | None:
    """Why a name is no host name: other characters, no address in dots, a numeric top-level domain."""
    allowed = r"[0-9A-Za-z.\-]*" if rules.version22 else r"[0-9A-Za-z.\-_]*"
    match = re.match(allowed, name)
    end = match.end() if match else 0
    if end < len(name):
        return _invalid(name, name[end:])
    if _DOTTED.fullmatch(name):
        return _invalid(name, "") if name.count(".") != 3 or _LEADING_ZERO.search(name) else None
    dot = name.rfind(".")
    if dot >= 0 and dot + 1 < len(name) and not is_letter(name[dot + 1]):
        return _invalid(name, name[dot:])
    return None


def _invalid(name: str, context: str) -> LogMessage:
    where = f", problem near: {context[:_PROBLEM]}" if context else ""
    return LogMessage("debug", "AH02415", f"[strict] Invalid host name '{name}'{where}")


def construct_host(name: str, port_text: str | None, literal: bool) -> str:
    """The Host field that an absolute target stands for."""
    return (f"[{name}]" if literal else name) + ("" if port_text is None else f":{port_text}")
