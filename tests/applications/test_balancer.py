"""A balancer of two members: drain in the manager, members that are down, failover; as apache2 does."""

from __future__ import annotations

import re
import socket
import time
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.support.origin import Origin

pytestmark = pytest.mark.skipif(not APACHE.present, reason="no /etc/apache2 to copy")
CONF = """
<Proxy balancer://waders>
  BalancerMember http://127.0.0.1:{a} route=a retry=1
  BalancerMember http://127.0.0.1:{b} route=b retry=1
  ProxySet stickysession=SID
</Proxy>
ProxyPass /app/ balancer://waders/
<Location /app/length/>
  SetEnv proxy-sendcl 1
</Location>
<Location /manager>
  SetHandler balancer-manager
  Require local
</Location>
StartServers 2
ServerLimit 2
ThreadsPerChild 25
MaxRequestWorkers 50
"""
MODULES = ["proxy", "proxy_http", "proxy_balancer", "slotmem_shm", "lbmethod_byrequests"]


class BalancedSite:
    """A server in front of two origins, `a` and `b`."""

    def __init__(self, server: StockServer, a: Origin, b: Origin) -> None:
        self.server, self.a, self.b = server, a, b

    def ask(
        self, path: str, *fields: str, method: str = "GET", body: bytes = b"", chunked: bool = False
    ) -> tuple[int, bytes]:
        """Return status and body of the response to a request on a fresh connection."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *fields]
        if chunked:
            lines.append("Transfer-Encoding: chunked")
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        elif body:
            lines.append(f"Content-Length: {len(body)}")
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=10) as wire:
            wire.sendall("\r\n".join([*lines, "", ""]).encode() + body[:-50_000])
            if body[:-50_000]:
                time.sleep(0.05)  # so that the server reads a part
            wire.sendall(body[-50_000:])
            data = b""
            while piece := wire.recv(65536):
                data += piece
        head, _, rest = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), rest

    def members(self, count: int, *fields: str) -> Counter[str]:
        """Return how many of *count* requests each member answered."""
        return Counter(self.ask("/app/x", *fields)[1].split()[0].decode() for _ in range(count))

    def set(self, member: Origin, **values: str) -> int:
        """Change *member* by the form of the manager; return the status."""
        nonce = re.search(rb"nonce=([-0-9a-f]+)", self.ask("/manager")[1])
        assert nonce is not None
        form = {"w": f"http://127.0.0.1:{member.port}", "b": "waders", "nonce": nonce[1].decode(), **values}
        body = "&".join(f"{name}={value}" for name, value in form.items()).encode()
        fields = ("Referer: http://localhost/manager", "Content-Type: application/x-www-form-urlencoded")
        return self.ask("/manager", *fields, method="POST", body=body)[0]


@pytest.fixture(params=[APACHE, WHIMBREL], ids=lambda program: program.name)
def site(request: pytest.FixtureRequest) -> Iterator[BalancedSite]:
    with TemporaryDirectory(prefix="balancer-") as name, Origin(b"a") as a, Origin(b"b") as b:
        base = Path(name)
        write_documents(base)
        conf = CONF.format(a=a.port, b=b.port)
        with StockServer(request.param, base, conf, modules=MODULES) as server:
            assert server.started, server.output
            yield BalancedSite(server, a, b)


def test_a_drained_member_gets_requests_of_its_sessions_only(site: BalancedSite) -> None:
    assert site.members(10) == {"a": 5, "b": 5}
    assert site.set(site.b, w_status_N="1") == 200
    assert site.members(50) == {"a": 50}
    assert site.members(3, "Cookie: SID=1.b") == {"b": 3}
    assert site.set(site.b, w_status_N="0") == 200
    assert site.members(50)["b"] > 10


def test_weights_and_a_disabled_member(site: BalancedSite) -> None:
    assert site.set(site.a, w_lf="4") == 200
    assert site.members(50) == {"a": 40, "b": 10}
    assert site.set(site.b, w_status_D="1") == 200
    assert site.members(50) == {"a": 50}
    assert site.members(3, "Cookie: SID=1.b") == {"a": 3}


def test_all_members_are_down_and_return_after_retry(site: BalancedSite) -> None:
    site.a.stop()
    site.b.stop()
    assert [site.ask("/app/x")[0] for _ in range(3)] == [503] * 3
    with Origin(b"a", site.a.port), Origin(b"b", site.b.port):
        time.sleep(1.2)
        assert [site.ask("/app/x")[0] for _ in range(4)] == [200] * 4


def test_a_member_that_refuses_fails_over(site: BalancedSite) -> None:
    site.b.stop()
    assert [site.ask("/app/x") for _ in range(4)] == [(200, b"a  0")] * 4


def test_a_body_reaches_the_member_that_is_tried_next(site: BalancedSite) -> None:
    site.b.stop()
    for path, chunked, size in product(("/app/x", "/app/length/x"), (False, True), (10, 100_000)):
        site.set(site.b, w_status_D="0")  # clears its error
        body = bytes(range(10)) * (size // 10)
        answers = [site.ask(path, method="POST", body=body, chunked=chunked) for _ in range(3)]
        assert answers == [(200, b"a  %d" % size)] * 3
        received = site.a.received[-3:]
        assert all(request.body == body for request in received)
        assert {request.is_chunked for request in received} == {chunked and size > 10 and path == "/app/x"}


def test_a_request_that_was_sent_does_not_fail_over(site: BalancedSite) -> None:
    for method, size in (("GET", 0), ("POST", 0), ("POST", 10), ("POST", 100_000)):
        site.a.received.clear()
        site.b.received.clear()
        answers = [site.ask("/app/cut", method=method, body=b"x" * size)[0] for _ in range(3)]
        assert answers == [502] * 3
        received = site.a.received + site.b.received
        assert [len(request.body) for request in received] == [size] * 3
        assert site.ask("/app/x")[0] == 200
