"""Requests that fail with their largest input: what they held does not stay in a worker."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.memory_peers import PeerFailure, peer_failures, peer_server
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess

MAX_GROWTH = 50.0  # MB that a worker may grow while one error path is taken
XML_BYTES = 990_000  # below LimitXMLRequestBody's default
FIELD_BYTES = 8_000  # below LimitRequestFieldSize
FORM = "Content-Type: application/x-www-form-urlencoded\r\n"
XML = "Content-Type: text/xml\r\n"
LOADS = (
    "dav dav_fs dav_lock session session_cookie session_crypto auth_form request proxy proxy_http proxy_html "
    "xml2enc substitute sed ext_filter lua rewrite cache cache_socache socache_shmcb reflector".split()
)
CONF = """
{loads}
LogLevel crit
DavLockDB %ROOT%/logs/locks
<Location /dav>
    Dav On
</Location>
<Location /form>
    SetHandler form-login-handler
    AuthFormProvider file
    AuthType form
    AuthName zone
    AuthUserFile %ROOT%/htdocs/a.txt
    AuthFormSize 1000000
    Session On
    SessionCookieName s path=/
</Location>
<Location /session>
    Session On
    SessionEnv On
    SessionCookieName s path=/
    SessionCryptoPassphrase secret
</Location>
<Location /inflate>
    SetInputFilter DEFLATE
    SetHandler reflector
    LimitRequestBody 4000000
</Location>
<Location /back>
    SetOutputFilter proxy-html
    ProxyHTMLEnable On
    ProxyHTMLLinks a href
    ProxyHTMLURLMap http://a/ /b/
</Location>
ProxyPass /back/none http://127.0.0.1:1/
ProxyPass /back/ http://127.0.0.1:{port}/
RewriteEngine On
RewriteRule ^/loop(.*) /loop$1x [L,PT]
<Directory %ROOT%/htdocs/loops>
    RewriteEngine On
    RewriteRule (.*) /loops/x$1
</Directory>
Alias /lua %ROOT%/htdocs/fails.lua
<Files fails.lua>
    SetHandler lua-script
</Files>
<Files *.shtml>
    ForceType text/html
    SetOutputFilter INCLUDES
</Files>
<Files lines.txt>
    SetOutputFilter SUBSTITUTE
    Substitute s/line/lines/
    SubstituteMaxLineLength 1m
</Files>
<Files enc.html>
    SetOutputFilter xml2enc
</Files>
ExtFilterDefine fails mode=output cmd="%ROOT%/htdocs/no-filter.cgi"
ExtFilterDefine absent mode=output cmd="/none/at/all"
ExtFilterDefine in-fails mode=input cmd="%ROOT%/htdocs/no-filter.cgi"
<Files ext-fails.txt>
    SetOutputFilter fails
</Files>
<Files ext-absent.txt>
    SetOutputFilter absent
</Files>
<Location /ext-in>
    SetInputFilter in-fails
    SetHandler reflector
</Location>
<Files sed.txt>
    SetOutputFilter Sed
    OutputSed "s/x/xx/g"
</Files>
<Location /limited>
    LimitRequestBody 900000
    SetHandler reflector
</Location>
"""


def propertyupdate(size: int) -> str:
    """Return a PROPPATCH body of about *size* bytes with many properties."""
    prop = '<D:prop><n:p{0} xmlns:n="urn:x">' + "v" * 400 + "</n:p{0}></D:prop>"
    return "".join(prop.format(number) for number in range(size // 460))


@dataclass(frozen=True)
class Failure:
    """A request that fails, or whose response does.

    Attributes:
        name: key of the figure.
        fields: field lines beside Host.
        body: sent with its length unless *fields* announces chunks.
    """

    name: str
    method: str
    target: str
    fields: str = ""
    body: bytes = b""

    def send_all(self, server: ServerProcess, count: int) -> set[bytes]:
        """Send the request *count* times; return the statuses."""
        return {server.exchange(self.request(), timeout=30)[9:12] for _ in range(count)}

    def request(self) -> bytes:
        """Return the bytes of the request."""
        length = f"Content-Length: {len(self.body)}\r\n" if self.body and "chunked" not in self.fields else ""
        head = f"{self.method} {self.target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        return f"{head}{self.fields}{length}\r\n".encode() + self.body


def _dav_failures() -> tuple[Failure, ...]:
    update = '<D:propertyupdate xmlns:D="DAV:"><D:set>' + propertyupdate(XML_BYTES - 200) + "</D:set>"
    whole = (update + "</D:propertyupdate>").encode()
    text = b"<a>" + b"t" * XML_BYTES
    return (
        Failure("PROPPATCH missing", "PROPPATCH", "/dav/none.txt", XML, whole),
        Failure("PROPPATCH truncated", "PROPPATCH", "/dav/a.txt", XML, update.encode()),
        Failure("PROPPATCH bad XML", "PROPPATCH", "/dav/a.txt", XML, whole[:-10] + b"<&"),
        Failure("PROPPATCH too large", "PROPPATCH", "/dav/a.txt", XML, whole + b" " * 100_000),
        Failure("PROPPATCH refused", "PROPPATCH", "/dav/a.txt", XML, whole.replace(b"urn:x", b"DAV:")),
        Failure("PROPFIND bad XML", "PROPFIND", "/dav/", XML + "Depth: 1\r\n", text),
        Failure("LOCK bad XML", "LOCK", "/dav/a.txt", XML, text),
        Failure("MKCOL body", "MKCOL", "/dav/new", XML, text),
        Failure("If field", "PUT", "/dav/a.txt", f"If: (<{'x' * FIELD_BYTES}>\r\n", b"x" * 100_000),
    )


def _other_failures() -> tuple[Failure, ...]:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    zipped = bomb.compress(bytes(20_000_000)) + bomb.flush()
    piece = b"10000\r\n" + b"c" * 65_536 + b"\r\n"
    return (
        Failure("form", "POST", "/form", FORM, b"httpd_username=" + b"x" * XML_BYTES),
        Failure(
            "multipart",
            "POST",
            "/lua/multipart",
            "Content-Type: multipart/form-data; boundary=b\r\n",
            b"--b\r\nContent-Disposition: form-data; name=x\r\n\r\n" + b"x" * XML_BYTES,
        ),
        Failure("Lua error", "POST", "/lua/error", FORM, b"x" * XML_BYTES),
        Failure("session cookie", "GET", "/session/a.txt", f"Cookie: s={'A' * (FIELD_BYTES - 100)}\r\n"),
        Failure("SSI", "GET", "/broken.shtml"),
        Failure("XML2ENC", "GET", "/enc.html"),
        Failure("proxy_html", "GET", "/back/broken.html"),
        Failure("substitute", "GET", "/lines.txt"),
        Failure("ext_filter fails", "GET", "/ext-fails.txt"),
        Failure("ext_filter absent", "GET", "/ext-absent.txt"),
        Failure("ext_filter input", "POST", "/ext-in", FORM, b"x" * XML_BYTES),
        Failure("sed", "GET", "/sed.txt"),
        Failure("CGI", "POST", "/fails.cgi", FORM, b"x" * XML_BYTES),
        Failure("back end down", "POST", "/back/none", FORM, b"x" * XML_BYTES),
        Failure("rewrite loop", "GET", "/loops/" + "y" * 200),
        Failure(
            "chunk error", "POST", "/limited/x", "Transfer-Encoding: chunked\r\n", piece * 12 + b"zz\r\n"
        ),
        Failure(
            "chunks too large",
            "POST",
            "/limited/x",
            "Transfer-Encoding: chunked\r\n",
            piece * 15 + b"0\r\n\r\n",
        ),
        Failure("inflate bomb", "POST", "/inflate", "Content-Encoding: gzip\r\n", zipped),
        Failure(
            "inflate garbage",
            "POST",
            "/inflate",
            "Content-Encoding: gzip\r\n",
            zipped[:100] + b"\xff" * XML_BYTES,
        ),
        Failure("bad head", "GET", "/" + "z" * 8_000, f"X-Bad\r\nX: {'x' * FIELD_BYTES}\r\n"),
    )


def all_failures() -> tuple[Failure, ...]:
    """Return every failing request."""
    return _dav_failures() + _other_failures()


LUA = """function handle(r)
  local body = r:requestbody()
  local form = r.uri:find("multipart") and r:parsebody(2000000)
  error(string.rep("e", 1000) .. tostring(body and #body))
end
"""


def documents() -> dict[str, bytes]:
    """Return the documents whose filters fail."""
    tags = b"<a href='http://a/x'>x</a><b " * 500
    return {
        "a.txt": b"plain a\n",
        "dav/a.txt": b"plain a\n",
        "session/a.txt": b"plain a\n",
        "lines.txt": b"line " * 400_000,
        "fails.cgi": b"#!/bin/sh\ncat >/dev/null\necho no header\n",
        "no-filter.cgi": b"#!/bin/sh\ncat >/dev/null\nexit 1\n",
        "ext-fails.txt": b"line\n" * 400_000,
        "ext-absent.txt": b"line\n" * 400_000,
        "sed.txt": b"x" * 9_000_000,  # beyond the longest line of the editor
        "loops/x": b"x\n",
        "fails.lua": LUA.encode(),
        "broken.shtml": b"text " * 200_000
        + b'<!--#include virtual="/none" --><!--#if expr="(" --><!--#echo ' * 500,
        "enc.html": b"<meta charset=none-such>" + b"\xff\xfe\xe9" * 300_000,
        "broken.html": b"<html>" + tags,
    }


def site() -> HostileSite:
    """Return a site of all modules whose error paths are taken."""
    loads = "".join(f"LoadModule {name}_module m/mod_{name}.so\n" for name in LOADS if name != "rewrite")
    return HostileSite(CONF.format(loads=loads, port="%PORT%"), documents())


def measure(count: int, names: tuple[str, ...] = ()) -> Result:
    """Send each request *count* times; note the growth of the peak of a worker in each."""
    result = Result()
    server = ServerProcess(WHIMBREL, site())
    server.conf.write_text(server.conf.read_text().replace("%PORT%", str(server.port)))
    with server:
        _repeat_all(server, all_failures(), count, names, result)
    with peer_server() as peers:
        _repeat_all(peers, peer_failures(), count, names, result)
    return result


def _repeat_all(
    server: ServerProcess,
    failures: Iterable[Failure | PeerFailure],
    count: int,
    names: tuple[str, ...],
    result: Result,
) -> None:
    for _ in range(20):
        server.get("/a.txt")
    for failure in failures:
        if not names or failure.name in names:
            _repeat(server, failure, count, result)
    if "Traceback" in server.output:
        at = server.output.find("Traceback")
        result.failures.append("a traceback in the log: " + server.output[at:][:2000])


def _repeat(server: ServerProcess, failure: Failure | PeerFailure, count: int, result: Result) -> None:
    workers = server.workers()
    statuses = failure.send_all(server, 3)
    server.reset_peak()
    before = server.peak_memory()
    statuses |= failure.send_all(server, count)
    growth = server.peak_memory() - before
    result.figures[f"{failure.name} MB"] = round(growth, 1)
    result.figures[f"{failure.name} status"] = b" ".join(sorted(statuses)).decode()
    if growth > MAX_GROWTH:
        result.failures.append(f"{failure.name}: {growth:.0f} MB after {count} requests")
    if server.workers() != workers:
        result.failures.append(f"{failure.name}: a worker has been replaced")


def run(budget: Budget) -> Result:
    """Send each failing request 200 times."""
    return measure(budget.cases)


MEASURES = (
    Measure(
        "memory-errors",
        "Requests that fail with their largest input, 200 times each, cost no worker more than 50 MB.",
        run,
        200,
        600,
    ),
)
