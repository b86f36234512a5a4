"""Access-log formats: a LogFormat as a regular expression that finds the request in a line.

Manual: mod/mod_log_config.html.  Lines are bytes; values are unescaped to text of one character per byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import is_digits, lower
from whimbrel.http.syntax.url import unescape_logitem

COMBINED: Final = '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"'
COMMON: Final = '%h %l %u %t "%r" %>s %b'
VHOST_COMBINED: Final = "%v:%p " + COMBINED
DEFAULT_FORMATS: Final = (VHOST_COMBINED, COMBINED, COMMON)
GROUPS: Final = ("client", "user", "request", "status", "host", "port")
"""Values of a line that a request is made of; each is one group of the expression."""
FIELDS: Final = {"host": "host", "user-agent": "agent", "referer": "referer"}

_ITEM: Final = re.compile(r"%([<>!,0-9]*)(?:\{([^}]*)\})?(\^[A-Za-z]{2}|[A-Za-z%])")
_NAMES: Final = {
    "h": "client",
    "a": "client",
    "u": "user",
    "r": "request",
    "s": "status",
    "v": "host",
    "V": "host",
    "p": "port",
    "m": "method",
    "U": "path",
    "q": "query",
    "H": "protocol",
}
_TIME: Final = rb"(?:\[[^\]\n]*\]|\S+)"
_HOUR: Final = rb"(?:\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d)[^\]\n]*\]|\[[^\]\n]*\]|\S+)"
"""A time of which day and hour are a group: ``10/Oct/2000:13``; empty in another form."""
_QUOTED: Final = rb'[^"\\\n]*(?:\\.[^"\\\n]*)*'


class LoggedRequest(NamedTuple):
    """The request of one log line.

    *status* is the logged one, 0 if the format has none; *host* and *user* are "" if unknown; *port* 0.
    *host_field*: the Host field as the client sent it, "" if unknown.
    """

    method: str
    target: str
    protocol: str
    client: str
    user: str
    host: str
    port: int
    status: int
    fields: tuple[tuple[str, str], ...] = ()
    host_field: str = ""


@dataclass(frozen=True, slots=True)
class LineFormat:
    """One LogFormat.

    Attributes:
        text: the format as written.
        pattern: matches whole lines of a buffer (MULTILINE); its groups are `names`, in this order.
    """

    text: str
    pattern: re.Pattern[bytes]
    names: tuple[str, ...]

    @classmethod
    def compile(cls, text: str, *, with_fields: bool = True, with_hours: bool = False) -> LineFormat:
        """Return the format; raises ValueError if its lines cannot tell what was requested.

        *with_fields*: User-Agent and Referer are values of a request, too. *with_hours*: day and hour are
        values of a line.
        """
        pieces = []
        names = list[str]()
        at = 0
        items = list(_ITEM.finditer(text))
        for number, item in enumerate(items):
            pieces.append(re.escape(text[at : item.start()].encode("latin-1")))
            at = item.end()
            until = text[at : items[number + 1].start()] if number + 1 < len(items) else text[at:]
            name = "" if item[0] == "%s" and "%>s" in text else _name(item)  # of the final response
            body = _body(item[3], name, text[: item.start()], until, is_last=at == len(text))
            if with_hours and item[0] == "%t" and "hour" not in names and body.startswith(_TIME):
                names.append("hour")
                body = _HOUR
            if name and name not in names and (with_fields or name not in ("agent", "referer")):
                names.append(name)
                body = b"(" + body + b")"
            pieces.append(body)
        pieces.append(re.escape(text[at:].encode("latin-1")))
        if "request" not in names and "path" not in names:
            raise ValueError(f"a line of the format {text!r} does not contain the request (%r, or %m and %U)")
        return cls(text, re.compile(b"^" + b"".join(pieces) + rb"\r?$", re.M), tuple(names))

    @property
    def others(self) -> tuple[int, ...]:
        """The indexes of the values of a request besides its line, client and status."""
        apart = ("request", "client", "status", "hour")
        return tuple(at for at, name in enumerate(self.names) if name not in apart)

    def position(self, name: str) -> int | None:
        """Return the index of a value in the groups, None if the format has none."""
        return self.names.index(name) if name in self.names else None

    def parse(self, line: bytes) -> LoggedRequest | None:
        """Return the request of one line, None if the line is of another form or has no request."""
        found = self.pattern.fullmatch(line)
        return None if found is None else self.request(found.groups(b""))

    def fit(self, line: bytes) -> int:
        """Return 2 if the line has this format, 1 if another one is likelier, 0 if it has another one: the
        columns of one with more of them run into the user, which then has a column ``-``, or into the host.
        """
        found = self.pattern.fullmatch(line)
        if found is None:
            return 0
        parts = dict(zip(self.names, found.groups(b""), strict=True))
        words = parts.get("user", b"").split(b" ")
        if (len(words) > 1 and b"-" in words) or b" " in parts.get("host", b""):
            return 0
        client = parts.get("client", b".")
        return 2 if len(words) == 1 and (b"." in client or b":" in client) else 1

    def request(self, values: Iterable[bytes]) -> LoggedRequest | None:
        """Return the request of the groups of a match; None for a line without a request (``"-"``)."""
        parts = {name: to_text(value) for name, value in zip(self.names, values, strict=True)}
        method, target, protocol = request_line(parts)
        if not target:
            return None
        user = unescape_logitem(parts.get("user", "-"))
        host = unescape_logitem(parts.get("header host", parts.get("host", "-")))
        name, port = split_host(host if host != "-" else "")
        status = parts.get("status", "")
        fields = tuple(
            (title, unescape_logitem(parts[key]))
            for key, title in (("agent", "User-Agent"), ("referer", "Referer"))
            if parts.get(key, "-") != "-"
        )
        host_field = unescape_logitem(parts.get("header host", ""))
        logged_port = parts.get("port", "")
        return LoggedRequest(
            method,
            target,
            protocol,
            parts.get("client", ""),
            "" if user in ("-", '""', "") else user,
            name,
            int(logged_port) if is_digits(logged_port) else port,
            int(status) if is_digits(status) else 0,
            fields,
            host_field if host_field != "-" else "",
        )


def _name(item: re.Match[str]) -> str:
    """Return the name of the value of an item, "" for one that does not matter."""
    letter = item[3]
    argument = item[2]
    if letter == "i" and argument is not None:
        name = FIELDS.get(lower(argument), "")
        return "header host" if name == "host" else name
    return _NAMES.get(letter, "") if argument in (None, "c") or letter == "p" else ""


def _body(letter: str, name: str, before: str, until: str, *, is_last: bool) -> bytes:
    """Return the expression of one item's value."""
    if letter == "%":
        return b"%"
    if before.endswith('"') and until.startswith('"'):
        return _QUOTED
    if letter == "t" and not before.endswith("["):
        return _TIME
    if letter == "s":
        return rb"(?:\d{3}|-)"
    if name == "user":
        return rb"[^\n]*?"
    if is_last:
        return rb"[^\n\r]*"
    stop = until[:1]
    return (
        rb"\S*?"
        if not stop or stop == " " or stop == "%"
        else b"[^" + re.escape(stop.encode("latin-1")) + rb"\n]*"
    )


def request_line(parts: dict[str, str]) -> tuple[str, str, str]:
    """Return method, target and protocol from the values of a line; "" as target without a request."""
    if "request" in parts:
        words = unescape_logitem(parts["request"]).split(" ")
        if len(words) < 2 or not words[1]:
            return "", "", ""
        if len(words) > 2 and words[-1].startswith("HTTP/"):
            return words[0], " ".join(words[1:-1]), words[-1]
        return words[0], " ".join(words[1:]), "HTTP/0.9"
    target = unescape_logitem(parts["path"]) + unescape_logitem(parts.get("query", ""))
    return parts.get("method", "GET"), target if target != "-" else "", parts.get("protocol", "HTTP/1.1")


def split_host(host: str) -> tuple[str, int]:
    """Return name and port of a Host field; 0 without a port."""
    name, colon, port = host.rpartition(":")
    if colon and is_digits(port) and not name.endswith(":"):
        return name, int(port)
    return host, 0


def best_format(formats: Iterable[LineFormat], lines: list[bytes]) -> LineFormat | None:
    """Return the format that most of *lines* have, the first of equals; None if no line has one."""
    scores = [(sum(map(form.fit, lines)), form) for form in formats]
    best = max((score for score, _form in scores), default=0)
    return next((form for score, form in scores if score == best), None) if best else None
