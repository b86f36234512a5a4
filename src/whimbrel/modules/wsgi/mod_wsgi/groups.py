"""Names of process groups, application groups and callables: constant, or of the request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.engine import identity
from whimbrel.engine.request import Request
from whimbrel.modules.support.cgi.environment import path_info_start, system_variable

NameOf = Callable[["Request"], str]
Name = str | NameOf
APPLICATION: Final = "application"  # the usual callable
_STANDARD_PORTS: Final = (80, 443)
_SLASHES: Final = re.compile("//+")


def _with_port(r: Request, host: str) -> str:
    port = identity.server_port(r)
    return host if port in _STANDARD_PORTS else f"{host}:{port}"


def _server_host(r: Request) -> str:
    return r.server.name or identity.server_name(r)


def server_name(r: Request) -> str:
    """Return %{SERVER}."""
    return _with_port(r, _server_host(r))


def host_name(r: Request) -> str:
    """Return %{HOST}."""
    return _with_port(r, r.hostname or _server_host(r))


def resource_name(r: Request) -> str:
    """Return %{RESOURCE}: the server and the URL path of the script, in lower case."""
    path = r.uri if not r.path_info else r.uri[: path_info_start(r.uri, r.path_info)]
    return f"{server_name(r)}|{lower(_SLASHES.sub('/', path))}"


_OF_REQUEST: Final[Mapping[str, NameOf]] = {
    "%{SERVER}": server_name,
    "%{HOST}": host_name,
    "%{RESOURCE}": resource_name,
}


def _variable(r: Request, name: str) -> str | None:
    value = r.notes.get(name)
    if value is None:
        value = r.env.get(name)
    return value if value is not None else system_variable(r, name)


def _variable_in(text: str) -> str:
    """Return the name in %{ENV:NAME}, "" for any other text."""
    return text[6:-1] if text.startswith("%{ENV:") and text.endswith("}") else ""


def group_name(text: str | None, default: str) -> Name:
    """Return the name of a group as *text* gives it, without it as *default* does."""
    text = default if text is None else text
    if text == "%{GLOBAL}":
        return ""
    found = _OF_REQUEST.get(text)
    if found is not None:
        return found
    variable = _variable_in(text)
    if not variable:
        return text
    written = text

    def of_variable(r: Request) -> str:
        value = _variable(r, variable)
        if value is None:
            return written
        if value.startswith("%") and not value.startswith("%{ENV:"):
            return resolved(group_name(value, ""), r)
        return value

    return of_variable


def script_group(text: str | None) -> Name:
    """Return the application group of an access script (wsgi_server_group): "" without one."""
    if text == "%{RESOURCE}" or (text is not None and _variable_in(text)):
        return text
    return group_name(text, "")


def callable_name(text: str | None) -> Name:
    """Return the name of the callable."""
    if text is None:
        return APPLICATION
    if not text.startswith("%"):
        return text
    variable = _variable_in(text)
    if not variable:
        return APPLICATION

    def of_variable(r: Request) -> str:
        value = _variable(r, variable)
        return APPLICATION if value is None else value

    return of_variable


def resolved(name: Name, r: Request) -> str:
    """Return the name for *r*."""
    return name if isinstance(name, str) else name(r)
