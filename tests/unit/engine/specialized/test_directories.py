"""Answers for names in known directories, beside those of an engine that takes the general path for all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine import start_engine
from tests.support.worker import WorkerHarness

from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.engine.engine import Engine

NOW = 1_790_000_000.5
CONFIGURATION = """LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authn_core_module modules/mod_authn_core.so
LoadModule authn_file_module modules/mod_authn_file.so
LoadModule auth_basic_module modules/mod_auth_basic.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_user_module modules/mod_authz_user.so
LoadModule alias_module modules/mod_alias.so
LoadModule mime_module modules/mod_mime.so
LoadModule dir_module modules/mod_dir.so
LoadModule rewrite_module modules/mod_rewrite.so
LoadModule setenvif_module modules/mod_setenvif.so
LoadModule log_config_module modules/mod_log_config.so
ErrorLog error_log
ServerName localhost
DocumentRoot "{root}/htdocs"
TypesConfig "{root}/mime.types"
LogFormat "%h %u %t \\"%r\\" %>s %b \\"%{{Referer}}i\\"" usual
CustomLog access_log usual
<Directory "{root}/htdocs">
    Require all granted
    AllowOverride All
</Directory>
<Directory "{root}/htdocs/closed">
    Require all denied
</Directory>
<Directory "{root}/htdocs/sealed">
    AuthType Basic
    AuthName x
    AuthUserFile "{root}/passwd"
    Require valid-user
</Directory>
<Files "secret*">
    Require all denied
</Files>
<Location "/place">
    Redirect /place http://example.org/
</Location>
Alias "/other" "{root}/else"
RedirectMatch "^/old.*gone$" http://example.org/
{more}
"""
FOR_22 = (
    ("LoadModule mpm_event_module modules/mod_mpm_event.so\n", ""),
    ("LoadModule authn_core_module modules/mod_authn_core.so\n", ""),
    ("mod_authz_core.so", "mod_authz_host.so"),
    ("authz_core_module", "authz_host_module"),
    ("Require all granted", "Order deny,allow"),
    ("Require all denied", "Order allow,deny"),
)
MORE = {
    "": "",
    "rewrite": "RewriteEngine On\nRewriteRule ^/alpha-7$ /f1.txt",
    "uri variable": "SetEnvIf Request_URI alpha-7 alpha=1\nErrorDocument 404 %{reqenv:alpha}",
    "path in log": "CustomLog path_log %U",
    "debug": "LogLevel info",
}


class Site:
    """Two workers for one document root; the second one takes the general path always."""

    def __init__(self, root: Path, more: str = "", dialect: Dialect = V24) -> None:
        self.root = root
        docs = root / "htdocs"
        for name in ("closed", "sealed", "sub"):
            (docs / name).mkdir(parents=True)
        for number in range(9):
            for place in (docs, docs / "sub", docs / "closed", docs / "sealed"):
                (place / f"f{number}.txt").write_text("x" * (number + 1))
                (place / f"f{number}.html").write_text("<p>" * (number + 1))
        (docs / "secret.txt").write_text("s")
        (docs / "empty.txt").write_text("")
        (docs / "large.txt").write_text("l" * 70_000)
        (docs / "link.txt").symlink_to(docs / "f1.txt")
        for path in docs.rglob("*"):
            if not path.is_symlink():
                os.utime(path, (1_600_000_000, 1_600_000_000))
        (root / "passwd").write_text("bench:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n")
        os.utime(root / "passwd", (1_600_000_000, 1_600_000_000))
        (root / "mime.types").write_text("text/plain txt\ntext/html html\n")
        (root / "conf").mkdir()
        conf = CONFIGURATION.format(root=root, more=more)
        for old, new in FOR_22 if dialect is V22 else ():
            conf = conf.replace(old, new)
        (root / "conf/httpd.conf").write_text(conf)
        self.workers = [WorkerHarness(start_engine(root, dialect=dialect)) for _ in range(2)]
        for worker in self.workers:
            worker.engine.runtime.now = lambda: NOW  # type: ignore[method-assign]
        self.workers[1].engine.is_general_only = True
        self.connections = [
            worker.connect(("192.0.2.7", 4000), ("127.0.0.1", 8080)) for worker in self.workers
        ]

    def connect(self) -> None:
        """Open a connection to each worker."""
        self.connections = [
            worker.connect(("192.0.2.7", 4000), ("127.0.0.1", 8080)) for worker in self.workers
        ]

    def ask(self, path: str, *fields: str, method: str = "GET") -> bool:
        """Compare the responses to a request; return True if the first worker ran no phases."""
        lines = "".join(f"{field}\r\n" for field in fields)
        data = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode("latin-1")
        found, phases = [], []
        for worker, connection in zip(self.workers, self.connections, strict=True):
            phases.append(0)
            respond = Engine.respond

            def counted(engine: Engine, *given: Any, before: Any = respond) -> Any:
                phases[-1] += 1
                return before(engine, *given)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Engine, "respond", counted)
                found.append(worker.exchange(connection, data))
            worker.loop.tick()
        assert found[0] == found[1], (path, found)
        assert phases[1] == 1
        return phases[0] == 0


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("whimbrel.server.worker.state", "whimbrel.server.worker.accounting"):
        monkeypatch.setattr(sys.modules[module], "time", lambda: NOW)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def specialized(site: Site, paths: list[str], *fields: str, method: str = "GET") -> int:
    """Return for how many paths the first worker needed no phases; each response is compared."""
    return sum([site.ask(path, *fields, method=method) for path in paths])


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("where", ["/", "/sub/", "/missing/", "/closed/", "/sealed/"])
def test_missing_names_of_a_directory_have_one_answer(site: Site, where: str, method: str) -> None:
    assert specialized(site, [f"{where}alpha-{n}" for n in range(9)], method=method) >= 7
    assert specialized(site, [f"{where}beta-{n}?q={n}" for n in range(9)], method=method) >= 8


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_files_of_a_directory_are_answered_by_their_type(site: Site, method: str) -> None:
    assert specialized(site, [f"/f{n}.txt" for n in range(9)], method=method) == 8
    assert specialized(site, [f"/f{n}.html" for n in range(9)], method=method) == 8


def test_refused_files_are_logged_by_their_names(site: Site) -> None:
    assert specialized(site, [f"/closed/f{n}.txt" for n in range(9)]) >= 7


@pytest.mark.parametrize("dialect", [V22, V24], ids=["2.2", "2.4"])
def test_users_with_a_verified_password(tmp_path: Path, dialect: Dialect) -> None:
    site = Site(tmp_path, dialect=dialect)
    user = "Authorization: Basic YmVuY2g6Y3VybGV3"
    assert specialized(site, [f"/sealed/f{n}.txt" for n in range(9)], user) >= 7
    assert specialized(site, [f"/sealed/alpha-{n}" for n in range(9)], user) >= 7
    specialized(site, [f"/sealed/f{n}.txt" for n in range(9)], user.replace("Y3", "Y4"))


@pytest.mark.parametrize(
    "path",
    [
        "/secret.txt",
        "/secrets",
        "/place",
        "/place/alpha",
        "/other",
        "/other/alpha",
        "/old-and-gone",
        "/empty.txt",
        "/link.txt",
        "/sub",
        "/sub/",
        "/",
        "/.hidden",
        "/a%20b",
        "/alpha//beta",
        "/alpha/../beta",
        "/alpha%2fbeta",
        "/" + "n" * 300,
        "/f1.txt/more",
        "*",
    ],
)
def test_special_paths_take_the_general_path(site: Site, path: str) -> None:
    specialized(site, [f"/alpha-{n}" for n in range(4)])
    specialized(site, [f"/f{n}.txt" for n in range(4)])
    assert not site.ask(path)


@pytest.mark.parametrize(
    "field",
    ["Range: bytes=0-1", "Connection: close", "Content-Length: 0", "Expect: x"]
    + ["Upgrade: h2c", "If-None-Match: *", "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT"],
)
def test_a_field_that_decides_is_part_of_the_question(site: Site, field: str) -> None:
    specialized(site, [f"/f{n}.txt" for n in range(4)])
    assert not site.ask("/f5.txt", field)


@pytest.mark.parametrize("more", MORE)
def test_what_reads_the_path_makes_names_differ(tmp_path: Path, more: str) -> None:
    site = Site(tmp_path, MORE[more])
    count = specialized(site, [f"/alpha-{n}" for n in range(9)])
    assert (count >= 6) is (more in ("", "debug"))


def test_changes_on_disk_are_seen(site: Site) -> None:
    docs = site.root / "htdocs"
    assert specialized(site, [f"/alpha-{n}" for n in range(4)]) >= 2
    (docs / "alpha-5").write_text("now here")
    assert not site.ask("/alpha-5")
    (docs / "alpha-5").unlink()
    site.ask("/alpha-5")
    (docs / ".htaccess").write_text("Require all denied\n")
    assert not site.ask("/alpha-6")
    specialized(site, [f"/gamma-{n}" for n in range(4)])
    (docs / ".htaccess").unlink()
    specialized(site, [f"/delta-{n}" for n in range(4)])
    (docs / "sub").rename(docs / "moved")
    specialized(site, ["/sub/f1.txt", "/sub/f2.txt", "/moved/f1.txt"])


def test_what_is_learned_is_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.engine.specialized.budget.MAX_LEARNED_BYTES", 100_000)
    answers = site.workers[0].engine.response_cache
    for number in range(60):
        site.connect()
        specialized(site, [f"/alpha-{n}-{number}" for n in range(3)], f"Connection: x{number}")
        functions = [
            function
            for index in answers.indexes()
            for known in index.specialized._directories.values()
            for function in known.functions.values()
        ]
        assert len(functions) <= 20
    assert answers.learned.bytes <= 100_000


def test_unknown_names_leave_nothing_behind(site: Site) -> None:
    specialized(site, [f"/alpha-{n}" for n in range(4)])
    index = next(iter(site.workers[0].engine.response_cache.indexes()))
    before = len(index.by_key), len(index.by_head), len(index._lines)
    specialized(site, [f"/beta-{n}" for n in range(50)])
    assert (len(index.by_key), len(index.by_head), len(index._lines)) == before


CONDITIONS = [
    'If-None-Match: "3-5af3107a40000"',
    'If-None-Match: W/"3-5af3107a40000", "x"',
    'If-Match: "1-5af3107a40000"',
    "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT",
    "If-Unmodified-Since: Sun, 13 Sep 2020 12:26:40 GMT",
    "Range: bytes=0-3,2-5",  # ignored where it asks for more than there is (RFC 9110, 14.2)
]


@pytest.mark.parametrize("field", CONDITIONS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_conditions_are_evaluated_for_each_file(site: Site, method: str, field: str) -> None:
    for number in (0, 4):
        os.utime(site.root / f"htdocs/f{number}.txt", (1_700_000_000, 1_700_000_000))
    specialized(site, [f"/f{n}.txt" for n in (0, 1, 2, 3, 4, 5, 6)], field, method=method)
    specialized(site, [f"/f{n}.txt" for n in (1, 0, 2, 6)], field, method=method)
    assert specialized(site, [f"/gone-{n}" for n in range(4)], field, method=method) == 3


EXPRESSIONS = {
    "text": 'ErrorDocument 404 "%{md5:%{REQUEST_URI}}"',
    "place": "ErrorDocument 404 http://x.test/%{md5:%{REQUEST_FILENAME}}",
    "realm": """<Location "/">
        AuthType Basic
        AuthName "%{toupper:%{REQUEST_URI}}"
        Require valid-user
    </Location>""",
    "type": """<Location "/">
        AuthType "%{toupper:%{PATH_INFO}}"
        AuthName x
        Require valid-user
    </Location>""",
}


@pytest.mark.parametrize("more", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions_that_read_the_path_are_evaluated_for_each_name(tmp_path: Path, more: str) -> None:
    site = Site(tmp_path, more)
    for number in range(4):
        site.connect()  # a status 500 ends the connection
        assert not site.ask(f"/alpha-{number}/b{number}")
    for number in range(4):
        site.connect()
        site.ask(f"/f{number}.txt")


SERVER_PATH = """<VirtualHost *:8080>
    ServerName first
    DocumentRoot "{root}/htdocs/sub"
</VirtualHost>
<VirtualHost *:8080>
    ServerName second
    ServerPath /alpha
    DocumentRoot "{root}/htdocs"
</VirtualHost>
"""


@pytest.mark.parametrize("name", ["", "Host: second\r\n"])
def test_server_path_is_a_special_name(tmp_path: Path, name: str) -> None:
    site = Site(tmp_path, SERVER_PATH.format(root=tmp_path))
    for path in ("beta", "gamma", "alpha", "alpha/", "alpha/f2.txt", "delta", "alpha/delta"):
        data = f"GET /{path} HTTP/1.0\r\nConnection: keep-alive\r\n{name}\r\n".encode()
        found = []
        for worker, connection in zip(site.workers, site.connections, strict=True):
            found.append(worker.exchange(connection, data))
            worker.loop.tick()
        assert found[0] == found[1], (path, found)


def test_memory_of_long_heads_is_bounded(site: Site) -> None:
    cache = site.workers[0].engine.response_cache
    for number in range(20):
        fields = [f"X-{n}: {'a' * 7900}" for n in range(40)]
        data = "".join(f"{field}\r\n" for field in [f"Host: h{number}", *fields]).encode()
        for path in (b"/gone", b"/f1.txt"):
            site.workers[0].exchange(site.connections[0], b"GET %b HTTP/1.1\r\n%b\r\n" % (path, data))
            site.workers[0].loop.tick()
    assert cache.learned.entries == 0


def test_answers_are_counted_with_their_heads(site: Site) -> None:
    cache = site.workers[0].engine.response_cache
    for number in range(4):
        host = f"Host: h{number}\r\nX: {'a' * 5000}\r\n".encode()
        for path in (b"gone", b"f1.txt", b"f2.txt"):
            site.workers[0].exchange(site.connections[0], b"GET /%b HTTP/1.1\r\n%b\r\n" % (path, host))
            site.workers[0].loop.tick()
    assert cache.learned.entries == 8 and cache.learned.bytes > 8 * 10_000
    assert cache.by_key.bytes > 8 * 5000


@pytest.mark.parametrize("mapping", ["", "mapping=encoded", "mapping=servlet"])
def test_proxied_paths_are_special_names(tmp_path: Path, mapping: str) -> None:
    proxy = "LoadModule proxy_module modules/mod_proxy.so\n"
    site = Site(tmp_path, f"{proxy}ProxyPass /app http://127.0.0.1:9/ {mapping}")
    assert specialized(site, [f"/alpha-{n}" for n in range(9)]) >= 7
    for path in ("/app", "/app/x", "/app/x/y"):
        site.connect()  # no module serves the scheme: 500 ends the connection
        assert not site.ask(path)


# pages that name the path: those of 2.2
@pytest.mark.parametrize("where", ["/", "/sub/", "/missing/", "/closed/"])
def test_pages_that_name_the_path_have_one_template(tmp_path: Path, where: str) -> None:
    site = Site(tmp_path, dialect=V22)
    assert specialized(site, [f"{where}alpha-{n}" for n in range(9)]) >= 7
    assert specialized(site, [f"{where}beta/x/{n}.html?q={n}" for n in range(9)]) >= 6
    specialized(site, [f"{where}alpha-{n}" for n in range(9)], method="HEAD")


def test_refused_files_are_named_in_pages(tmp_path: Path) -> None:
    site = Site(tmp_path, dialect=V22)
    assert specialized(site, [f"/closed/f{n}.txt" for n in range(9)]) >= 7


@pytest.mark.parametrize("dialect", [V22, V24], ids=["2.2", "2.4"])
@pytest.mark.parametrize(
    "first",
    [
        "/html",
        "/head",
        "/was",
        "/not",
        "/requested",
        "/EN",
        "/IETF",
        "/p",
        "/Found",
        "/W3C",
        "/TR/html4",
        "/URL",
    ],
)
def test_words_of_pages_as_names(tmp_path: Path, first: str, dialect: Dialect) -> None:
    site = Site(tmp_path, dialect=dialect)
    assert not site.ask(first)
    specialized(site, [f"/alpha-{n}" for n in range(4)])
    specialized(site, [first, f"{first}/x", "/other-name", "/a.b", "/head", "/x"])


@pytest.mark.parametrize("path", ["/a%20b", "/a&b", "/a'b", "/a//b", "/a/../b", "/a;b", "/a+b", "/a~b"])
def test_paths_that_pages_escape_take_the_general_path(tmp_path: Path, path: str) -> None:
    site = Site(tmp_path, dialect=V22)
    specialized(site, [f"/alpha-{n}" for n in range(4)])
    assert not site.ask(path)


@pytest.mark.parametrize(
    "more",
    [
        "ErrorDocument 404 /sub/f1.html",
        'ErrorDocument 404 "see /alpha-1 or /sub"',
        "ErrorDocument 404 default",
    ],
)
def test_error_documents_beside_pages_with_the_path(tmp_path: Path, more: str) -> None:
    site = Site(tmp_path, more, V22)
    specialized(site, [f"/alpha-{n}" for n in (1, 1, 2, 3)])
    specialized(site, ["/sub", "/sub/alpha-1", "/see"])
    assert site.ask("/alpha-1")
