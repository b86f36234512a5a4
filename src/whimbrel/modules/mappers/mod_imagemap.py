"""mod_imagemap: server-side image maps. Points are in pixels from the top left corner."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.numbers import BLANKS, is_digits, split, strip
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.http.syntax.url import escape_html, escape_uri
from whimbrel.modules.support.setters import set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_log = module_log("imagemap")

HANDLERS = ("imap-file", "application/x-httpd-imap")
DOCTYPE_22 = '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">'
MAX_POINTS = 100
_NUMBER = r"[ \t]*+([+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?)"
_PAIR = re.compile(_NUMBER + r"[, ]++" + _NUMBER)
_SKIP = re.compile(r"\s*\d*.?\s*\d*", re.S | re.ASCII)
_LEADING = re.compile(_NUMBER.removeprefix(r"[ \t]*+"))
Point = tuple[float, float]


@dataclass(slots=True)
class ImagemapDirConfig:
    """Per-directory settings, as written."""

    menu: str = setting("formatted")
    default: str = setting("nocontent")
    base: str = setting("map")


# Geometry ---------------------------------------------------------------------------------------
def in_rect(at: Point, points: list[Point]) -> bool:
    """Return True within the rectangle of two opposite corners, including its edges."""
    (x1, y1) = points[0]
    (x2, y2) = points[1] if len(points) > 1 else (-1.0, 0.0)
    return min(x1, x2) <= at[0] <= max(x1, x2) and min(y1, y2) <= at[1] <= max(y1, y2)


def in_circle(at: Point, points: list[Point]) -> bool:
    """Return True within the circle around the first point through the second."""
    centre = points[0]
    edge = points[1] if len(points) > 1 else (-1.0, 0.0)
    return _square(at, centre) <= _square(edge, centre)


def in_poly(at: Point, points: list[Point]) -> bool:
    """Return True within the polygon, or on an edge."""
    x, y = at
    inside = False
    for (x1, y1), (x2, y2) in zip(points, [*points[1:], points[0]], strict=True):
        side = (y - y1) * (x2 - x1) - (x - x1) * (y2 - y1)
        if (y1 >= y) != (y2 >= y):
            inside ^= side >= 0 if y2 >= y1 else side <= 0
        if not side and min(x1, x2) <= x <= max(x1, x2) and min(y1, y2) <= y <= max(y1, y2):
            return True
    return inside


def _square(a: Point, b: Point) -> float:
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


_SHAPES: dict[str, Callable[[Point, list[Point]], bool]] = {
    "rect": in_rect,
    "circle": in_circle,
    "poly": in_poly,
}


def clicked(query: str | None) -> Point | None:
    """Return the point of a query such as ``12,34``; None without one, or for the 0,0 of text browsers."""
    if query is None:
        return None
    x = _number(query, ",")
    _, comma, rest = query.partition(",")
    y = _number(rest, "") if comma else None
    return None if x is None or y is None or (x == 0 and y == 0) or x == -1 or y == -1 else (x, y)


def _number(words: str, stop: str) -> float | None:
    """Return the first number, if it comes before *stop*."""
    at = next((i for i, c in enumerate(words) if is_digits(c) or (stop and c == stop)), len(words))
    match = _LEADING.match(words, at)
    return float(match[1]) if match else None


# Map files --------------------------------------------------------------------------------------
class MapError(Exception):
    """Error: the rest of the map is unusable."""


@dataclass(slots=True)
class Reading:
    """State of one request's evaluation of a map: *out* is the menu so far, None after a click."""

    r: Request
    style: str
    base: str
    default: str
    at: Point | None
    out: list[str] | None
    closest: str | None = None
    distance: float = field(default=-1.0)

    def line(self, number: int, words: str) -> str | None:
        """Process one line; return a URL if it covers the point."""
        if not words or words.startswith("#"):
            self._pass_over(words[1:] if words else None)
            return None
        directive, rest = _word(words)
        if not rest:
            complaint = f"map file {self.r.uri}, line {number} syntax error: requires at least two fields"
            _log(self.r, "error", "AH00679", complaint)
            raise MapError
        value, rest = _word(rest)
        low = directive.lower()
        if low.startswith("base"):
            self.base = self.url("", value)
            return None
        label, rest = _quoted(rest)
        if low == "default":
            self.default = self.url("", value)
            if self.out is not None:
                self._link(self.url(self.base, self.default), label or self.default, "(Default) ")
            return None
        return self._area(low, value, label, rest)

    def _area(self, shape: str, value: str, label: str | None, rest: str) -> str | None:
        points: list[Point] = []
        while len(points) < MAX_POINTS and (pair := _PAIR.match(rest)):
            points.append((float(pair[1]), float(pair[2])))
            rest = rest[_SKIP.match(rest).end() :]  # type: ignore[union-attr]
        if self.out is not None:
            if label is None:
                label, rest = _quoted(rest)
            self._link(self.url(self.base, value), label or value, "          ")
        elif self.at is not None and points and points[0][0] != -1:
            test = _SHAPES.get(shape)
            if test is not None and test(self.at, points):
                return self.url(self.base, value)
            if shape == "point":
                away = _square(self.at, points[0])
                if self.distance < 0 or away < self.distance:
                    self.closest = value
                    self.distance = away
        return None

    def _pass_over(self, comment: str | None) -> None:
        """Process an empty line (None) or a comment in a menu."""
        if self.out is None:
            return
        if self.style == "formatted":
            self.out.append("\n")
        elif comment is None:
            self.out.append("<br />\n" if self.style == "semiformatted" else "\n")
        elif comment and self.style in ("semiformatted", "unformatted"):
            self.out.append(comment + "\n")

    def _link(self, href: str, label: str, before: str) -> None:
        if href.lower() in ("error", "nocontent") or self.out is None:
            return
        link = f'<a href="{escape_uri(href)}">{escape_html(label)}</a>'
        if self.style in ("formatted", "semiformatted"):
            self.out.append(f"<pre>{before}{link}</pre>\n")
        elif self.style == "unformatted":
            self.out.append(link)

    def url(self, base: str, value: str) -> str:
        """Return the URL of *value*, relative to *base*; raise MapError."""
        low = value.lower()
        if low in ("map", "menu"):
            return str(self.r.engine.construct_url(self.r, self.r.uri))
        if low in ("nocontent", "error"):
            return value
        if low == "referer":
            referer: str | None = self.r.headers_in.get("Referer")
            if referer:
                return referer
            value = ""
        if re.match("[A-Za-z]*:", value):
            return value
        if not base:
            return value or str(self.r.engine.construct_url(self.r, "/"))
        return self._joined(base, value)

    def _joined(self, base: str, value: str) -> str:
        climbs = value.startswith("../") or value == ".."
        if "/" not in base and climbs:
            _log(self.r, "error", "AH00677", f"invalid base directive in map file: {self.r.uri}")
            raise MapError
        match = re.search(r"(?<!/)/(?!/)", base)
        host, directory = (base, None) if match is None else (base[: match.start()], base[match.start() :])
        if directory is not None and value.startswith("/"):
            return host + value
        if directory is not None:
            directory = directory[: directory.rfind("/") + 1]
        while value.startswith("../") or value == "..":
            if directory == "":
                _log(self.r, "error", "AH00678", f"invalid directory name in map file: {self.r.uri}")
                raise MapError
            if directory is not None:
                directory = directory.rstrip("/").rpartition("/")[0]
            value = value[2:]
            if value.startswith("/../") or value == "/..":
                value = value[1:]
        return host + (directory or "") + value


def _word(words: str) -> tuple[str, str]:
    """Return the first word and the text after the blanks behind it."""
    parts = split(words, 1)
    return parts[0], parts[1] if len(parts) > 1 else ""


def _quoted(words: str) -> tuple[str | None, str]:
    """Return the quoted text at the beginning and the rest, (None, *words*) without one."""
    words = words.lstrip(BLANKS)
    if not words.startswith('"'):
        return None, words
    label, _, rest = words[1:].partition('"')
    return label, rest


def _header(r: Request, style: str) -> str:
    name = escape_html(r.uri)
    doctype = DOCTYPE_22 if r.plan.dialect.wire_22 else r.plan.dialect.error_page_doctype
    page = f"{doctype}\n<html><head>\n<title>Menu for {name}</title>\n</head><body>\n"
    return page + (f"<h1>Menu for {name}</h1>\n<hr />\n\n" if style == "formatted" else "")


def _reply(r: Request, url: str) -> HookStatus:
    low = url.lower()
    if low == "error" or not url:
        return 500
    if low == "nocontent":
        r.status = 204
        return OK
    r.headers_out.set("Location", url)
    return 302


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler: a redirect to the clicked area's URL, or a menu without a click."""
    conf = scope.dir_config(ImagemapDirConfig)

    def handler(r: Request) -> HookStatus:
        if r.method_number != 0 or r.handler not in HANDLERS:
            return DECLINED
        name = r.filename or ""
        r.deps.stat(name)
        try:
            lines = [
                strip(line) for line in to_text(read_regular(to_bytes(r.deps.on_disk(name)))).split("\n")
            ]
        except OSError:
            r.set_uncacheable()
            return 404
        at = clicked(r.args)
        style = conf.menu.lower()
        menu = at is None and not style.startswith("no")
        reading = Reading(r, style, "", "", at, [_header(r, style)] if menu else None)
        try:
            reading.base, reading.default = reading.url("", conf.base), reading.url("", conf.default)
        except MapError:
            return 500
        return _answer(reading, lines[:-1] if lines and not lines[-1] else lines)

    return CompiledHook(handler, Reads.HEAD | Reads.FILES, handlers=frozenset(HANDLERS))


def _answer(reading: Reading, lines: list[str]) -> HookStatus:
    r = reading.r
    failed = ""
    try:
        for number, words in enumerate(lines, 1):
            url = reading.line(number, words)
            if url is not None:
                return _reply(r, url)
        if reading.out is None:
            return _reply(
                r, reading.url(reading.base, reading.default if reading.closest is None else reading.closest)
            )
    except MapError:
        if reading.out is None:
            return 500
        failed = "\n\n[an internal server error occured]\n"
    r.content_type = "text/html; charset=ISO-8859-1"
    r.write("".join(reading.out) + failed + "\n\n</body>\n</html>\n")
    return OK


MODULE = Module(
    name="imagemap_module",
    source="mod_imagemap.c",
    dir_config=ImagemapDirConfig,
    dir_setters={
        "ImapMenu": set_text("menu"),
        "ImapDefault": set_text("default"),
        "ImapBase": set_text("base"),
    },
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
)
