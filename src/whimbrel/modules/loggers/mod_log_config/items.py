"""Items of access-log formats (``%X``): one function for each letter of mod_log_config.

A function gets a request (or a cached response's view of one) and the text between braces; it returns the
text, or None for ``-``.
Manual: mod/mod_log_config.html#formats.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import BLANKS
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.directives.spec import Versions
from whimbrel.engine.connection import REMOTE_IDENT_NOTE
from whimbrel.engine.identity import server_name
from whimbrel.engine.redirect_chain import first_request
from whimbrel.http.semantics.dates import log_time
from whimbrel.http.syntax.target import unsplit
from whimbrel.http.syntax.url import escape_logitem

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

ItemFn = Callable[[Any, str], "str | None"]


@dataclass(frozen=True, slots=True)
class ItemKind:
    """One letter.

    Attributes:
        original: it reads the original request, not the final one after internal redirects
        dynamic: its text may differ between two requests served by one cached response
        is_stable: its text is constant for one client, one second and one head
        sized: the same, for responses whose heads have the same length
        reads_path: its text depends on the path or the file
    """

    fn: ItemFn
    original: bool = False
    dynamic: bool = False
    versions: Versions = Versions.BOTH
    is_stable: bool = False
    sized: bool = False
    reads_path: bool = False


def _escaped(value: str | None) -> str | None:
    return None if value is None else escape_logitem(value)


# client -------------------------------------------------------------------------------------------
def remote_host(r: Request, argument: str) -> str | None:
    """%h: the name if one was looked up, else the address."""
    connection = r.connection
    if argument != "c" or not r.plan.dialect.keywords_24:
        name = connection.notes.get("remote-host")
        if name:
            return str(name)
        if connection.peer_addr:
            return _escaped(connection.client_ip)
    return remote_address(r, argument)


def remote_address(r: Request, argument: str) -> str | None:
    """%a: the client's address; %{c}a: the connection's peer."""
    connection = r.connection
    address: str = (
        connection.client_ip if argument == "c" or not connection.useragent_ip else connection.useragent_ip
    )
    return address


def remote_logname(r: Request, _argument: str) -> str | None:
    """%l: the user's name that the client's host gave; with mod_ident, whose connections are not cached."""
    notes = r.connection.notes
    return _escaped(notes.get(REMOTE_IDENT_NOTE)) if notes else None


def remote_user(r: Request, _argument: str) -> str | None:
    """%u: two quotes for an empty name."""
    if r.user is None:
        return None
    return escape_logitem(r.user) or '""'


# time ---------------------------------------------------------------------------------------------
def _clock(r: Request) -> float:
    return r.engine.runtime.now()


def request_time(r: Request, argument: str) -> str | None:
    """%t, %{format}t: sec, msec, usec, msec_frac, usec_frac or a strftime format, of the beginning
    (``begin:``) or the end (``end:``).
    """
    if not argument:
        return log_time(r.time)
    if not r.plan.dialect.keywords_24:
        return time.strftime(argument, time.localtime(int(r.time)))
    moment = _clock(r) if argument.startswith("end:") else r.time
    wanted = argument[argument.index(":") + 1 :] if argument.startswith(("begin:", "end:")) else argument
    micros = int(moment * 1_000_000)
    special = _TIMES.get(wanted)
    if special is not None:
        return special(micros)
    if not wanted:
        return log_time(moment)
    return time.strftime(_with_fractions(wanted, micros), time.localtime(int(moment)))


_TIMES: Final[dict[str, Callable[[int], str]]] = {
    "sec": lambda us: str(us // 1_000_000),
    "msec": lambda us: str(us // 1000),
    "usec": str,
    "msec_frac": lambda us: f"{us // 1000 % 1000:03}",
    "usec_frac": lambda us: f"{us % 1_000_000:06}",
}


def _with_fractions(wanted: str, micros: int) -> str:
    return wanted.replace("%{msec_frac}", _TIMES["msec_frac"](micros)).replace(
        "%{usec_frac}", _TIMES["usec_frac"](micros)
    )


def duration_micros(r: Request, _argument: str) -> str | None:
    """%D: microseconds."""
    return str(_micros(r))


def _micros(r: Request) -> int:
    micros: int = round((_clock(r) - r.time) * 1_000_000)
    return max(0, micros)


_UNITS: Final = {"": 1_000_000, "s": 1_000_000, "ms": 1000, "us": 1}


def duration(r: Request, argument: str) -> str | None:
    """%T: seconds; %{ms}T, %{us}T.  An unknown unit is written as is."""
    unit = _UNITS.get(argument) if r.plan.dialect.keywords_24 else 1_000_000
    return argument if unit is None else str(_micros(r) // unit)


# request and response -----------------------------------------------------------------------------
def request_line(r: Request, _argument: str) -> str | None:
    """%r, without a password in the target.

    A cached response is never made for a target with a password, so its released head is not needed.
    """
    line = r.the_request
    if line is not None and "@" in line:
        head = first_request(r).head
        url = None if head is None else head.url
        if url is not None and url.password is not None:
            line = f"{head.method} {unsplit(url)}" + ("" if head.version == (0, 9) else f" {head.protocol}")
    return _escaped(line)


def query(r: Request, _argument: str) -> str | None:
    """%q: the query with its question mark, "" without a query."""
    return "" if r.args is None else "?" + escape_logitem(r.args)


def status(r: Request, _argument: str) -> str | None:
    """%s: the status."""
    return str(r.status) if r.status > 0 else None


def common_bytes(r: Request, _argument: str) -> str | None:
    """%b: the bytes of the body, ``-`` for none."""
    return str(r.bytes_sent) if r.bytes_sent else None


def field_in(r: Request, argument: str) -> str | None:
    """%{Name}i: a request field."""
    return _escaped(r.headers_in.get(argument))


def field_out(r: Request, argument: str) -> str | None:
    """%{Name}o: a response field; Content-Type without parameters, several Set-Cookie fields joined."""
    low = argument.lower()
    # ap_http_header_filter joins both tables for the request that is answered
    tables = (r.headers_out, r.err_headers_out) if r.next is None else (r.headers_out,)
    if low == "content-type":
        from whimbrel.engine.output.media_type import content_type  # not needed by -t

        kind = r.content_type if not r.plan.dialect.default_type else content_type(r)
        return None if not kind else escape_logitem(kind.partition(";")[0].rstrip(BLANKS))
    if low == "set-cookie":
        values = [value for table in tables for value in table.get_all(argument)]
        return escape_logitem(", ".join(dict.fromkeys(values))) if values else None
    found = (table.get(argument) for table in tables)
    return _escaped(next((value for value in found if value is not None), None))


def cookie(r: Request, argument: str) -> str | None:
    """%{name}C: a cookie; names are case-insensitive, blanks around the value are removed."""
    for pair in (r.headers_in.get("Cookie") or "").split(";"):
        name, equals, value = pair.partition("=")
        if equals and name.strip(" \t").lower() == argument.lower():
            return escape_logitem(value.strip(" \t"))
    return None


def port(r: Request, argument: str) -> str | None:
    """%p: the server's port; %{local}p, %{remote}p: the connection's; any other argument is written as is."""
    kind = argument.lower()
    if kind == "remote":
        return str(r.connection.useragent_port)
    if kind == "local":
        return str(r.connection.local_port)
    if kind in ("", "canonical"):
        return str(r.server.port or (443 if r.server.scheme == "https" else 80))
    return argument


def process(r: Request, argument: str) -> str | None:
    """%P: the process; %{tid}P, %{hextid}P: the thread."""
    runtime = r.engine.runtime
    kind = argument.lower()
    if kind == "tid":
        return str(runtime.tid)
    if kind == "hextid":
        return f"{runtime.tid:x}"
    return str(runtime.pid) if kind in ("", "pid") else argument


def connection_state(r: Request, _argument: str) -> str | None:
    """%X: ``X`` aborted, ``+`` kept alive, ``-`` closed."""
    if r.connection.aborted:
        return "X"
    is_last = _most(r) == r.connection.served + 1 and r.proto < (2, 0)
    return "+" if _is_persistent(r) and not is_last else "-"


def _is_persistent(r: Request) -> bool:
    """Return True if the connection stays open after the response to *r*."""
    while r.prev is not None and r.prev.is_committed:  # an ErrorDocument that failed
        r = r.prev
    return not (r.assbackwards or r.close or "close" in (r.headers_out.get_list("Connection") or "").lower())


def keep_alives(r: Request, _argument: str) -> str | None:
    """%k: the number of earlier responses after which the connection stayed open, less one on the last,
    except if that is the last because of MaxKeepAliveRequests.

    The connection of a stream of HTTP/2 counts its one request.
    """
    served: int = r.connection.served
    if r.proto >= (2, 0) or _is_persistent(r) or (_most(r) == served and not r.close):
        return str(served)
    return str(max(served - 1, 0))


def _most(r: Request) -> int:
    """Return MaxKeepAliveRequests; 0 for any number, or without KeepAlive."""
    core = r.server_conf(CoreServerConfig)
    return core.max_keep_alive if core.keep_alive and core.keep_alive_timeout > 0 else 0


def url_path(r: Request, _argument: str) -> str | None:
    """%U: the decoded path; C ends it at the first null character."""
    return _escaped(r.uri.partition("\0")[0])


def nothing(_r: Request, _argument: str) -> str | None:
    """%^to: responses have no trailers."""
    return None


def log_id(r: Request, argument: str) -> str | None:
    """%L: the error log's id of the request, %{c}L of the connection, if either was logged."""
    return (r.connection.log_id if argument == "c" else r.log_id) or None


def variable(r: Request, argument: str) -> str | None:
    """%{NAME}e: a variable of the environment."""
    return _escaped(r.env.get(argument))


def trailer_in(r: Request, argument: str) -> str | None:
    """%{Name}^ti: a request trailer."""
    trailers = r.body_in.trailers
    return _escaped(trailers.get(argument)) if trailers is not None else None


_Q = ItemKind
_24 = Versions.V24
KINDS: Final[dict[str, ItemKind]] = {
    "h": _Q(remote_host, dynamic=True, is_stable=True),
    "a": _Q(remote_address, dynamic=True, is_stable=True),
    "A": _Q(lambda r, _a: r.connection.local_ip),
    "l": _Q(remote_logname),
    "u": _Q(remote_user),
    "t": _Q(request_time, dynamic=True),
    "T": _Q(duration, original=True, dynamic=True),
    "D": _Q(duration_micros, original=True, dynamic=True),
    "r": _Q(request_line, original=True),
    "f": _Q(lambda r, _a: _escaped(r.filename), reads_path=True),
    "U": _Q(url_path, original=True, reads_path=True),
    "q": _Q(query),
    "m": _Q(lambda r, _a: _escaped(r.method)),
    "H": _Q(lambda r, _a: _escaped(r.protocol)),
    "s": _Q(status, original=True),
    "b": _Q(common_bytes, dynamic=True, is_stable=True),
    "B": _Q(lambda r, _a: str(r.bytes_sent), dynamic=True, is_stable=True),
    "i": _Q(field_in, dynamic=True, is_stable=True),
    "o": _Q(field_out),
    "C": _Q(cookie, dynamic=True, is_stable=True),
    "n": _Q(lambda r, a: _escaped(r.notes.get(a)), reads_path=True),
    "e": _Q(variable),
    "v": _Q(lambda r, _a: _escaped(r.server.name)),
    "V": _Q(lambda r, _a: _escaped(server_name(r))),
    "p": _Q(port, dynamic=True),
    "P": _Q(process),
    "X": _Q(connection_state, dynamic=True),
    "k": _Q(keep_alives, dynamic=True),
    "R": _Q(lambda r, _a: _escaped(r.handler), original=True),
    "L": _Q(log_id, original=True, dynamic=True, versions=_24),
    "^ti": _Q(trailer_in),
    "^to": _Q(nothing),
}
