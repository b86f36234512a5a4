"""Fields and tables of the request that scripts read and set (lua_request.c, req_dispatch)."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import Any, Final, Protocol

from whimbrel.base.latin1 import to_text
from whimbrel.config.core_config import (
    OPT_ALL,
    OPT_EXECCGI,
    OPT_INCLUDES,
    OPT_INDEXES,
    OPT_MULTI,
    OPT_SYM_LINKS,
    CoreDirConfig,
)
from whimbrel.directives.spec import Context
from whimbrel.engine.identity import server_name, server_port, server_tokens
from whimbrel.engine.request import Request
from whimbrel.modules.aaa.mod_authz_core.settings import AuthzCoreDirConfig
from whimbrel.modules.core.filters_by_type import set_content_type
from whimbrel.modules.lua.mod_lua.arguments import CallArguments
from whimbrel.modules.support.auth.auth_api import auth_name
from whimbrel.modules.support.cgi.environment import document_root

PROXY_NAMES: Final = ("PROXYREQ_NONE", "PROXYREQ_PROXY", "PROXYREQ_REVERSE", "PROXYREQ_RESPONSE")


class Table(Protocol):
    """A table of APR: names without regard to case."""

    def get(self, name: str) -> str | None: ...

    def set(self, name: str, value: str) -> None: ...

    def unset(self, name: str) -> None: ...

    def items(self) -> list[tuple[str, str]]: ...


class DictTable:
    """A dictionary of the request as a table of APR."""

    def __init__(self, entries: dict[str, str]) -> None:
        self._entries = entries

    def _spelling(self, name: str) -> str:
        low = name.lower()
        return next((key for key in self._entries if key.lower() == low), name)

    def get(self, name: str) -> str | None:
        """Return the value of *name*, None without one."""
        return self._entries.get(self._spelling(name))

    def set(self, name: str, value: str) -> None:
        """Set *name*, in the spelling of an earlier entry."""
        self._entries[self._spelling(name)] = value

    def unset(self, name: str) -> None:
        """Remove *name*."""
        self._entries.pop(self._spelling(name), None)

    def items(self) -> list[tuple[str, str]]:
        """Return names and values."""
        return list(self._entries.items())


TABLES: Final[dict[str, Callable[[Request], Table]]] = {
    "headers_in": lambda r: r.headers_in,
    "headers_out": lambda r: r.headers_out,
    "err_headers_out": lambda r: r.err_headers_out,
    "notes": lambda r: DictTable(r.notes),
    "subprocess_env": lambda r: DictTable(r.env),
}


# fields --------------------------------------------------------------------------------------------
def _options(r: Request) -> str:
    value = r.dir_config(CoreDirConfig).options.value
    words = (
        "Indexes" if value & OPT_INDEXES else "",
        "Includes" if value & OPT_INCLUDES else "",
        "FollowSymLinks" if value & OPT_SYM_LINKS else "",
        "ExecCGI" if value & OPT_EXECCGI else "",
        "MultiViews" if value & OPT_MULTI else "",
        "All" if value & OPT_ALL == OPT_ALL else "",
    )
    return " ".join(words)


def _overrides(r: Request) -> str:
    value = max(r.dir_config(CoreDirConfig).override, 0)
    if value & Context.OR_ALL == Context.OR_ALL:
        return "All"
    words = (
        "Limit" if value & Context.OR_LIMIT else "",
        "Options" if value & Context.OR_OPTIONS else "",
        "FileInfo" if value & Context.OR_FILEINFO else "",
        "AuthCfg" if value & Context.OR_AUTHCFG else "",
        "Indexes" if value & Context.OR_INDEXES else "",
    )
    return " ".join(words)


def _password(r: Request) -> str:
    """Return the password of Basic credentials, "" without them (ap_get_basic_auth_pw)."""
    field = r.headers_in.get("Authorization") or ""
    if field[:6].lower() != "basic ":
        return ""
    try:
        return to_text(b64decode(field[6:].strip(" \t"))).partition(":")[2]
    except (Base64Error, ValueError):
        return ""


def _needs_login(r: Request) -> bool:
    """Return True if some Require line applies (ap_some_auth_required)."""
    return r.dir_config(AuthzCoreDirConfig).section is not None


def _life(r: Request, name: str) -> Any:
    """Return a value of the server's life: when it was built or restarted."""
    return r.engine.runtime.scoreboard.totals().get(name)


def _log_id(r: Request) -> str | None:
    return r.log_id or None


READERS: Final[dict[str, Callable[[Request], Any]]] = {
    "allowoverrides": _overrides,
    "ap_auth_type": lambda r: r.auth_type,
    "args": lambda r: r.args,
    "assbackwards": lambda r: r.assbackwards,
    "auth_name": lambda r: auth_name(r.plan)(r) or "",
    "banner": server_tokens,
    "basic_auth_pw": _password,
    "canonical_filename": lambda r: r.filename,
    "content_encoding": lambda r: ", ".join(r.content_encodings) or None,
    "content_type": lambda r: r.content_type,
    "context_document_root": lambda r: r.context[1] if r.context else document_root(r),
    "context_prefix": lambda r: r.context[0] if r.context else "",
    "document_root": document_root,
    "filename": lambda r: r.filename,
    "handler": lambda r: r.handler,
    "hostname": lambda r: r.hostname,
    "is_https": lambda r: r.connection.tls is not None,
    "is_initial_req": lambda r: r.initial,
    "limit_req_body": lambda r: r.plan.body_limit,
    "log_id": _log_id,
    "method": lambda r: r.method,
    "options": _options,
    "path_info": lambda r: r.path_info or "",
    "port": server_port,
    "protocol": lambda r: r.protocol,
    "proxyreq": lambda r: PROXY_NAMES[r.proxy],
    "range": lambda r: None,
    "remaining": lambda r: 0,
    "server_built": lambda r: str(_life(r, "built") or ""),
    "server_name": server_name,
    "some_auth_required": _needs_login,
    "started": lambda r: int(_life(r, "restarted") or r.engine.runtime.now()),
    "status": lambda r: r.status,
    "the_request": lambda r: r.the_request,
    "unparsed_uri": lambda r: r.unparsed_uri,
    "uri": lambda r: r.uri,
    "user": lambda r: r.user,
    "useragent_ip": lambda r: r.connection.useragent_ip or r.connection.client_ip,
}


KINDS: Final[dict[str, str]] = {
    **dict.fromkeys(("assbackwards", "is_https", "is_initial_req", "some_auth_required"), "boolean"),
    **dict.fromkeys(("limit_req_body", "port", "remaining", "started", "status"), "int"),
}
"""Kinds of fields that are no strings, as the log names them."""


# setters -------------------------------------------------------------------------------------------
def _text(value: Any) -> str:
    """Return the text of the third argument of __newindex (luaL_checkstring)."""
    return CallArguments("__newindex", (None, None, value)).text(3)


def _number(value: Any) -> int:
    return CallArguments("__newindex", (None, None, value)).integer(3)


def _set(name: str) -> Callable[[Request, Any], None]:
    return lambda r, value: setattr(r, name, _text(value))


def _set_handler(r: Request, value: Any) -> None:
    r.handler = _text(value)


WRITERS: Final[dict[str, Callable[[Request, Any], None]]] = {
    "ap_auth_type": _set("auth_type"),
    "args": _set("args"),
    "content_type": lambda r, value: set_content_type(r, _text(value)),
    "filename": _set("filename"),
    "handler": _set_handler,
    "proxyreq": lambda r, value: setattr(r, "proxy", _number(value)),
    "status": lambda r, value: setattr(r, "status", _number(value)),
    "uri": _set("uri"),
    "user": _set("user"),
}
