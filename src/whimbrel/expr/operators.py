"""The operators ``-e file``, ``word -strmatch pattern`` and similar ones. Manual: expr.html#unnop, #binop."""

from __future__ import annotations

import os
import socket
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import TYPE_CHECKING, Final

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.net import InvalidNetwork, Network, numeric_address, parse_written
from whimbrel.base.numbers import lower
from whimbrel.expr.library import CLIENT, FILES, HEAD, UNCACHEABLE, BinaryOperator, UnaryOperator

if TYPE_CHECKING:
    from whimbrel.base.regex import Regex
    from whimbrel.expr.evaluation import Evaluation

_FALSE: Final = ("", "0", "off", "false", "no")


def is_true(text: str) -> bool:
    """``-T``: return True for anything but "", 0, off, false and no."""
    return lower(text) not in _FALSE


# files --------------------------------------------------------------------------------------------
def _exists(e: Evaluation, path: str) -> bool:
    return e.request.deps.stat(path) is not None


def _is_directory(e: Evaluation, path: str) -> bool:
    info = e.request.deps.stat(path)
    return info is not None and S_ISDIR(info.st_mode)


def _is_file(e: Evaluation, path: str) -> bool:
    info = e.request.deps.stat(path)
    return info is not None and S_ISREG(info.st_mode)


def _has_bytes(e: Evaluation, path: str) -> bool:
    info = e.request.deps.stat(path)
    return info is not None and S_ISREG(info.st_mode) and info.st_size > 0


def _is_link(e: Evaluation, path: str) -> bool:
    info = e.request.deps.lstat(path)
    return info is not None and S_ISLNK(info.st_mode)


def _executable(e: Evaluation, path: str) -> bool:
    return e.request.deps.stat(path) is not None and os.access(
        to_bytes(e.request.deps.on_disk(path)), os.X_OK
    )


def _url_allowed(e: Evaluation, target: str) -> bool:
    return e.view.subrequest_status(target, by_file=False)[0] < 400


def _file_allowed(e: Evaluation, path: str) -> bool:
    status, is_file = e.view.subrequest_status(path, by_file=True)
    return status < 300 and is_file


# addresses ----------------------------------------------------------------------------------------
def network(text: str) -> Network:
    """Parse the network *text*; raises ValueError with httpd's message."""
    try:
        return parse_written(text)
    except InvalidNetwork:
        raise ValueError("parsing of subnet/netmask failed") from None


def _contains(known: Network, address: str) -> bool:
    """Return True if *known* contains the numeric *address*; an IPv4-mapped address counts as IPv4."""
    v6, value = numeric_address(address)
    return value >= 0 and known.v6 == v6 and value & known.mask == known.value


def _from_network(e: Evaluation, known: Network) -> bool:
    return _contains(known, e.view.client())


def _in_network(e: Evaluation, address: str, known: Network) -> bool:
    numeric = _numeric(address)
    if numeric is None:
        e.view.set_uncacheable()
        numeric = _resolved(address)
    return numeric is not None and _contains(known, numeric)


def _numeric(address: str) -> str | None:
    """Return *address* in normal form, missing octets completed as inet_aton does; None for a name."""
    try:
        return str(
            socket.getaddrinfo(to_bytes(address), None, flags=socket.AI_NUMERICHOST, type=socket.SOCK_STREAM)[
                0
            ][4][0]
        )
    except (OSError, UnicodeError, ValueError):
        return None


def _resolved(name: str) -> str | None:
    if not name or not name.isascii() or not name.isprintable() or " " in name:
        return None
    try:
        return str(socket.getaddrinfo(to_bytes(name), None, type=socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError, ValueError):
        return None


# patterns -----------------------------------------------------------------------------------------
def _matches(_e: Evaluation, word: str, pattern: Regex) -> bool:
    return pattern.search(word) is not None


_FILES: Final = frozenset({FILES})
_ANYTHING: Final = frozenset({HEAD, CLIENT, FILES, UNCACHEABLE})

UNARY: Final[dict[str, UnaryOperator]] = {
    "n": UnaryOperator(lambda _e, word: word != ""),
    "z": UnaryOperator(lambda _e, word: word == ""),
    "T": UnaryOperator(lambda _e, word: is_true(word)),
    "R": UnaryOperator(_from_network, frozenset({CLIENT}), network),
    "e": UnaryOperator(_exists, _FILES, about_files=True),
    "d": UnaryOperator(_is_directory, _FILES, about_files=True),
    "f": UnaryOperator(_is_file, _FILES, about_files=True),
    "s": UnaryOperator(_has_bytes, _FILES, about_files=True),
    "L": UnaryOperator(_is_link, _FILES, about_files=True),
    "h": UnaryOperator(_is_link, _FILES, about_files=True),
    "x": UnaryOperator(_executable, _FILES, about_files=True),
    "U": UnaryOperator(_url_allowed, _ANYTHING),
    "A": UnaryOperator(_url_allowed, _ANYTHING),
    "F": UnaryOperator(_file_allowed, _ANYTHING),
}
"""Operators by their letter, which is case-sensitive."""

BINARY: Final[dict[str, BinaryOperator]] = {
    "ipmatch": BinaryOperator(_in_network, frozenset({HEAD}), network),
    "strmatch": BinaryOperator(_matches, pattern=compile_fnmatch),
    "strcmatch": BinaryOperator(_matches, pattern=lambda text: compile_fnmatch(text, ignore_case=True)),
    "fnmatch": BinaryOperator(_matches, pattern=lambda text: compile_fnmatch(text, by_segment=True)),
}
"""Operators by name in lower case; names are case-insensitive."""
