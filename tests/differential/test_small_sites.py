"""Details of responses beside apache2: limits of heads by place, Date of slow responses, pages of mod_dav."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import pytest

from tests.differential.raw_exchange import Documents, both, differences, exchange

LIMITS = """\
<VirtualHost *:%PORT%>
ServerName a
{own}
</VirtualHost>
LimitRequestLine 100
LimitRequestFields 5
LimitRequestFieldSize 60
<VirtualHost *:%PORT%>
ServerName b
</VirtualHost>
LimitRequestLine 8000
LimitRequestFields 100
"""
SECOND = f"LimitRequestLine 70\n{LIMITS}"


def status(data: bytes) -> bytes:
    return data.split(b" ", 2)[1]


@pytest.mark.parametrize("conf", [LIMITS.format(own=""), LIMITS.format(own="LimitRequestLine 50"), SECOND])
def test_limits_of_a_host_are_those_of_the_main_server_at_its_place(conf: str) -> None:
    requests = [
        b"GET /%b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%bY: %b\r\n\r\n"
        % (b"a" * line, b"X: 1\r\n" * fields, b"z" * size)
        for line in (10, 45, 65, 95, 300)
        for fields in (0, 4, 80)
        for size in (5, 70)
    ]
    with both(conf.replace("{own}", ""), Documents({})) as (apache, whimbrel):
        theirs = [status(exchange(apache.port, request)) for request in requests]
        ours = [status(exchange(whimbrel.port, request)) for request in requests]
    assert ours == theirs


def test_date_is_the_time_of_the_request() -> None:
    """Expires is counted from the request: with a slow program both times stay as far apart."""
    conf = (
        "LoadModule expires_module %MODULES%/mod_expires.so\nLoadModule cgi_module %MODULES%/mod_cgi.so\n"
        'ExpiresActive On\nExpiresDefault "access plus 100 seconds"\n'
        "ScriptAlias /c/ %BASE%/htdocs/\n<Directory %BASE%/htdocs>\nRequire all granted\n</Directory>\n"
    )
    script = "#!/bin/sh\nsleep 1.1\necho Content-Type: text/plain\necho\necho x\n"
    with both(conf, Documents({}, {"slow.sh": script})) as servers:
        for server in servers:
            data = exchange(server.port, b"GET /c/slow.sh HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            fields = dict(line.split(b": ", 1) for line in data.split(b"\r\n\r\n")[0].split(b"\r\n")[1:])
            date, expires = (parsedate_to_datetime(fields[name].decode()) for name in (b"Date", b"Expires"))
            assert (expires - date).total_seconds() == 100, server.program.name


def test_pages_of_mod_dav() -> None:
    conf = (
        "LoadModule dav_module %MODULES%/mod_dav.so\nLoadModule dav_fs_module %MODULES%/mod_dav_fs.so\n"
        "DavLockDB %BASE%/locks/%PORT%\nServerSignature On\n"
        "<Directory %BASE%/htdocs>\nDav On\nRequire all granted\n</Directory>\n"
    )
    steps = [("PUT", "/new.txt", "Content-Length: 0\r\n"), ("MKCOL", "/c/", ""), ("MKCOL", "/c/", "")]
    steps += [("DELETE", "/none", ""), ("DELETE", "/c", "Depth: 1\r\n")]
    rules: list[list[tuple[bytes, int, int]]] = []
    with both(conf, Documents({})) as servers:
        for server in servers:
            # both programs have one document root
            for folder in (server.root / "locks", server.root / "htdocs" / server.program.name):
                folder.mkdir(exist_ok=True)
                folder.chmod(0o777)
            found = []
            for method, path, more in steps:
                target = f"/{server.program.name}{path}"
                head = f"{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{more}\r\n"
                data = exchange(server.port, head.encode())
                found.append((status(data), data.count(b"<hr>"), data.count(b"<hr />")))
            rules.append(found)
    assert rules[1] == rules[0]
    assert (b"201", 0, 1) in rules[0]


TARGETS = (
    *("http://h:80/$1", "https://h:443/$1", "http://u:p@h/$1", "http://[::1]:80/$1", "http://[::1/$1"),
    *("http://h:/$1", "http://h:080/$1", "x://h:80/$1", "http://h:y/$1", "http://h:8y/$1?q", "1x:/$1"),
    *("http://h/%41 %$1", "/a?x y", "x:y?z", "http:80", "http:///$1", "//h:80/$1", "ldap://h:389/$1"),
    *("ws://h:80/$1", "http://h:80:90/$1", "http://[a]b/$1", "http://h#f", "foo", "x_y://h/"),
)


def test_redirect_targets_are_read_as_urls() -> None:
    conf = "".join(f'RedirectMatch 307 ^/{n}/(.*)$ "{target}"\n' for n, target in enumerate(TARGETS))
    requests = {
        f"{target} {rest}": f"GET /{n}/{rest} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        for n, target in enumerate(TARGETS)
        for rest in ("q", "a:b", "a%3fb?z")
    }
    with both(conf, Documents({})) as servers:
        assert differences(servers, requests) == {}


PASSED_ON = """\
LoadModule proxy_module %MODULES%/mod_proxy.so
LoadModule proxy_http_module %MODULES%/mod_proxy_http.so
LoadModule proxy_balancer_module %MODULES%/mod_proxy_balancer.so
LoadModule slotmem_shm_module %MODULES%/mod_slotmem_shm.so
LoadModule lbmethod_byrequests_module %MODULES%/mod_lbmethod_byrequests.so
<VirtualHost *:%PORT%>
ServerName back.example
Header set X-Target "expr=%{REQUEST_URI}?%{QUERY_STRING}"
</VirtualHost>
<VirtualHost *:%PORT%>
ServerName front.example
ProxyPreserveHost Off
Header set X-Name "expr=%{REQUEST_FILENAME}"
ProxyPass /b balancer://cluster
<Proxy balancer://cluster>
BalancerMember http://127.0.0.1:%PORT%
</Proxy>
<Directory %ROOT%>
RewriteEngine On
RewriteRule ^r/(.*) http://127.0.0.1:%PORT%/$1 [P]
RewriteRule ^n/(.*) http://127.0.0.1:%PORT%/$1 [P,NE]
RewriteRule ^e/(.*) http://127.0.0.1:%PORT%/$1 [P,B]
RewriteRule ^h/(.*) HTTP://LOCALHOST:%PORT%/$1?x [P,QSA]
</Directory>
</VirtualHost>
"""


def test_urls_of_proxied_requests() -> None:
    rests = ("a", "%e4%7c", "a%20b?x", "%25%3f%0a", "a?q=%e4", "x?")
    requests = {
        f"{where} {rest}": f"GET /{where}/{rest} HTTP/1.1\r\nHost: front.example\r\nConnection: close\r\n\r\n"
        for where in "rnehb"
        for rest in rests
    }
    with both(PASSED_ON, Documents({})) as servers:
        assert differences(servers, requests) == {}
