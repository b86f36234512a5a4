"""Fields of proxies in front (mod_wsgi.c, wsgi_process_proxy_headers): WSGITrustedProxyHeaders."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from whimbrel.base.net import parse_network
from whimbrel.engine.request import Request
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiDirConfig
from whimbrel.modules.wsgi.mod_wsgi.variables import VariableBuilder
from whimbrel.registry.settings import with_defaults

OF_PROXY = {"REMOTE_ADDR": "192.0.2.1", "HTTP_HOST": "inner", "SERVER_NAME": "s", "SERVER_PORT": "80"}
FLAGS = ("HTTP_X_FORWARDED_HTTPS", "HTTP_X_FORWARDED_SSL", "HTTP_X_HTTPS")
SCHEMES = ("HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_SCHEME", "HTTP_X_SCHEME")


def taken(env: dict[str, str], names: list[str], *proxies: str) -> dict[str, str]:
    """Return the variables of a request after the fields *names* of trusted *proxies* (none: of all)."""
    conf = WsgiDirConfig()
    conf.proxy_headers = names
    conf.proxies = [parse_network(one, None) for one in proxies] or None
    env = {**OF_PROXY, **env}
    VariableBuilder(with_defaults(conf))._take_proxy_headers(cast("Request", SimpleNamespace(env=env)), names)
    return env


@pytest.mark.parametrize(
    ("name", "value", "variable", "expected"),
    [
        ("HTTP_X_FORWARDED_FOR", "198.51.100.7, 192.0.2.9", "REMOTE_ADDR", "198.51.100.7"),
        ("HTTP_X_CLIENT_IP", "198.51.100.7", "REMOTE_ADDR", "198.51.100.7"),
        ("HTTP_X_REAL_IP", "198.51.100.7", "REMOTE_ADDR", "198.51.100.7"),
        ("HTTP_X_FORWARDED_HOST", "a.example", "HTTP_HOST", "a.example"),
        ("HTTP_X_HOST", "a.example", "HTTP_HOST", "a.example"),
        ("HTTP_X_FORWARDED_SERVER", "a.example", "SERVER_NAME", "a.example"),
        ("HTTP_X_FORWARDED_PORT", "8443", "SERVER_PORT", "8443"),
        ("HTTP_X_SCRIPT_NAME", "/app", "SCRIPT_NAME", "/app"),
        ("HTTP_X_FORWARDED_SCRIPT_NAME", "/app", "mod_wsgi.mount_point", "/app"),
        *((name, word, "HTTPS", "1") for name in FLAGS for word in ("On", "true", "1")),
        *((name, word, "HTTPS", None) for name in FLAGS for word in ("off", "False", "0", "maybe")),
        *(
            (name, word, "HTTPS", "1" if word == "HTTPS" else None)
            for name in SCHEMES
            for word in ("HTTPS", "http")
        ),
    ],
)
def test_the_variable_of_each_field(name: str, value: str, variable: str, expected: str | None) -> None:
    assert taken({name: value}, [name]).get(variable, None) == expected
    before = OF_PROXY.get(variable)
    assert taken({name: value}, [name], "203.0.113.1").get(variable) == before  # no trusted proxy has sent it


@pytest.mark.parametrize(
    "family",
    [
        ("HTTP_X_FORWARDED_FOR", "HTTP_X_CLIENT_IP", "HTTP_X_REAL_IP"),
        ("HTTP_X_FORWARDED_HOST", "HTTP_X_HOST"),
        ("HTTP_X_SCRIPT_NAME", "HTTP_X_FORWARDED_SCRIPT_NAME"),
        (*SCHEMES, *FLAGS),
    ],
)
def test_an_application_sees_no_field_of_a_family_that_is_not_trusted(family: tuple[str, ...]) -> None:
    """Else a client could name another address, host or scheme by another field."""
    sent = dict.fromkeys(family, "1")
    for name in family:
        found = taken(sent, [name])
        assert [one for one in family if one in found] == [name]
        assert not [one for one in family if one in taken(sent, [name], "203.0.113.1")]
    assert set(family) <= set(taken(sent, ["HTTP_X_FORWARDED_PORT"]))
