"""Variables ``%{NAME}`` of rewriting directives.

Manual: mod/mod_rewrite.html#rewritecond. They differ from the variables of 2.4's expressions: there are
fewer, and unknown ones are empty.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.accounts import group_numbered, user_numbered
from whimbrel.base.latin1 import from_system, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import upper
from whimbrel.base.product import SOFTWARE
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine import identity
from whimbrel.engine.connection import REMOTE_IDENT_NOTE
from whimbrel.engine.lookahead import may_probe, probe_target
from whimbrel.modules.mappers.mod_rewrite.context import Context
from whimbrel.modules.mappers.mod_rewrite.settings import RewriteDirConfig
from whimbrel.registry.module import Reads

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

Value = Callable[[Context], Any]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; *value* returns the text or, with *waits*, an awaitable of it."""

    value: Value
    reads: Reads = Reads.HEAD
    waits: bool = False


def variable(name: str, *, version22: bool = False) -> Variable:
    """Return the variable with that name, in any case; an unknown one is always empty."""
    kind, colon, argument = name.partition(":")
    if colon and argument:
        maker = _WITH_ARGUMENT.get(upper(kind))
        if maker is not None:
            return maker(argument, version22)
    name = upper(name)
    if version22 and name in _ONLY_24:
        return EMPTY
    if name in _HEADERS:
        return _header(_HEADERS[name], version22)
    return _PLAIN.get(name, EMPTY)


EMPTY: Final = Variable(lambda _c: "", Reads.NOTHING)


# With an argument -------------------------------------------------------------------------------
def _header(name: str, version22: bool) -> Variable:
    silent = not version22 and name.lower() == "host"

    def value(c: Context) -> str:
        field: str | None = c.r.headers_in.get(name)
        if field is None:
            return ""
        if not silent:
            c.condition_traces.append(name)
        return field

    return Variable(value)


def _environment(name: str, _version22: bool) -> Variable:
    low = name.lower()

    def value(c: Context) -> str:
        for table in (c.r.notes, c.r.env):
            if name in table:
                return str(table[name])
            for key, text in table.items():
                if key.lower() == low:
                    return str(text)
        return from_system(os.environ.get(name, ""))

    return Variable(value)


def _ssl(name: str, _version22: bool) -> Variable:
    def value(c: Context) -> str:
        lookup = c.r.engine.configuration.provider("ssl", "variable")
        return str(lookup(c.r, name)) if lookup is not None else ""

    return Variable(value)


def _ahead_path(c: Context, by_file: bool) -> tuple[str, bool]:
    """Return the target of a look-ahead and True if it is a file.

    In a directory the matched text is completed by RewriteBase for a URL, by the directory for a file.
    Without RewriteBase the URL leads nowhere, as in httpd.
    """
    path = c.subject
    if not c.directory:
        return path, by_file
    if path.startswith("/"):
        return path, False
    if by_file:
        return c.directory + path, True
    return (c.r.dir_config(RewriteDirConfig).base or c.directory) + path, False


def _ahead(by_file: bool) -> Callable[[str, bool], Variable]:
    def make(name: str, version22: bool) -> Variable:
        inner = variable(name, version22=version22)
        shown = name if upper(name.partition(":")[0]) in _WITH_ARGUMENT else upper(name)

        async def value(c: Context) -> str:
            r = c.r
            if not may_probe(r):
                return ""
            path, as_file = _ahead_path(c, by_file)
            sub = await probe_target(r, path, by_file=as_file)
            there = Context(sub, c.directory, c.log)
            there.subject = c.subject
            text = inner.value(there)
            text = await text if inner.waits else text
            c.condition_traces += there.condition_traces
            c.log_step(5, f"lookahead: path={path} var={shown} -> val={text}")
            return str(text)

        return Variable(value, inner.reads | Reads.FILES, waits=True)

    return make


_WITH_ARGUMENT: Final[dict[str, Callable[[str, bool], Variable]]] = {
    "HTTP": _header,
    "ENV": _environment,
    "SSL": _ssl,
    "LA-U": _ahead(False),
    "LA-F": _ahead(True),
}


# Plain names ------------------------------------------------------------------------------------
def _of(read: Callable[[Any], str | None], reads: Reads = Reads.HEAD) -> Variable:
    return Variable(lambda c: read(c.r) or "", reads)


def _client(r: Request) -> str:
    return str(r.connection.useragent_ip or r.connection.client_ip)


def _remote_host(r: Request) -> str:
    name: str | None = r.connection.notes.get("remote-host")
    if name:
        r.set_uncacheable()  # another connection of the same client may have done no look-up
    return name or _client(r)


def _server_name(r: Request) -> str:
    name = identity.server_name(r)
    return f"[{name}]" if ":" in name and name[0] != "[" else name


def document_root(r: Request) -> str:
    """Return the document root in force for *r*."""
    root: str | None = r.document_root
    return (
        root or r.server_conf(CoreServerConfig).document_root or r.engine.configuration.default_document_root
    )


def context(r: Request) -> tuple[str, str]:
    """Return URL path and directory of the Alias of *r*; without one "" and the document root."""
    return r.context or ("", document_root(r))


def _owner(lookup: Callable[[int], Any], kind: str) -> Callable[[Any], str]:
    def read(r: Request) -> str:
        info = r.finfo
        if info is None and r.directory_walk is not None:
            # httpd keeps the last stat of the walk
            info = r.deps.stat((r.filename or "").rpartition("/")[0] or "/")
        if info is None:
            return "<unknown>"
        r.set_uncacheable()  # the account database has no dependency that could be checked
        try:
            return to_text(os.fsencode(lookup(info.st_uid if kind == "user" else info.st_gid)[0]))
        except KeyError:
            return ""

    return read


def _clock(form: str, *, logged: bool = False) -> Variable:
    def value(c: Context) -> str:
        now = time.strftime(form, time.localtime(c.r.engine.runtime.now()))
        if logged:
            c.log_step(1, f"RESULT='{now}'")
        return now

    return Variable(value, Reads.TIME)


def _ipv6(c: Context) -> str:
    address = _client(c.r)
    state = "on" if ":" in address and not address.startswith("::ffff:") else "off"
    c.log_step(1, f"IPV6='{state}'")
    return state


_ONLY_24: Final = frozenset(
    {
        "CONN_REMOTE_ADDR",
        "CONTEXT_DOCUMENT_ROOT",
        "CONTEXT_PREFIX",
        "REQUEST_SCHEME",
        "HTTP2",
        "IPV6",
    }
)
_HEADERS: Final = {
    "HTTP_" + upper(name).replace("-", "_"): name
    for name in ("User-Agent", "Referer", "Cookie", "Forwarded", "Host", "Proxy-Connection", "Accept")
}

_PLAIN: Final[dict[str, Variable]] = {
    "API_VERSION": _of(lambda r: "20051115:43" if r.plan.dialect.rewrite_22 else "20120211:142"),
    "AUTH_TYPE": _of(lambda r: r.auth_type),
    "CONN_REMOTE_ADDR": _of(lambda r: r.connection.client_ip, Reads.CLIENT),
    "CONTEXT_DOCUMENT_ROOT": _of(lambda r: context(r)[1]),
    "CONTEXT_PREFIX": _of(lambda r: context(r)[0]),
    "DOCUMENT_ROOT": _of(document_root),
    "HTTPS": _of(lambda r: "off" if r.connection.tls is None else "on"),
    "HTTP2": EMPTY,
    "IPV6": Variable(_ipv6, Reads.CLIENT),
    "IS_SUBREQ": _of(lambda r: "true" if r.main is not None else "false"),
    "PATH_INFO": _of(lambda r: r.path_info),
    "QUERY_STRING": _of(lambda r: r.args),
    "REMOTE_ADDR": _of(_client, Reads.CLIENT),
    "REMOTE_HOST": _of(_remote_host, Reads.CLIENT),
    "REMOTE_IDENT": _of(lambda r: r.connection.notes.get(REMOTE_IDENT_NOTE)),
    "REMOTE_PORT": _of(lambda r: str(r.connection.client_port), Reads.UNCACHEABLE),
    "REMOTE_USER": _of(lambda r: r.user),
    "REQUEST_FILENAME": _of(lambda r: r.filename),
    "REQUEST_METHOD": _of(lambda r: r.method),
    "REQUEST_SCHEME": _of(identity.scheme),
    "REQUEST_URI": _of(lambda r: r.uri),
    "SCRIPT_FILENAME": _of(lambda r: r.filename),
    "SCRIPT_GROUP": _of(_owner(group_numbered, "group"), Reads.FILES),
    "SCRIPT_USER": _of(_owner(user_numbered, "user"), Reads.FILES),
    "SERVER_ADDR": _of(lambda r: r.connection.local_ip),
    "SERVER_ADMIN": _of(lambda r: r.server.admin),
    "SERVER_NAME": _of(_server_name),
    "SERVER_PORT": _of(lambda r: str(identity.server_port(r))),
    "SERVER_PROTOCOL": _of(lambda r: r.protocol),
    "SERVER_SOFTWARE": _of(lambda _r: SOFTWARE),
    "THE_REQUEST": _of(lambda r: r.the_request),
    "TIME": _clock("%Y%m%d%H%M%S", logged=True),
    "TIME_DAY": _clock("%d"),
    "TIME_HOUR": _clock("%H"),
    "TIME_MIN": _clock("%M"),
    "TIME_MON": _clock("%m"),
    "TIME_SEC": _clock("%S"),
    "TIME_WDAY": _clock("%w"),
    "TIME_YEAR": _clock("%Y"),
}
