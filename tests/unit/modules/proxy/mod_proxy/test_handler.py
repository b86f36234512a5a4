"""The handler of proxied requests. Expected responses and log codes are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.proxy_site import ProxySite

from whimbrel.engine.connection import Connection
from whimbrel.modules.proxy.mod_proxy.model import ProxyBalancer
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.registry.phases import DECLINED, OK, HookStatus
from whimbrel.testing.client import TestClient

GET = "GET {} HTTP/1.1\r\nHost: x\r\n\r\n"


class RoundRobin:
    """A balancer's hooks that take the members in turn; failed ones are not usable."""

    def __init__(self, balancers: list[ProxyBalancer]) -> None:
        self.balancers, self.failed, self.statuses = balancers, set[str](), list[int]()

    def pre_request(self, call: ProxyCall) -> HookStatus:
        """Choose the first member that has not failed."""
        if not call.url.startswith("balancer://"):
            return DECLINED
        call.balancer = self.balancers[0]
        usable = [member for member in call.balancer.members if member.name not in self.failed]
        if not usable:
            call.worker = None
            return 503
        call.worker = usable[0]
        call.url = usable[0].name + "/x"
        return OK

    def post_request(self, call: ProxyCall) -> HookStatus:
        """Note the status."""
        self.statuses.append(call.r.status)
        return OK

    def set_error(self, call: ProxyCall) -> None:
        """Note the member."""
        self.failed.add(call.worker.name if call.worker else "")

    def is_usable(self, call: ProxyCall) -> bool:
        """Return True unless the member has failed."""
        return call.worker is not None and call.worker.name not in self.failed

    def max_attempts(self, call: ProxyCall) -> int:
        """Return the parameter of the balancer."""
        assert call.balancer is not None
        return call.balancer.parameters.maxattempts or 0

    def give_up(self, call: ProxyCall) -> None:
        """Nothing is counted."""


BALANCED = """
<Proxy balancer://one>
    BalancerMember http://m1
    BalancerMember http://m2
    ProxySet maxattempts={}
</Proxy>
ProxyPass / balancer://one/
"""


def balanced(tmp_path: Path, attempts: int) -> tuple[ProxySite, RoundRobin]:
    from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig

    site = ProxySite(tmp_path, BALANCED.format(attempts))
    hooks = RoundRobin(site.engine.main.config(ProxyServerConfig).balancers)
    modules = site.engine.configuration.modules
    modules.register_provider("proxy_balancer", "default", hooks)
    return site, hooks


def test_failover(tmp_path: Path) -> None:
    site, hooks = balanced(tmp_path, 1)
    site.scheme.statuses = [503]
    assert site.status("/x") == 200
    assert [call[0] for call in site.scheme.calls] == ["http://m1", "http://m2"]
    assert (hooks.failed, hooks.statuses) == ({"http://m1"}, [200])


def test_attempts_are_limited(tmp_path: Path) -> None:
    site, hooks = balanced(tmp_path, 0)
    site.scheme.statuses = [503, 503]
    assert site.status("/x") == 503
    assert (len(site.scheme.calls), hooks.statuses) == (1, [503])


def test_other_errors_are_final(tmp_path: Path) -> None:
    site, hooks = balanced(tmp_path, 5)
    site.scheme.statuses = [500, 502]
    assert (site.status("/x"), hooks.failed) == (500, {"http://m1"})
    assert (site.status("/x"), hooks.failed) == (502, {"http://m1"})


def test_no_member_is_usable(tmp_path: Path) -> None:
    site, hooks = balanced(tmp_path, 5)
    hooks.failed = {"http://m1", "http://m2"}
    assert (site.status("/x"), site.scheme.calls) == (503, [])


def test_workers(tmp_path: Path) -> None:
    conf = (
        "ProxyPass /a http://b/a\nProxyPass /b http://b/a/b\nRewriteEngine On\n"
        "RewriteRule ^/r/(.*) http://other/$1 [P]\n"
    )
    site = ProxySite(tmp_path, conf)
    for path, worker in (("/a/x", "http://b/a"), ("/b/x", "http://b/a"), ("/r/x", "proxy:reverse")):
        site.url(path)
        assert site.scheme.calls[-1][0] == worker


def test_no_handler_for_the_scheme(tmp_path: Path) -> None:
    site = ProxySite(tmp_path, "ProxyPass / foo://x/\n")
    assert site.status("/a") == 500
    assert "AH01144" in site.codes()


FORWARD = """
ProxyRequests On
ProxyDomain .example.com
ProxyRemote http://far http://proxy1:3128
ProxyRemoteMatch ^http://[a-z]+[.]net/ http://proxy2
NoProxy .direct.net 10.0.0.0/8
"""


@pytest.mark.parametrize(
    ("target", "call"),
    [
        ("http://far.net/x", ("proxy:forward", "http://far.net/x", ("proxy1", 3128))),
        ("http://other.net/", ("proxy:forward", "http://other.net/", ("proxy2", 80))),
        ("http://a.direct.net/", ("proxy:forward", "http://a.direct.net/", None)),
        ("http://10.1.2.3/", ("proxy:forward", "http://10.1.2.3/", None)),
    ],
)
def test_remote_proxies(target: str, call: tuple[Any, ...], tmp_path: Path) -> None:
    site = ProxySite(tmp_path, FORWARD)
    assert (site.status(target), site.scheme.calls) == (200, [call])


@pytest.mark.parametrize(
    ("match", "target", "is_for"),
    [
        ("*", "http://a.test/", True),
        ("http", "http://a.test/", True),
        ("HTTP", "http://a.test/", True),
        ("ftp", "http://a.test/", False),
        ("http://A.test/", "http://a.TEST/x", True),
        ("http://a.test/x", "http://a.test/", False),
    ],
)
def test_which_urls_go_to_a_remote_proxy(match: str, target: str, is_for: bool, tmp_path: Path) -> None:
    """Manual, ProxyRemote: a scheme, a partial URL, or * for all requests."""
    site = ProxySite(tmp_path, f"ProxyRequests On\nProxyRemote {match} http://proxy1:3128\n")
    assert site.status(target) == 200
    assert [proxy for _, _, proxy in site.scheme.calls] == [("proxy1", 3128) if is_for else None]


def test_a_remote_proxy_that_fails_is_passed_by(tmp_path: Path) -> None:
    site = ProxySite(tmp_path, FORWARD)
    site.scheme.statuses = [502, 502]
    assert site.status("http://far.net/x") == 200
    assert [proxy for _, _, proxy in site.scheme.calls] == [("proxy1", 3128), ("proxy2", 80), None]
    site.scheme.calls.clear()
    site.scheme.statuses = [502]
    assert site.status("http://far.net/x", headers="Content-Length: 1\r\n\r\nx") == 502
    assert len(site.scheme.calls) == 1


def test_own_requests(tmp_path: Path) -> None:
    site = ProxySite(tmp_path, FORWARD)
    assert site.fetch("http://short/x?y").split("\r\n")[0] == "HTTP/1.1 301 Moved Permanently"
    assert "Location: http://short.example.com/x?y" in site.fetch("http://short/x?y")
    assert site.status("/f.html") == 200
    assert site.scheme.calls == []


def test_schemes_without_handler(tmp_path: Path) -> None:
    assert ProxySite(tmp_path / "a", "ProxyRequests On\n").status("ftp://h.net/") == 500
    assert ProxySite(tmp_path / "b", "").status("ftp://h.net/") == 400


def test_forward_proxies_ask_for_credentials(tmp_path: Path) -> None:
    conf = (
        'ProxyRequests On\n<Proxy *>\nAuthType Basic\nAuthName "x"\nAuthUserFile conf/users\n'
        "Require valid-user\n</Proxy>\n"
    )
    modules = "mpm_event authz_core authn_core auth_basic authn_file authz_user proxy"
    site = ProxySite(tmp_path, conf, modules=modules)
    reply = site.fetch("http://h.net/")
    assert reply.startswith("HTTP/1.1 407 ") and 'Proxy-Authenticate: Basic realm="x"' in reply
    credentials = "Proxy-Authorization: Basic YWxpY2U6d29uZGVy\r\n"
    assert site.status("http://h.net/", headers=credentials) == 200


@pytest.mark.parametrize(
    ("method", "field", "status", "text"),
    [
        ("GET", "0", 400, "Max-Forwards has reached zero - proxy loop?"),
        ("GET", "x", 400, "Max-Forwards request header could not be parsed"),
        ("GET", "1", 200, "http://b/x"),
        ("OPTIONS", "0", 200, "Allow: TRACE"),
        ("TRACE", "0", 200, "TRACE /x HTTP/1.1"),
        ("TRACE", "1", 200, "http://b/x"),
    ],
)
def test_max_forwards(method: str, field: str, status: int, text: str, tmp_path: Path) -> None:
    site = ProxySite(tmp_path, "ProxyPass / http://b/\n")
    reply = site.fetch("/x", method=method, headers=f"Max-Forwards: {field}\r\n")
    assert reply.startswith(f"HTTP/1.1 {status} ") and text in reply


def test_trace_can_be_switched_off(tmp_path: Path) -> None:
    site = ProxySite(tmp_path, "TraceEnable Off\nProxyPass / http://b/\n")
    assert site.status("/x", method="TRACE") == 405
    assert "AH01139" in site.codes()


def test_files_with_a_proxy_for_handler(tmp_path: Path) -> None:
    conf = '<Files *.html>\nSetHandler "proxy:fcgi://b"\n</Files>\n<Files *.txt>\nSetHandler "proxy:foo://b"\n</Files>\n'
    site = ProxySite(tmp_path, conf)
    assert site.url("/f.html") == f"fcgi://b{tmp_path}/htdocs/f.html"
    assert site.url("/none.txt") == "404"


def test_sockets(tmp_path: Path) -> None:
    site = ProxySite(tmp_path, "ProxyPass / unix:/run/x.sock|http://b/\n")
    assert site.url("/y") == "http://b/y"
    assert site.scheme.calls[-1][0] == "http://b/"


def client_of(site: ProxySite) -> TestClient:
    """Return a client of *site*."""
    return TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))


def test_an_index_of_a_back_end(tmp_path: Path) -> None:
    site = ProxySite(tmp_path, "DirectoryIndex index.php\nProxyPassMatch ^/(.*[.]php)$ fcgi://b/$1\n")
    assert site.url("/") == "fcgi://b/index.php"


@pytest.mark.parametrize("conf", ["ProxyPass /p http://b/", 'SetHandler "proxy:fcgi://b"'])
def test_the_limit_of_bodies_does_not_apply(tmp_path: Path, conf: str) -> None:
    site = ProxySite(tmp_path, conf + "\nLimitRequestBody 1\n")
    (tmp_path / "htdocs" / "p").write_text("")
    limits: list[int] = []
    handle = site.scheme.handle

    def noted(call: ProxyCall) -> HookStatus:
        limits.append(call.r.body_in.limit)
        return handle(call)

    site.scheme.handle = noted  # type: ignore[method-assign]
    client_of(site).send(b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab")
    assert limits == [0]


def test_an_error_document_of_a_back_end_receives_the_body(tmp_path: Path) -> None:
    conf = "ProxyPass /p http://b/\nErrorDocument 403 /p\n<Location /in>\nRequire all denied\n</Location>\n"
    site = ProxySite(tmp_path, conf)
    bodies: list[int] = []
    handle = site.scheme.handle

    def noted(call: ProxyCall) -> HookStatus:
        bodies.append(call.r.body_in.buffered)
        return handle(call)

    site.scheme.handle = noted  # type: ignore[method-assign]
    client_of(site).send(b"POST /in HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab")
    assert bodies == [2]
