"""Pages of Tomcat behind mod_proxy_ajp, beside apache2."""

from __future__ import annotations

import hashlib
import http.client
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.server.conftest import within
from tests.support.tomcat import Tomcat

pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="no /etc/apache2 to copy"),
    pytest.mark.skipif(not Tomcat.is_installed(), reason="tomcat10 or a Java is not installed"),
]
PAGES = {
    "page.jsp": '<%@ page contentType="text/plain" session="false" %>'
    '<%= request.getMethod() + "|" + request.getRequestURI() + "|" + request.getQueryString() + "|"'
    ' + request.getRemoteAddr() + "|" + request.getServerName() + "|" + request.getHeader("X-Bird")'
    ' + "|" + request.getParameter("name") + "|" + request.isSecure() %>',
    "digest.jsp": '<%@ page contentType="text/plain" session="false" %><%'
    ' java.security.MessageDigest digest = java.security.MessageDigest.getInstance("SHA-256");'
    " byte[] piece = new byte[10000]; long size = 0; int count;"
    " java.io.InputStream input = request.getInputStream();"
    " while ((count = input.read(piece)) > 0) { digest.update(piece, 0, count); size += count; }"
    ' out.print(size + " " + java.util.HexFormat.of().formatHex(digest.digest())); %>',
    "visits.jsp": '<%@ page contentType="text/plain" %><%'
    ' Integer visits = (Integer) session.getAttribute("visits");'
    ' session.setAttribute("visits", visits = visits == null ? 1 : visits + 1); out.print(visits); %>',
    "long.jsp": '<%@ page contentType="text/plain" session="false" %>'
    '<% for (int i = 0; i < 100000; i++) out.print("whimbrel\\n"); %>',
    "endless.jsp": '<%@ page contentType="text/plain" session="false" %><% try {'
    ' byte[] piece = "x".repeat(8000).getBytes(); while (true) response.getOutputStream().write(piece);'
    " } finally {"
    ' application.setAttribute("ended", "yes"); } %>',
    "ended.jsp": '<%@ page contentType="text/plain" session="false" %>'
    '<% out.print(application.getAttribute("ended")); application.removeAttribute("ended"); %>',
    "unread.jsp": '<%@ page contentType="text/plain" session="false" %><% response.sendError(413); %>',
    "error.jsp": '<%@ page session="false" %><% if (true) throw new RuntimeException("broken"); %>',
}
UPLOAD = bytes(range(256)) * 12_000  # 3 MB
CONF = "ProxyPass /app/ ajp://127.0.0.1:{port}/app/\n"


@pytest.fixture(scope="module")
def tomcat() -> Iterator[Tomcat]:
    with TemporaryDirectory(prefix="tomcat-") as name:
        base = Path(name)
        write_documents(base)
        with Tomcat(base, PAGES) as server:
            yield server


@pytest.fixture(scope="module", params=[APACHE, WHIMBREL], ids=lambda program: program.name)
def site(request: pytest.FixtureRequest, tomcat: Tomcat) -> Iterator[StockServer]:
    conf = CONF.format(port=tomcat.port)
    with StockServer(request.param, tomcat.base.parent, conf, modules=["proxy", "proxy_ajp"]) as server:
        assert server.started, server.output
        yield server


def ask(
    site: StockServer,
    path: str,
    method: str = "GET",
    body: bytes | Iterator[bytes] | None = None,
    **more: str,
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Return status, fields and body of the response on a connection of its own."""
    client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    try:
        chunked = body is not None and not isinstance(body, bytes)
        client.request(method, path, body, {"X-Bird": "knot", **more}, encode_chunked=chunked)
        response = client.getresponse()
        return response.status, response.headers, response.read()
    finally:
        client.close()


def test_a_page_and_a_form(site: StockServer) -> None:
    shown = "|/app/page.jsp|{}|127.0.0.1|127.0.0.1|knot|{}|false"
    assert ask(site, "/app/page.jsp?a=%20")[2].decode() == "GET" + shown.format("a=%20", "null")
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    text = ask(site, "/app/page.jsp", "POST", b"name=red+knot", **kind)[2].decode()
    assert text == "POST" + shown.format("null", "red knot")
    status, fields, body = ask(site, "/app/page.jsp", "HEAD")
    assert (status, fields["Content-Type"], body) == (200, "text/plain;charset=ISO-8859-1", b"")


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [0, 1, 8186, 8187, 100_000, len(UPLOAD)])
def test_upload(site: StockServer, chunked: bool, size: int) -> None:
    data = UPLOAD[:size]
    pieces = iter([data[start : start + 50_000] for start in range(0, size, 50_000)])
    body = ask(site, "/app/digest.jsp", "POST", pieces if chunked else data)[2]
    assert body.decode() == f"{size} {hashlib.sha256(data).hexdigest()}"


def test_long_answer(site: StockServer) -> None:
    assert ask(site, "/app/long.jsp")[2] == b"whimbrel\n" * 100_000


def test_session(site: StockServer) -> None:
    _, fields, body = ask(site, "/app/visits.jsp")
    cookie = fields["Set-Cookie"].partition(";")[0]
    assert (body, cookie[:11], cookie[-5:]) == (b"1", "JSESSIONID=", ".knot")
    assert [ask(site, "/app/visits.jsp", Cookie=cookie)[2] for _ in range(3)] == [b"2", b"3", b"4"]


def test_errors(site: StockServer) -> None:
    assert ask(site, "/app/none.jsp")[0] == 404
    assert ask(site, "/app/error.jsp")[0] == 500
    assert ask(site, "/app/unread.jsp", "POST", b"x" * 100_000)[0] == 413
    assert ask(site, "/app/page.jsp")[0] == 200


def test_a_client_that_leaves_ends_the_page(site: StockServer) -> None:
    ask(site, "/app/ended.jsp")  # compiles it
    client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    client.request("GET", "/app/endless.jsp")
    assert client.getresponse().read(5000) == b"x" * 5000
    client.close()
    assert within(lambda: ask(site, "/app/ended.jsp")[2] == b"yes")
