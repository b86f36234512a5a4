"""Targets of forward requests that cannot be reached: apache2 and Whimbrel answer them equally."""

from __future__ import annotations

from tests.differential.raw_exchange import Documents, both, differences

MODULES = """
proxy proxy_http proxy_ajp proxy_fcgi proxy_scgi proxy_uwsgi proxy_wstunnel proxy_connect http2 proxy_http2
"""
CONF = """
ProxyRequests On
<Location "/b">
    Require all denied
</Location>
"""
PATHS = ("/../a", "/a/../b", "/%2e%2e/a", "/a/%2e%2e/%2e%2e/b", "/%", "/%zz", "/..", "/a?%zz", "/%25zz")
SCHEMES = ("http", "https", "ajp", "fcgi", "scgi", "uwsgi", "h2c", "ws", "gopher")
HOSTS = ("//nosuch.invalid", "//nosuch.invalid:", "//127.0.0.1:", "//x:70000/a?b", "//x:0/", "/x", "//", "")
TUNNELS = ("x", "x:", "x:44a", "nosuch.invalid:443", "nosuch.invalid:-1", "[::1", "x:443:443")


def test_targets_of_forward_requests() -> None:
    loads = "".join(f"LoadModule {name}_module %MODULES%/mod_{name}.so\n" for name in MODULES.split())
    targets = [f"GET http://nosuch.invalid{path}" for path in PATHS]
    targets += [f"GET {scheme}:{host}" for scheme in SCHEMES for host in HOSTS]
    targets += [f"CONNECT {target}" for target in TUNNELS]
    requests = {
        target: f"{target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" for target in targets
    }
    with both(loads + CONF, Documents({})) as servers:
        assert differences(servers, requests) == {}
