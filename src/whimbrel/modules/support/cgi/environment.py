"""The variables of programs: ap_add_common_vars, ap_add_cgi_vars and ap_create_environment.

They are added to `Request.env` in httpd's order; names are compared case-insensitively, as in APR's tables.
Manual: env.html; RFC 3875, section 4.1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.base.numbers import is_alphanumeric, is_digits, upper
from whimbrel.base.product import SOFTWARE
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.engine import identity
from whimbrel.engine.connection import REMOTE_IDENT_NOTE
from whimbrel.engine.env import uncover
from whimbrel.engine.prepared.prepared_request import (
    MAX_TRANSLATED,
    PathTranslated,
    PreparedRequest,
    lookup_state,
)
from whimbrel.http.syntax.url import escape_html, escape_uri
from whimbrel.modules.support.reverse_dns import NAME_NOTE, client_address

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_FIT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z").match  # names that a shell knows
MAX_NAME: Final = 64  # characters of the name of a field whose variable is stored
DEFAULT_PATH: Final = "/bin:/usr/bin:/usr/local/bin"


def add_common_vars(r: Request) -> None:
    """Add the variables common to all programs: fields of the request, client, server."""
    uncover(r)
    variables = _header_vars(r)
    variables.update(_system_vars(r))
    variables.update(_server_vars(r))
    variables.update(_client_vars(r))
    variables.update(_redirect_vars(r))
    overlap(r.env, variables)


async def add_cgi_vars(r: Request, *, is_first: bool = False) -> None:
    """Add CGI's own variables; PATH_TRANSLATED comes from a sub-request, which sees `Request.env`.

    *is_first*: no variables of this request alone were added to it.
    """
    variables = {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "SERVER_PROTOCOL": r.protocol,
        "REQUEST_METHOD": r.method,
        "QUERY_STRING": r.args or "",
        "REQUEST_URI": _request_uri(r),
    }
    if r.protocol == "INCLUDED":
        variables["SCRIPT_NAME"] = r.uri
        if r.path_info:
            variables["PATH_INFO"] = r.path_info
    elif not r.path_info:
        variables["SCRIPT_NAME"] = r.uri
    else:
        variables["SCRIPT_NAME"] = r.uri[: path_info_start(r.uri, r.path_info)]
        variables["PATH_INFO"] = r.path_info
    if r.path_info and r.path_info.startswith("/"):
        is_prepared = is_first and r.preparation.__class__ is PreparedRequest
        translated = await _translation(r, r.preparation if is_prepared else None)
        if translated is not None:
            variables["PATH_TRANSLATED"] = translated
    overlap(r.env, variables)


async def _translation(r: Request, prepared: PreparedRequest | None) -> str | None:
    """Return the file that the path info stands for as a URL of its own; None without one.

    It is stored with *prepared* if it depends on nothing but that and files.
    """
    if prepared is not None and prepared.path_translated is not None and prepared.path_translated.adopt(r):
        return prepared.path_translated.path
    before = () if prepared is None else lookup_state(r)
    sub = await r.engine.lookup_uri(r, escape_uri(r.path_info or ""))
    path = None if sub.filename is None else sub.filename + (sub.path_info or "")
    if prepared is not None and lookup_state(r) == before and not sub.log_lines and r.deps.is_settled(r.time):
        found = PathTranslated(path, r.deps)
        prepared.path_translated = found if found.weight <= MAX_TRANSLATED else None
    return path


def overlap(env: dict[str, str], over: Mapping[str, str]) -> None:
    """Set the variables of *over* in *env*; a name that exists in another case keeps its spelling."""
    if getattr(env, "folded", False):
        env.update(over)
        return
    names = "".join([*env, *over])
    if names == names.upper():  # equal in another case, then equal
        env.update(over)
        return
    spelled = {name.upper(): name for name in env}
    for name, value in over.items():
        env[spelled.setdefault(name.upper(), name)] = value


def environment(r: Request) -> dict[bytes, bytes]:
    """Return a program's environment for *r*: `Request.env` with names fit for a shell, and TZ."""
    zone = system_variable(r, "TZ")
    out = {b"TZ": to_bytes(zone)} if zone is not None else {}
    for name, value in r.env.items():
        out[to_bytes(name if _FIT(name) else _shell_name(name))] = to_bytes(value)
    return out


def path_info_start(uri: str, path_info: str) -> int:
    """Return where in *uri* the part begins that *path_info* names: the longest common suffix, adjacent
    slashes counting as one (ap_find_path_info).
    """
    at = len(uri)
    rest = len(path_info)
    while at and rest and uri[at - 1] == path_info[rest - 1]:
        at, rest = at - 1, rest - 1
        while uri[at] == "/" and at and uri[at - 1] == "/":
            at -= 1
    # the character before the suffix may be the slash at which the part begins
    at = max(at - 1, 0)
    while at < len(uri) and uri[at] != "/":
        at += 1
    return at


def _shell_name(name: str) -> str:
    fit = "".join(c if is_alphanumeric(c) or c == "_" else "_" for c in name)
    return "_" + fit[1:] if is_digits(fit[:1]) else fit


def system_variable(r: Request, name: str) -> str | None:
    """Return a variable of the environment that the server was started in."""
    known: Mapping[str, str] = r.engine.configuration.options.environment
    if known:
        return known.get(name)
    value = os.environ.get(name)
    return None if value is None else from_system(value)


def _header_vars(r: Request) -> dict[str, str]:
    """Return CONTENT_TYPE, CONTENT_LENGTH and HTTP_...; never HTTP_PROXY (programs read it as a proxy's
    address), credentials only under CGIPassAuth.
    """
    underscores = r.plan.dialect.underscore_headers
    with_credentials = r.dir_config(CoreDirConfig).cgi_pass_auth
    out = {}
    for name, value in r.headers_in.items():
        builder = _known_variable if len(name) <= MAX_NAME else _variable_of
        variable = builder(name, underscores, with_credentials)
        if variable:
            out[variable] = value
    return out


def field_variable(r: Request, name: str) -> str:
    """Return the variable that has the value of the field *name*, "" without one."""
    underscores = r.plan.dialect.underscore_headers
    return _variable_of(name, underscores, r.dir_config(CoreDirConfig).cgi_pass_auth)


def _variable_of(name: str, underscores: bool, with_credentials: bool) -> str:
    """Return the variable of a field, "" without one; *underscores* stand for what a name does not have."""
    low = name.lower()
    if low == "content-type":
        return "CONTENT_TYPE"
    if low == "content-length":
        return "CONTENT_LENGTH"
    if low == "proxy" or (low in ("authorization", "proxy-authorization") and not with_credentials):
        return ""
    if underscores:
        return "HTTP_" + "".join(c if is_alphanumeric(c) else "_" for c in upper(name))
    if is_alphanumeric(low.replace("-", "")):
        return "HTTP_" + name.upper().replace("-", "_")
    return ""


# Key: a name of a field, and settings. Value: its variable. Bound: 256 names of MAX_NAME characters.
_known_variable: Final = lru_cache(maxsize=256)(_variable_of)


def _system_vars(r: Request) -> dict[str, str]:
    server_variables = (
        None
        if r.plan.dialect.underscore_headers
        else next((v for n, v in r.env.items() if n.upper() == "PATH"), None)
    )
    path = server_variables if server_variables is not None else system_variable(r, "PATH")
    out = {"PATH": DEFAULT_PATH if path is None else path}
    library = system_variable(r, "LD_LIBRARY_PATH")
    if library is not None:
        out["LD_LIBRARY_PATH"] = library
    return out


def _server_vars(r: Request) -> dict[str, str]:
    address = r.connection.local_ip
    name = identity.server_name(r)
    out = {
        "SERVER_SIGNATURE": identity.signature(r, ""),
        "SERVER_SOFTWARE": SOFTWARE,
        "SERVER_NAME": escape_html(f"[{name}]" if ":" in name and not name.startswith("[") else name),
        "SERVER_ADDR": address,
        "SERVER_PORT": str(identity.server_port(r)),
    }
    client = r.connection.notes.get(NAME_NOTE)
    if client:
        out["REMOTE_HOST"] = client
    out["REMOTE_ADDR"] = client_address(r)
    root = document_root(r)
    out["DOCUMENT_ROOT"] = root
    if not r.plan.dialect.wire_22:
        out["REQUEST_SCHEME"] = identity.scheme(r)
        out["CONTEXT_PREFIX"], out["CONTEXT_DOCUMENT_ROOT"] = r.context or ("", root)
    out["SERVER_ADMIN"] = r.server.admin or "[no address given]"
    out["SCRIPT_FILENAME"] = r.filename or ""
    return out


def document_root(r: Request) -> str:
    """Return the document root without a trailing slash."""
    root: str = (
        r.document_root
        or r.server_conf(CoreServerConfig).document_root
        or r.engine.configuration.default_document_root
    )
    return root.rstrip("/") or "/"


def _client_vars(r: Request) -> dict[str, str]:
    out = {"REMOTE_PORT": str(r.connection.client_port)}
    if r.user is not None:
        out["REMOTE_USER"] = r.user
    else:
        before = r.prev
        while before is not None and before.user is None:
            before = before.prev
        if before is not None and before.user is not None:
            out["REDIRECT_REMOTE_USER"] = before.user
    if r.auth_type is not None:
        out["AUTH_TYPE"] = r.auth_type
    name = r.connection.notes.get(REMOTE_IDENT_NOTE)
    if name is not None:
        out["REMOTE_IDENT"] = name
    return out


def _redirect_vars(r: Request) -> dict[str, str]:
    """Return the REDIRECT_ variables of an internal redirect."""
    if r.prev is None:
        return {}
    url = r.prev.uri
    if r.dir_config(CoreDirConfig).qualify_redirect:
        url = r.engine.construct_url(r.prev, url)
    out = {"REDIRECT_URL": url}
    if r.prev.args is not None:
        out["REDIRECT_QUERY_STRING"] = r.prev.args
    return out


def _request_uri(r: Request) -> str:
    """Return the target as the client sent it, in absolute form if it was; under `CGIVar REQUEST_URI
    current-uri` the request's own.
    """
    if r.dir_config(CoreDirConfig).cgi_vars.get("REQUEST_URI") == "current-uri":
        return str(r.uri)
    first = r.the_request or ""
    return first.partition(" ")[2].lstrip(" ").partition(" ")[0]
