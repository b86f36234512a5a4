"""Answers of the Python API in process, beside those of apache2 on a socket."""

from __future__ import annotations

import http.client
import os
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.differential.servers import APACHE, MODULE_DIR, ProgramProcess
from whimbrel.api import Answer, Request, Site, load
from whimbrel.testing.ports import free_port

MODULES = (
    "mpm_event authn_core authn_file authz_core authz_host authz_user auth_basic access_compat alias dir env"
    " expires headers mime negotiation rewrite setenvif autoindex include filter deflate actions"
    " authz_groupfile"
).split()
CONF = """ServerRoot "{root}"
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {root}/pid
ErrorLog {root}/error_log
TypesConfig {root}/mime.types
DocumentRoot "{root}/htdocs"
<Directory />
    AllowOverride None
    Options FollowSymLinks
</Directory>
<Directory "{root}/htdocs">
    AllowOverride All
    Require all granted
</Directory>
Redirect 303 /see /page.html
RedirectMatch gone ^/gone/
Alias /pages {root}/htdocs
<Location /near>
    Require ip 127.0.0.7
</Location>
<Location /members>
    AuthType Basic
    AuthName members
    AuthUserFile "{root}/users"
    Require valid-user
</Location>
<Location /headers>
    Header always set X-Answer "%{{REQUEST_METHOD}}e here"
    ErrorDocument 404 "nothing here"
</Location>
"""
SHOP = """RewriteEngine On
RewriteRule ^old/(.*)$ new/$1 [R=301,L]
RewriteRule ^item-(\\d+)$ /shop/view.html?id=$1 [R,L]
RewriteRule ^closed - [F]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_URI} ^/shop/any
RewriteRule ^ view.html [L]
<Files secret.html>
    Require all denied
</Files>
AddType text/x-note .note
DirectoryIndex view.html
Redirect /shop/moved http://other.example/
"""
PATHS = (
    *(
        "/",
        "/page.html",
        "/none",
        "/see",
        "/see/x",
        "/gone/x",
        "/pages/page.html",
        "/pages",
        "/near",
        "/shop",
    ),
    *("/members/", "/headers/x", "/shop/", "/shop/old/a%20b", "/shop/item-7", "/shop/item-x", "/shop/closed"),
    *("/shop/any/x", "/shop/secret.html", "/shop/a.note", "/shop/moved/x?y=1", "/%2e%2e/x", "/page.html/x"),
    "/page.html?a=%3f",
)


class Pair(NamedTuple):
    """A running apache2, and the API's site of its configuration."""

    port: int
    site: Site
    shop: Site


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    if not APACHE.present:
        pytest.skip("apache2 is not installed")
    with tempfile.TemporaryDirectory(prefix="whimbrel-api-") as directory:
        root = Path(directory)
        root.chmod(0o755)
        (root / "htdocs/shop").mkdir(parents=True)
        for name in ("page.html", "shop/view.html", "shop/secret.html", "shop/a.note"):
            (root / "htdocs" / name).write_text(f"{name}\n")
            os.utime(root / "htdocs" / name, (1_600_000_000,) * 2)  # a file of this second has a weak ETag
        (root / "htdocs/shop/.htaccess").write_text(SHOP)
        (root / "mime.types").write_text("text/html html\n")
        # {SHA} of "secret", as htpasswd -s writes it
        (root / "users").write_text("robin:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n")
        conf, port = root / "httpd.conf", free_port()
        loads = "".join(f"LoadModule {name}_module {MODULE_DIR}/mod_{name}.so\n" for name in MODULES)
        conf.write_text(loads + "User www-data\nGroup www-data\n" + CONF.format(root=root, port=port))
        with ProgramProcess(APACHE, root, conf, root, port) as process:
            assert process.started, process.output
            yield Pair(port, load(conf), load(root / "htdocs/shop/.htaccess", at="/shop/"))


def of_httpd(port: int, request: Request) -> Answer:
    """Return the answer of apache2 to *request*."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(request.client, 0))
    fields = {"Host": f"localhost:{port}", **request.headers}
    if request.user:
        credentials = f"{request.user}:{request.password}".encode()
        fields["Authorization"] = f"Basic {b64encode(credentials).decode()}"
    connection.request(request.method, request.url, headers=fields)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return Answer(response.status, tuple(response.getheaders()), body, response.getheader("Location") or "")


def comparable(answer: Answer) -> tuple[object, ...]:
    """Return what both must agree on; the pages of errors name the version of the server."""
    has_page = (answer.status or 0) >= 300
    methods = sorted((answer.header("Allow") or "").split(","))
    names = ("Content-Type", "WWW-Authenticate", "X-Answer", "ETag", "Content-Range")
    body = b"" if has_page else answer.body
    return answer.status, answer.location, body, methods, *map(answer.header, names)


def in_process(pair: Pair, request: Request) -> tuple[object, ...]:
    """Return what the API answers to *request* with the Host field that apache2 gets."""
    return comparable(pair.site.answer(replace(request, host=f"localhost:{pair.port}")))


def live(pair: Pair, request: Request) -> tuple[object, ...]:
    """Return what apache2 answers."""
    return comparable(of_httpd(pair.port, request))


@pytest.mark.parametrize("path", PATHS)
def test_paths(pair: Pair, path: str) -> None:
    request = Request(path, client="127.0.0.1")
    assert in_process(pair, request) == live(pair, request)


@pytest.mark.parametrize("client", ["127.0.0.1", "127.0.0.7"])
@pytest.mark.parametrize("password", ["secret", "guess", ""])
def test_clients_and_users(pair: Pair, client: str, password: str) -> None:
    request = Request("/near", client=client)
    assert in_process(pair, request) == live(pair, request)
    request = Request("/members/x", client=client, user="robin", password=password)
    assert in_process(pair, request) == live(pair, request)
    request = Request("/members/x", client=client, user="dunlin", password=password)
    assert in_process(pair, request) == live(pair, request)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "POST", "PUT", "DELETE", "BOGUS"])
def test_methods(pair: Pair, method: str) -> None:
    for path in ("/page.html", "/see", "/near", "/none", "/headers/x"):
        request = Request(path, method, client="127.0.0.1")
        assert in_process(pair, request) == live(pair, request)


@pytest.mark.parametrize(
    "headers",
    [
        {"Range": "bytes=2-4"},
        {"Range": "bytes=99-"},
        {"If-Match": '"x"'},
        {"Accept": "text/x"},
        {"Expect": "x"},
    ],
)
def test_header_fields(pair: Pair, headers: dict[str, str]) -> None:
    request = Request("/page.html", client="127.0.0.1", headers=headers)
    assert in_process(pair, request) == live(pair, request)


@pytest.mark.parametrize("path", [path for path in PATHS if path.startswith("/shop/")])
def test_a_htaccess_file_without_its_server(pair: Pair, path: str) -> None:
    """The server around it has another port."""
    expected = of_httpd(pair.port, Request(path, client="127.0.0.1"))
    found = pair.shop.get(path)
    location = expected.location.replace(f":{pair.port}", "")
    assert (found.status, found.location) == (expected.status, location)
    if expected.status == 200:
        assert (found.body, found.header("Content-Type")) == (expected.body, expected.header("Content-Type"))
