"""Lines of a request head: limits, rules, and one line out of a buffer."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.registry.methods import NAMES

# The methods that httpd registers by itself, in all configurations.
METHODS: Final = frozenset((*NAMES, "HEAD"))
_READ_SIZE: Final = (
    8192  # bytes without a line feed after which a line is measured although its end is not there
)


@dataclass(frozen=True, slots=True)
class HeadLimits:
    """LimitRequestLine, LimitRequestFieldSize (both in bytes), LimitRequestFields (0: any number)."""

    line: int = 8190
    field_size: int = 8190
    fields: int = 100
    plain: int = field(init=False)  # the size up to which no line of a head can be too long
    most_fields: float = field(init=False)  # `fields`, or infinity

    def __post_init__(self) -> None:
        object.__setattr__(self, "plain", min(self.line, self.field_size, _READ_SIZE))
        object.__setattr__(self, "most_fields", self.fields or float("inf"))


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """HttpProtocolOptions and the version's rules.

    Attributes:
        strict: Strict (else Unsafe); `allow09`: Allow0.9.
        registered_methods, methods: RegisteredMethods; the registered ones (modules may add some).
        scheme: scheme of the connection: an absolute target of it names the host.
        version22: lines are one byte shorter, hosts have no underscores, targets may lack the leading
            slash, Content-Length is checked with the body.
    """

    strict: bool = True
    allow09: bool = True
    registered_methods: bool = False
    version22: bool = False
    scheme: str = "http"
    methods: frozenset[str] = METHODS


class InputState(Enum):
    """State of the input: open, or at its end."""

    OPEN = "open"
    EOF = "eof"
    TIMEOUT = "timeout"


class LogMessage(NamedTuple):
    """A line for the error log; none if *level* is "".  *code* is "" in 2.2; *cause* is an errno with its
    text, ``(22)Invalid argument``; *module* is the short name.
    """

    level: str
    code: str
    text: str
    cause: str = ""
    module: str = "core"


class Line(NamedTuple):
    """A line: *kind* is ``ok``, ``more`` (to come), ``end`` (of input), ``long``, ``bad``; *next*."""

    kind: str
    text: str
    next: int


def read_line(data: bytes | bytearray, at: int, limit: int, rules: ParserOptions, ending: InputState) -> Line:
    """Return the line at *at* without its end, of at most *limit* + 1 bytes (2.2: *limit*).

    Strict lines end in CR LF, others may end in LF alone; a NUL makes any line bad.
    """
    room = limit if rules.version22 else limit + 1
    feed = data.find(b"\n", at)
    if feed < 0:
        if len(data) - at > max(room + 2, _READ_SIZE):
            return Line("long", to_text(data[at : at + room]), len(data))
        return Line("more" if ending is InputState.OPEN else "end", to_text(data[at:]), len(data))
    crlf = feed > at and data[feed - 1] == 13
    if feed - crlf - at > room:
        return Line("long", to_text(data[at : at + room]), feed + 1)
    line = data[at : feed - 1] if crlf else data[at:feed]
    nul = line.find(b"\0")
    if nul >= 0:
        return Line("bad", to_text(line[:nul]), feed + 1)
    if rules.strict and not crlf:
        return Line("bad", to_text(line if rules.version22 else line + b"\n"), feed + 1)
    return Line("ok", to_text(line), feed + 1)
