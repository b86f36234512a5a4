"""Access-log lines: a format is compiled to items once, the line of a cached response to a template with
slots.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.errors import ConfigError
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import upper
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.config.model import LogSink
from whimbrel.engine.expressions import evaluate
from whimbrel.engine.redirect_chain import first_request
from whimbrel.expr.errors import EvalError
from whimbrel.http.semantics.dates import log_time
from whimbrel.http.syntax.url import LOG_CHARS, escape_logitem
from whimbrel.modules.loggers.mod_log_config.items import (
    ItemFn,
    ItemKind,
    common_bytes,
    cookie,
    field_in,
    field_out,
    nothing,
    query,
    remote_address,
    remote_host,
    remote_user,
    request_line,
    request_time,
    status,
    variable,
)

if TYPE_CHECKING:
    from whimbrel.engine.cache.log_template import LogTemplate
    from whimbrel.engine.request import Request
    from whimbrel.expr.api import CompiledCondition as Expression

MAX_FROZEN: Final = 64  # lines of cached responses that differ in their constant texts
RAN_OFF = "Ran off end of LogFormat parsing args to some directive"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_FIELD = compile(r"(?P<head>(?:[!<>,\d]|\{[^}]*\})*)(?P<letter>\^(?:ti|to|FB)|[^!<>,\d{])", re.DOTALL)
_HEAD = compile(r"[!<>]|\d+|\{[^}]*\}")
JsonForm = Callable[["str | None"], str]
"""The text of an item's value in a JSON object; None is a value that is missing."""


@dataclass(frozen=True, slots=True)
class LogItem:
    """One item of a format.

    *fn* gets the original or the final request.  The item is written for *statuses* only or, *negated*, for
    all others.  *dynamic*, *is_stable* and *sized* as in ItemKind.  *json* writes the value as part of a JSON
    object.
    """

    fn: ItemFn
    argument: str = ""
    original: bool = False
    dynamic: bool = False
    is_stable: bool = False
    sized: bool = False
    reads_path: bool = False
    statuses: frozenset[int] = frozenset()
    negated: bool = False
    json: JsonForm | None = None

    def text(self, original: Any, final: Any) -> str:
        """Return the item's text."""
        if self.statuses and (final.status in self.statuses) is self.negated:
            return "-"
        value = self.fn(original if self.original else final, self.argument)
        if self.json is not None:
            return self.json(value)
        return "-" if value is None else value


Slot = Callable[[Any], str]
Fill = Callable[[Any], bytes]
Piece = str | LogItem
KindOf = Callable[[str], "ItemKind | None"]


def parse_format(text: str, kind_of: KindOf) -> tuple[Piece, ...]:
    """Return the pieces of a LogFormat; raises ConfigError with httpd's messages."""
    pieces: list[Piece] = []
    at = 0
    while at < len(text):
        if text[at] != "%":
            plain, at = _plain(text, at)
            pieces.append(plain)
        elif text[at + 1 : at + 2] == "%":
            pieces.append("%")
            at += 2
        else:
            item, at = _item(text, at + 1, kind_of)
            pieces.append(item)
    return _joined(pieces)


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    out: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += piece
        else:
            out.append(piece)
    return tuple(out)


def _plain(text: str, at: int) -> tuple[str, int]:
    """Return the text up to the next percent sign; unknown backslash sequences stay as they are."""
    out = []
    while at < len(text) and text[at] != "%":
        following = text[at + 1 : at + 2]
        if text[at] == "\\" and following in _ESCAPES and following:
            out.append(_ESCAPES[following])
            at += 2
        else:
            out.append(text[at])
            at += 1
    return "".join(out), at


def _item(text: str, at: int, kind_of: KindOf) -> tuple[LogItem, int]:
    match = _FIELD.match(text, at)
    if match is None:
        raise ConfigError(RAN_OFF)
    kind = kind_of(match["letter"])
    if kind is None:
        raise ConfigError(f"Unrecognized LogFormat directive %{match['letter'][0]}")
    original = kind.original
    argument = ""
    negated = False
    statuses: set[int] = set()
    for mark in _HEAD.findall(match["head"]):
        if mark[0] == "{":
            argument = mark[1:-1]
        elif mark == "!":
            negated = not negated
        elif mark in "<>":
            original = mark == "<"
        else:
            statuses.add(int(mark))
    is_stable = kind.is_stable or (kind.fn is request_time and not argument)
    return LogItem(
        kind.fn,
        argument,
        original,
        kind.dynamic,
        is_stable,
        kind.sized,
        kind.reads_path,
        frozenset(statuses),
        negated,
    ), match.end()


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition ``env=name`` or ``env=!name`` of a CustomLog."""

    name: str
    negated: bool = False

    def holds(self, original: Any) -> bool:
        """Return True if the line is written."""
        return (self.name in original.env) is not self.negated


@dataclass(frozen=True, slots=True)
class ExprCondition:
    """A condition ``expr=condition`` of a CustomLog (2.4)."""

    test: Expression

    def holds(self, original: Any) -> bool:
        """Return True if the line is written; False if the condition cannot be evaluated.

        A response is not cached if the evaluation itself, such as a sub-request of it, logs errors.
        """
        count = len(original.log_lines)
        try:
            holds = evaluate(original, self.test, "log_config", varies=False)
            if len(original.log_lines) != count:
                original.set_uncacheable()
            return holds
        except EvalError as problem:
            original.log(
                "warn",
                f"Error evaluating log condition: {problem.reason}",
                code="AH00644",
                module="log_config",
            )
            original.set_uncacheable()
            return False


def last_request(r: Request) -> Request:
    """Return the final request of a chain of internal redirects."""
    while r.next is not None:
        r = r.next
    return r


class PerSecond:
    """The text of %t for requests in time order: a cache of one entry, whose key is the second."""

    __slots__ = ("_second", "_text")

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def __call__(self, view: Any) -> str:
        second = int(view.time)
        if second != self._second:
            self._text = log_time(second)
            self._second = second
        return self._text


def _client(view: Any) -> str:
    """%h and %a of a connection whose client address no module has changed."""
    connection = view.connection
    if connection.useragent_ip or connection.notes:
        return remote_host(view, "") or "-"
    address: str = connection.client_ip
    return address


def _body_bytes(view: Any) -> str:
    """%b."""
    count = view.bytes_sent
    return str(count) if count else "-"


def _user(view: Any) -> str:
    """%u."""
    return "-" if view.user is None else remote_user(view, "") or "-"


def _request(view: Any) -> str:
    """%r."""
    line: str | None = view.the_request
    if line is not None and "@" not in line and LOG_CHARS.search(line) is None:
        return line
    shown = request_line(view, "")
    return "-" if shown is None else shown


def _status(view: Any) -> str:
    """%s."""
    return str(view.status) if view.status > 0 else "-"


_OF_THE_LINE: Final = (request_line, query)
_OF_FILES: Final = frozenset(("etag", "last-modified", "content-length", "location", "content-location"))
_OF_THE_CLIENT: Final = (remote_host, remote_address)
_IN_HOLES: Final = (field_in, cookie, request_time, *_OF_THE_CLIENT)


def _field(low: str) -> Slot:
    """Return the slot of %{Name}i for the name *low*, in lower case."""

    def slot(r: Request) -> str:
        values = r.headers_in.entries().get(low)
        if values is None:
            return "-"
        value: str = values[1]
        return value if LOG_CHARS.search(value) is None else escape_logitem(value)

    return slot


@dataclass(slots=True)
class CachedLine:
    """The log line of a cached response; *fill* renders it for one use (a view of a request).

    *is_stable*: all slots are stable; *shows_size*: some depend on sizes.  *outline* (see
    engine/cache/log_template.py) has holes for the logged parts of a request; None if these are more than
    request line, fields and the client's address.
    """

    fill: Fill
    is_stable: bool
    shows_size: bool
    outline: LogTemplate | None


class AccessLogger:
    """One access log of a server: its sink, and the compiled format."""

    __slots__ = ("_frozen", "_second", "_slots", "_template", "condition", "items", "sink")

    def __init__(
        self, sink: LogSink, items: tuple[Piece, ...], condition: Condition | ExprCondition | None = None
    ) -> None:
        self.sink = sink
        self.items = items
        self.condition = condition
        self._frozen: BoundedDict[tuple[bool, tuple[str | None, ...]], CachedLine] = BoundedDict(MAX_FROZEN)
        self._second = PerSecond()
        self._template = ""
        slots = []
        for item in items:
            if isinstance(item, str) or (item.fn is nothing and not item.statuses):
                self._template += (item if isinstance(item, str) else "-").replace("%", "%%")
            else:
                self._template += "%s"
                slots.append(self._render_all(item))
        self._template += "\n"
        self._slots = tuple(slots)

    @property
    def response_fields(self) -> frozenset[str]:
        """Return the response fields, in lower case, that the line logs."""
        items = [item for item in self.items if isinstance(item, LogItem) and item.fn is field_out]
        return frozenset([item.argument.lower() for item in items])

    @property
    def reads_path(self) -> bool:
        """Return True if lines show the path beyond the request line, or fields of a file."""
        items = [item for item in self.items if isinstance(item, LogItem)]
        return (
            isinstance(self.condition, ExprCondition)
            or any(item.reads_path for item in items)
            or not self.response_fields.isdisjoint(_OF_FILES)
        )

    @property
    def may_wait(self) -> bool:
        """Return True if the condition may wait, for a sub-request or for a long search."""
        return isinstance(self.condition, ExprCondition)

    def matches(self, r: Request) -> bool:
        """Return True if this request is logged here."""
        return self.condition is None or self.condition.holds(first_request(r))

    def line(self, r: Request) -> bytes:
        """Return the line for a finished request, with its line end."""
        if r.prev is None and r.next is None:
            return (self._template % tuple([slot(r) for slot in self._slots])).encode("latin-1")
        original = first_request(r)
        final = last_request(r)
        return ("".join([self._piece(item, original, final) for item in self.items]) + "\n").encode("latin-1")

    def _piece(self, item: Piece, original: object, final: object) -> str:
        if isinstance(item, str):
            return item
        if item.fn is request_time and not item.argument and not item.statuses and item.json is None:
            return self._second(final)
        return item.text(original, final)

    def freeze(self, r: Request, *, any_query: bool = False) -> CachedLine:
        """Evaluate the parts that are constant for every use of a cached response.

        *any_query*: the uses may have different request lines.
        """
        original = first_request(r)
        final = last_request(r)
        texts = tuple(
            [
                None if self._varies(item, final, any_query) else self._piece(item, original, final)
                for item in self.items
            ]
        )
        line = self._frozen.get((any_query, texts))
        if line is None:
            line = self._freeze(texts, any_query)
            self._frozen[any_query, texts] = line
        return line

    def _varies(self, item: Piece, final: object, any_query: bool) -> bool:
        """Return True if the text of *item* may differ between uses of a cached response."""
        return (
            not isinstance(item, str)
            and (item.dynamic or (any_query and item.fn in _OF_THE_LINE) or _is_own(item, final))
            and not _left_out(item, final)
        )

    def _freeze(self, texts: tuple[str | None, ...], any_query: bool) -> CachedLine:
        """Return the line with these constant *texts*; None in the place of an item that varies."""
        template = ""
        is_stable = True
        sized = False
        slots = list[Slot]()
        cuts: list[tuple[bytes, int, int]] | None = []
        for item, text in zip(self.items, texts, strict=True):
            if text is not None or isinstance(item, str):
                template += (text or "").replace("%", "%%")
                continue
            per_request = any_query and item.fn in _OF_THE_LINE
            if cuts is not None and (per_request or item.fn in _IN_HOLES):
                hole = _hole(item)
                cuts = None if hole is None else [*cuts, (hole, len(template), len(slots))]
            template += "%s"
            is_request = per_request and item.fn is request_line and item.json is None
            slots.append(_request if is_request else self._slot(item))
            is_stable, sized = is_stable and (per_request or item.is_stable), sized or item.sized
        template += "\n"
        return CachedLine(
            _filler(template, tuple(slots)),
            is_stable,
            sized,
            None if cuts is None else _outline(template, slots, cuts),
        )

    def _render_all(self, item: LogItem) -> Slot:
        """Return the slot of an item of a request that was not redirected."""
        if item.statuses:
            return lambda r: item.text(r, r)
        if item.json is not None:
            return self._slot(item)
        if item.fn is field_in:
            return _field(item.argument.lower())
        quick: dict[ItemFn, Slot] = {remote_user: _user, request_line: _request, status: _status}
        return quick[item.fn] if item.fn in quick else self._slot(item)

    def _slot(self, item: LogItem) -> Slot:
        """Return the function that fills one slot; frequent items have specialized ones."""
        if item.json is not None:
            return _json_slot(item, item.json)
        if not item.argument:
            quick: dict[ItemFn, Slot] = {
                request_time: self._second,
                remote_host: _client,
                common_bytes: _body_bytes,
            }
            if item.fn in quick:
                return quick[item.fn]
        fn = item.fn
        argument = item.argument

        def slot(view: object) -> str:
            value = fn(view, argument)
            return "-" if value is None else value

        return slot


def _json_slot(item: LogItem, form: JsonForm) -> Slot:
    fn = item.fn
    argument = item.argument

    def slot(view: object) -> str:
        return form(fn(view, argument))

    return slot


def _hole(item: LogItem) -> bytes | None:
    """Return the name of the hole for an item; None if it is more than one part of a request."""
    from whimbrel.engine.cache.log_template import CLIENT, TIME  # a configuration check needs neither
    from whimbrel.http.syntax.head_shape import LINE

    if item.json is not None:
        return None  # the holes of an outline are filled with httpd's text
    if item.fn is field_in:
        return to_bytes(item.argument.lower())
    if item.fn is request_line:
        return LINE
    if item.fn is request_time:
        return None if item.argument else TIME
    return CLIENT if item.fn in _OF_THE_CLIENT else None


def _is_own(item: LogItem, final: Any) -> bool:
    """Return True if the item's value is unique to one request."""
    if item.fn is not variable:
        return False
    from whimbrel.engine.env import (
        UNIQUE_ID_NAME,
        LazyEnv,
    )  # it loads the request side, which a configuration check does not need

    return upper(item.argument) == UNIQUE_ID_NAME and isinstance(final.env, LazyEnv)


def _left_out(item: LogItem, final: Any) -> bool:
    return bool(item.statuses) and (final.status in item.statuses) is item.negated


def _outline(template: str, slots: list[Slot], cuts: list[tuple[bytes, int, int]]) -> LogTemplate:
    """Return the line cut at its holes, each with its position in *template* and in *slots*."""
    from whimbrel.engine.cache.log_template import LogTemplate  # a configuration check does not need it

    fills = []
    at = 0
    first = 0
    for _hole, place, index in [*cuts, (b"", len(template), len(slots))]:
        fills.append(_filler(template[at:place], tuple(slots[first:index])))
        at = place + 2
        first = index + 1
    return LogTemplate(tuple(fills), tuple([hole for hole, _place, _index in cuts]))


def _filler(template: str, slots: tuple[Slot, ...]) -> Fill:
    def fill(view: object) -> bytes:
        return (template % tuple([slot(view) for slot in slots])).encode("latin-1")

    return fill
