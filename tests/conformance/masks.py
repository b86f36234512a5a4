"""Masks: placeholders for text that changes from run to run.

A site replaces its own paths and ports in actual text by placeholders (`SiteMask`).  Recorded text holds the
same placeholders and more (@DATE@, @TOKEN1@ ...), each of which matches any text (`matches`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Mask = Callable[[str], str]
"""Replace what changes from run to run in actual text."""

EXACT = frozenset({"@SERVERROOT@", "@DOCROOT@", "@PORT@", "@PORT2@", "@PORT3@"})
"""Placeholders that stand for themselves: actual text has them too."""
PRODUCT = re.compile(
    r"(?:Apache|Whimbrel)(?:/(?:\d[\w.+-]*|@VERSION@))?(?: \([^)]*\))?"
    r"(?:(?: mod_\w+| OpenSSL| PHP| DAV| mod_ssl)/[\w.]+)*"
)
"""The product tokens of a Server field or a version text."""

_PLACEHOLDER = re.compile(r"(@(?:[A-Z][A-Z0-9_+-]*|nonce|rspauth|nextnonce)@)")
_LINE_TIME = re.compile(r"^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [^\]]*\] ", re.M)
_PROCESS = re.compile(r"\[pid \d+(?::tid \d+)?\] ")
_CLIENT_PORT = re.compile(r"(\[client [0-9.]+):\d+\]")
_REQUEST_TIME = re.compile(r"\[\d\d/\w{3}/\d{4}[^\]]*\]")
_LOOPBACK_PORT = re.compile(r"127\.0\.0\.1:\d{5}\b")
_PROCESS_NUMBER = re.compile(r"(?<=pid )\d+|(?<=\bPID )\d+|(?<=process )\d+|(?<=child )\d+")
_PROGRAM_TEXTS = (
    (re.compile(r"(Command line: ')\S+(?: --dialect \S+)?"), r"\1=PROGRAM="),
    (re.compile(r"^(Usage: )\S+", re.M), r"\1=PROGRAM="),
    (re.compile(r"^(Server built:).*", re.M), r"\1"),
    (re.compile(r"^(Syntax OK)\nwhimbrel: .*", re.M), r"\1"),  # directives without behaviour
    (re.compile(r"\b(?:apache2|whimbrel-httpd|httpd\.worker|httpd):(?= )"), "httpd:"),
    (PRODUCT, "=SERVER="),
)


class SiteMask:
    """Mask of one site: its paths, ports, and the times and process numbers of log lines."""

    def __init__(self, root: str, document_root: str, ports: Sequence[int]) -> None:
        self._paths = ((document_root, "@DOCROOT@"), (root, "@SERVERROOT@"))
        self._ports = {
            str(port): "@PORT@" if number == 1 else f"@PORT{number}@" for number, port in enumerate(ports, 1)
        }
        self._port = re.compile(rf"(?<!\d)(?:{'|'.join(self._ports)})(?!\d)")

    def __call__(self, text: str) -> str:
        for path, placeholder in self._paths:
            text = text.replace(path, placeholder)
        text = self._port.sub(lambda found: self._ports[found[0]], text)
        if "[" not in text:
            return text
        text = _PROCESS.sub("", _LINE_TIME.sub("", text))
        return _CLIENT_PORT.sub(r"\1:*]", text)


@dataclass(frozen=True)
class CaseMask:
    """Mask of a site, followed by the masks of the case."""

    site: Mask
    masks: Sequence[tuple[str, str]]

    def __call__(self, text: str) -> str:
        text = self.site(text)
        for pattern, replacement in self.masks:
            text = re.sub(pattern, replacement, text)
        return text


def mask_process_numbers(text: str) -> str:
    """Mask the process numbers of messages."""
    return _PROCESS_NUMBER.sub("@PID@", text)


def mask_request_time(line: str) -> str:
    """Mask the time of an access log line."""
    return _REQUEST_TIME.sub("[@TIME@]", line)


def mask_access_line(line: str) -> str:
    """Mask the time and the client port of an access log line."""
    return _LOOPBACK_PORT.sub("127.0.0.1:*", mask_request_time(line))


def mask_product(text: str) -> str:
    """Mask what only identifies the program: name, version, path, build date, command line."""
    for pattern, replacement in _PROGRAM_TEXTS:
        text = pattern.sub(replacement, text)
    return text


def has_product(text: str) -> bool:
    """Return True if the text names the program, so its length depends on the program."""
    return PRODUCT.search(text) is not None


def matches(expected: str, actual: str) -> bool:
    """Return True if *actual* equals *expected*, where a placeholder of *expected* matches any text."""
    if expected == actual:
        return True
    expected, actual = mask_product(expected), mask_product(actual)
    return expected == actual or _matches_literals(_literals(expected), actual)


def _literals(expected: str) -> list[str]:
    """The texts between the placeholders; one element if there is no placeholder."""
    parts = [""]
    for at, piece in enumerate(_PLACEHOLDER.split(expected)):
        if at % 2 == 0 or piece in EXACT:
            parts[-1] += piece
        else:
            parts.append("")
    return parts


def _matches_literals(literals: list[str], text: str) -> bool:
    """Return True if *text* consists of the literals in order, with any text between them.

    The leftmost occurrence of each literal leaves most room for the next, so no search goes back.
    """
    if len(literals) == 1:
        return literals[0] == text
    first, *middle, last = literals
    if not text.startswith(first):
        return False
    position = len(first)
    for literal in middle:
        position = text.find(literal, position)
        if position < 0:
            return False
        position += len(literal)
    return len(text) - len(last) >= position and text.endswith(last)


def sort_unordered(text: str) -> str:
    """Sort what httpd prints in the order of a hash: Mutex lines of -S, the known names of a message."""
    text = re.sub(
        r"(?:^Mutex [^\n]*\n)+", lambda found: "".join(sorted(found[0].splitlines(True))), text, flags=re.M
    )
    return re.sub(r"(?<=\(known names: )[^)]*", lambda found: ",".join(sorted(found[0].split(","))), text)
