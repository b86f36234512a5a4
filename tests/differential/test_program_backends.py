"""Back ends of FastCGI, SCGI, uwsgi and AJP behind apache2 and Whimbrel: requests and responses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.support.program_backends import ProgramBackend

pytestmark = pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed")
KINDS = ("fcgi", "scgi", "uwsgi", "ajp")
CONF = """
LogLevel info
ProxyPass /f/ fcgi://127.0.0.1:%fcgi%/srv/
ProxyPass /fk/ fcgi://127.0.0.1:%fcgi%/keep/ enablereuse=on
ProxyPass /s/ scgi://127.0.0.1:%scgi%/
ProxyPass /u/ uwsgi://127.0.0.1:%uwsgi%/
ProxyPass /ue uwsgi://127.0.0.1:%uwsgi%/ue
RewriteRule ^/uw/(.*) uwsgi://127.0.0.1:%uwsgi%/$1 [P]
<LocationMatch ^/l/>
  SetHandler "proxy:uwsgi://127.0.0.1:%uwsgi%"
</LocationMatch>
ProxyPass /a/ ajp://127.0.0.1:%ajp%/app/
ProxyPass /as/ ajp://127.0.0.1:%ajp%/ secret=geheim ping=1
ProxyPassMatch ^/m/(.*)\\.php$ fcgi://127.0.0.1:%fcgi%/match/$1.php
ProxyPass /gone/ fcgi://127.0.0.1:1/
ProxyPass /gones/ scgi://127.0.0.1:1/
ProxyPass /goneu/ uwsgi://127.0.0.1:1/
ProxyPass /gonea/ ajp://127.0.0.1:1/
SetEnvIf Request_URI ^/f/full proxy-fcgi-pathinfo=full
SetEnvIf Request_URI ^/f/unescape proxy-fcgi-pathinfo=unescape
SetEnvIf Request_URI ^/f/first proxy-fcgi-pathinfo=first-dot
RewriteEngine on
RewriteOptions InheritDown
RewriteRule ^/r/(.*) fcgi://127.0.0.1:%fcgi%/rewritten/$1 [P,QSA]
RewriteRule ^/h/(.*) - [E=X:1,H=proxy:fcgi://127.0.0.1:%fcgi%]
<Directory "%www%">
  AllowOverride All
  <FilesMatch "\\.php$">
    SetHandler "proxy:fcgi://127.0.0.1:%fcgi%"
  </FilesMatch>
  <FilesMatch "\\.phps$">
    ProxyFCGIBackendType GENERIC
    SetHandler "proxy:fcgi://127.0.0.1:%fcgi%/"
  </FilesMatch>
  <FilesMatch "\\.phpu$">
    SetHandler "proxy:unix:%unix%|fcgi://local/"
  </FilesMatch>
  <FilesMatch "\\.uw$">
    SetHandler "proxy:uwsgi://127.0.0.1:%uwsgi%/"
  </FilesMatch>
</Directory>
<Location /fo/>
  ProxyPass fcgi://127.0.0.1:%fcgi%/
  ProxyErrorOverride On
</Location>
<Location /uo/>
  ProxyPass uwsgi://127.0.0.1:%uwsgi%/
  ProxyErrorOverride On 404
</Location>
<Location /ao/>
  ProxyPass ajp://127.0.0.1:%ajp%/
  ProxyErrorOverride On
</Location>
AuthnzFcgiDefineProvider authn FA fcgi://127.0.0.1:%fcgi%/
AuthnzFcgiDefineProvider authz FZ fcgi://127.0.0.1:%fcgi%
AuthnzFcgiDefineProvider authnz FB fcgi://127.0.0.1:%fcgi%/
AuthnzFcgiDefineProvider authn FG fcgi://127.0.0.1:1/
<LocationMatch ^/g>
  ProxyPassMatch fcgi://127.0.0.1:%fcgi%
  AuthName x
  AuthType Basic
</LocationMatch>
<Location /g1/>
  AuthBasicProvider FA
  Require valid-user
</Location>
<Location /g2/>
  AuthBasicProvider FA
  Require FZ
</Location>
<Location /g3/>
  AuthBasicProvider FB
  Require FB
</Location>
<Location /g4/>
  AuthType None
  AuthnzFcgiCheckAuthnProvider FA UserExpr "%%{reqenv:FOO}" DefaultUser anon
  Require valid-user
</Location>
<Location /g5/>
  AuthnzFcgiCheckAuthnProvider FB RequireBasicAuth On UserExpr "%%{reqenv:FOO}"
  Require FB
</Location>
<Location /g6/>
  AuthBasicProvider FA
  AuthnzFcgiCheckAuthnProvider FA Authoritative Off RequireBasicAuth Off
  Require valid-user
</Location>
<Location /g7/>
  AuthBasicProvider FG
  Require valid-user
</Location>
<Location /fx/>
  ProxyPass fcgi://127.0.0.1:%fcgi%/
  CGIPassAuth On
  ProxyFCGISetEnvIf "reqenv('PATH_INFO') =~ m#(.*)/x#" XX "<$1>"
  ProxyFCGISetEnvIf "reqenv('REQUEST_URI') =~ m#/fx/(.)#" FIRST "$1-%%{reqenv:SCRIPT_NAME}"
  ProxyFCGISetEnvIf true !SERVER_ADMIN
</Location>
"""
FILES = {
    "x.php": "",
    "a b.php": "",
    "q%3F.php": "",
    "x.phps": "",
    "x.phpu": "",
    "p%.php": "",
    "u.uw": "",
    "sub/index.php": "",
    "sub/.htaccess": "DirectoryIndex index.php\n",
}
BODY = (
    "POST {} HTTP/1.1\nHost: localhost\nConnection: close\nContent-Type: text/x\nContent-Length: 5\n\nabc12"
)
CHUNKED = "POST {} HTTP/1.1\nHost: localhost\nConnection: close\nTransfer-Encoding: chunked\n\n3\nabc\n0\n"
PATHS = """
/f/ /f/app /f/a/b?q=1&x=%20 /f/a%20b /f/%C3%BC.php/x /f//d /f/full.php/x%20y /f/full/../x.php/y
/f/unescape%20a/b /f/first.a/b.c/d /f/x?q=%3F%2F /fk/x /fk/y /s/ /s/app/x?y /s/a%20b /u/
/u/app/x%20y?z /u//x /a/ /a/x%20y?q=1 /as/x /m/x.php /m/a/b.php?z /r/x?y=1 /r/a%20b /x.php
/x.php/info/z?q=1 /none.php /none.php/x /a%20b.php /a%20b.php/c%20d /q%253F.php /q%3F.php /p%25.php/x
/u.uw /u.uw/y /u.uw/abcd /u.uw/a/longer/one?q=1 /u/a /u/ab/cd /ue/ab /ue /uw/u.uw /uw/u.uw/x /l/u.uw/y
/x.phps /x.phps/in?q=1 /x.phpu /x.phpu/y?z /sub/ /sub/index.php/x /fx/a/x /fx/b
""".split()
RAW = """
Content-Type:%20text/plain%0D%0A%0D%0Aok
Status:%20404%20Gone%20Fishing%0D%0AContent-Type:%20text/plain%0D%0A%0D%0Ano
Status:%20503%0D%0A%0D%0Alater
Location:%20/tiny.txt%0D%0A%0D%0A
Status:%20302%0D%0ALocation:%20/tiny.txt%0D%0A%0D%0A
Status:%20204%0D%0A%0D%0A
Status:%20401%0D%0AWWW-Authenticate:%20Basic%20realm=x%0D%0A%0D%0Ax
Content-Length:%205%0D%0AX-A:%201%0D%0AX-A:%202%0D%0ASet-Cookie:%20a=1%0D%0ASet-Cookie:%20b=2%0D%0A%0D%0Ahello
garbage%0D%0A%0D%0A
Last-Modified:%20Sun,%2013%20Sep%202020%2012:26:40%20GMT%0D%0AETag:%20%22q%22%0D%0A%0D%0Ax
HTTP/1.1%20200%20OK%0D%0AContent-Type:%20text/x%0D%0AConnection:%20close%0D%0AKeep-Alive:%205%0D%0AUpgrade:%20x%0D%0A%0D%0Ah
HTTP/1.1%20404%20Lost%20It%0D%0AContent-Type:%20text/x%0D%0A%0D%0Alost
HTTP/1.0%20302%0D%0ALocation:%20/x%0D%0AX-B:%201%0D%0A%20folded%0D%0A%0D%0Al
Content-Length:%205,%205%0D%0AContent-Type:%20text/plain%0D%0A%0D%0Ahello
HTTP/1.1%20200%20OK%0D%0AContent-Length:%205,%205%0D%0AContent-Type:%20text/x%0D%0A%0D%0Ahello
HTTP/1.1%20200%20OK%0D%0AContent-Length:%205%0D%0AContent-Length:%205%0D%0AContent-Type:%20text/x%0D%0A%0D%0Ahello
HTTP/1.1%20200%20OK%0D%0AContent-Length:%205,%206%0D%0AContent-Type:%20text/x%0D%0A%0D%0Ahello
HTTP/1.1%20200%20OK%0D%0AContent-Length:%20x%0D%0AContent-Type:%20text/x%0D%0A%0D%0Ahello
HTTP/1.1%20200%20OK%0D%0ABad%20Field:%20x%0D%0A%0D%0A
""".split()
AUTHORIZER = """
?raw=Status:%20200%0D%0AVariable-FOO:%20bar%0D%0AX-A:%201%0D%0A%0D%0Abody
?raw=Status:%20403%0D%0AX-A:%201%0D%0A%0D%0Abody
?raw=Status:%20401%0D%0AWWW-Authenticate:%20Basic%20realm=q%0D%0A%0D%0A
?raw=garbage%0D%0A%0D%0A
?close
""".split()
FRAMING = ("content-length", "transfer-encoding")
UNSTABLE = re.compile(rb"SERVER_PORT=\d+|:\d+")


# httpd sends an error page behind the empty response that it has already ended.
UNLIKE = {f'GET /fo/x?raw={RAW[9]} HTTP/1.1\nHost: localhost\nConnection: close\nIf-Match: "r"'}


def requests() -> list[str]:
    get = "{} {} HTTP/1.1\nHost: localhost\nConnection: close"
    out = [get.format("GET", path) for path in PATHS]
    for prefix in ("/f/", "/fo/", "/s/", "/u/", "/uo/", "/a/", "/ao/"):
        out += [get.format("GET", f"{prefix}x?raw={raw}") for raw in RAW]
        out += [get.format("GET", f"{prefix}x?close"), get.format("GET", f"{prefix}x?err=trouble%0Ahere")]
        out += [get.format("HEAD", f"{prefix}x"), get.format("GET", f"{prefix}x?raw=")]
        out += [BODY.format(f"{prefix}post"), CHUNKED.format(f"{prefix}chunks")]
        out.append(
            get.format("GET", f"{prefix}auth")
            + "\nAuthorization: Basic eDp5\nProxy: e\nX-Y-z: 1\nCookie: c=d"
        )
        out.append(get.format("GET", f"{prefix}x?raw={RAW[9]}") + '\nIf-None-Match: "q"')
        out.append(get.format("GET", f"{prefix}x?raw={RAW[9]}") + '\nIf-Match: "r"')
        out.append(get.format("PATCHED", f"{prefix}method"))
    for number in range(1, 8):
        for query in ("", *AUTHORIZER):
            plain = get.format("GET", f"/g{number}/x{query}")
            out += [plain, plain + "\nAuthorization: Basic eDp5"]
    out += [get.format("GET", f"/gone{kind}/x") for kind in ("", "s", "u", "a")]
    out.append(get.format("GET", "/fx/auth") + "\nAuthorization: Basic eDp5")
    return out


def codes(server: StockServer) -> list[str]:
    """Return the codes logged so far, without those of starts and stops."""
    text = (server.run / "error.log").read_text("latin-1")
    return [code for code in re.findall(r"AH\d{5}", text) if code not in ("AH00489", "AH00094", "AH02645")]


@pytest.fixture(scope="module")
def servers() -> Iterator[list[StockServer]]:
    with TemporaryDirectory(prefix="programs-") as name:  # which users other than root may enter
        yield from _servers(Path(name))


def _servers(base: Path) -> Iterator[list[StockServer]]:
    write_documents(base)
    for name, text in FILES.items():
        path = base / "www/html" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    base.chmod(0o755)
    with (
        ProgramBackend("fcgi") as fcgi,
        ProgramBackend("scgi") as scgi,
        ProgramBackend("uwsgi") as uwsgi,
        ProgramBackend("ajp") as ajp,
        ProgramBackend("fcgi", base / "socket"),
    ):
        conf = CONF.replace("%unix%", str(base / "socket")).replace("%www%", str(base / "www/html"))
        for kind, backend in zip(KINDS, (fcgi, scgi, uwsgi, ajp), strict=True):
            conf = conf.replace(f"%{kind}%", str(backend.port))
        conf = conf.replace("%%", "%")
        modules = ["proxy", "rewrite", "authnz_fcgi", *(f"proxy_{kind}" for kind in KINDS)]
        with (
            StockServer(APACHE, base, conf, modules=modules) as apache,
            StockServer(WHIMBREL, base, conf, modules=modules) as whimbrel,
        ):
            assert apache.started, apache.output
            assert whimbrel.started, whimbrel.output
            yield [apache, whimbrel]


def _shown(request: str, replies: list[tuple[str, object, bytes]]) -> str:
    """Return what differs."""
    (first, one, left), (second, two, right) = replies
    only = [sorted(set(left.split(b"\n")) - set(right.split(b"\n")))]
    only.append(sorted(set(right.split(b"\n")) - set(left.split(b"\n"))))
    return f"\n=== {request}\n{first} {one}\n{second} {two}\n{only[0]}\n{only[1]}\n"


def test_same_answers(servers: list[StockServer]) -> None:
    differences = []
    for request in requests():
        replies = []
        for server in servers:
            status, fields, body = server.ask(request)
            shown = tuple((name, value) for name, value in fields if name not in FRAMING)
            body = UNSTABLE.sub(b":N", body.replace(str(server.root).encode(), b"ROOT"))
            replies.append((status, shown, body))
        if replies[0] != replies[1] and request not in UNLIKE:
            differences.append((request, replies))
    text = "".join(_shown(*each) for each in differences)
    assert not differences, text
    logged = [Counter(codes(server)) for server in servers]
    logged[0] -= Counter(AH02822=2)  # a response field that httpd refuses while it reads the answer
    assert logged[0] == logged[1]


def test_equal_lengths_are_one(servers: list[StockServer]) -> None:
    """httpd forwards the field as it is; RFC 9110, section 8.6, has one number in its place."""
    for value, ours in (("5", "5"), ("5,%205", "5"), ("5%0D%0AContent-Length:%205", "5"), ("5,%206", None)):
        raw = f"HTTP/1.1%20200%20OK%0D%0AContent-Length:%20{value}%0D%0A%0D%0Ahello"
        for server, number in zip(servers, (None, ours), strict=True):
            request = f"GET /u/x?raw={raw} HTTP/1.1\nHost: localhost\nConnection: close"
            status, fields, body = server.ask(request)
            assert (status, body) == ("HTTP/1.1 200 OK", b"hello")
            if server is servers[1]:
                assert dict(fields).get("content-length") == number
