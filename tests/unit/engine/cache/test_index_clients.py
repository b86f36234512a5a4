"""Responses that depend on the client's address through address lists: clients of one part share an entry."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.support.cache_site import cached_entry, exchange, exchange_uncached
from tests.support.samples import amount
from tests.support.site import MTIME

from whimbrel.base.dialect import V24
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.cache import index
from whimbrel.engine.deps import key_spec
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.testing.fake_runtime import FakeRuntime

MODULES = (
    "mpm_event authn_core authz_core authz_host access_compat mime dir setenvif headers env rewrite "
    "log_config"
).split()
CONF = r"""
ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot "@/htdocs"
LogFormat "%h %a %>s %{high}e %{last}e %r" short
CustomLog logs/access_log short
<Directory "@">
    Require all granted
</Directory>
<Directory "@/htdocs/some">
    <RequireAll>
        Require ip 127.0.0.1 127.0.0.4/30 127.1
        Require not ip 127.0.0.6
    </RequireAll>
</Directory>
<Directory "@/htdocs/any">
    <RequireAny>
        Require ip 127.0.0.2
        Require local
        Require method HEAD
    </RequireAny>
</Directory>
<Directory "@/htdocs/old">
    AllowOverride None
    Order deny,allow
    Deny from 127.0.0.0/29
    Allow from 127.0.0.3
</Directory>
<Directory "@/htdocs/high">
    SetEnvIf Remote_Addr "^127\.0\.0\.[89]$" high
    Header set X-High yes env=high
</Directory>
<Directory "@/htdocs/quoted">
    SetEnvIf Remote_Addr "^127\.0\.0\.[89]$" high
    SetEnvIf Remote_Addr "^127\.0\.0\.(\d+)$" last=$1
    Header set X-Last %{last}e
</Directory>
<Directory "@/htdocs/tested">
    SetEnvIf Remote_Addr "^127\.0\.0\.(\d+)$" last
    SetEnvIfExpr "true" last=$1
    Header set X-Last %{last}e
</Directory>
RewriteEngine On
RewriteCond %{REMOTE_ADDR} !^127\.0\.0\.[1-3]$
RewriteRule ^/kept.txt$ /sorry.txt
RewriteCond %{REMOTE_ADDR} =127.0.0.5
RewriteRule ^/one.txt$ /sorry.txt
RewriteCond %{REMOTE_ADDR} ^127\.0\.0\.([2-5])$
RewriteRule ^/named.txt$ - [E=last:%1]
RewriteCond %{REMOTE_ADDR} ^127\.0\.0\.([2-5])$
RewriteCond %1 >3
RewriteRule ^/later.txt$ /sorry.txt
"""
FOLDERS = ("some", "any", "old", "high", "quoted", "tested")
FILES = ("sorry.txt", "kept.txt", "one.txt", "named.txt", "later.txt", *(f"{name}/a.txt" for name in FOLDERS))
# Whether only a part of all addresses matters, and clients of the same part.
SHARED = {
    "/some/a.txt": ("127.0.0.4", "127.0.0.5"),
    "/old/a.txt": ("127.0.0.8", "127.0.0.9"),
    "/high/a.txt": ("127.0.0.1", "127.0.0.2"),
    "/kept.txt": ("127.0.0.1", "127.0.0.3"),
    "/one.txt": ("127.0.0.1", "127.0.0.9"),
    "/any/a.txt": ("10.0.0.1", "10.0.0.2"),
    "/some/none": ("127.0.0.7", "127.0.0.1"),
    "/old/none": ("127.0.0.1", "127.0.0.2"),
}
OWN = ("/quoted/a.txt", "/tested/a.txt", "/named.txt", "/later.txt")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("parts")
    for name in FILES:
        path = found / "htdocs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"page {name}\n")
        os.utime(path, (MTIME, MTIME))
    (found / "conf").mkdir()
    (found / "logs").mkdir()
    (found / "conf/mime.types").write_text("text/plain txt\n")
    loads = "".join(f"LoadModule {m}_module modules/mod_{m}.so\n" for m in MODULES)
    (found / "conf/httpd.conf").write_text(loads + CONF.replace("@", str(found)))
    return found


def engine(root: Path, more: str = "") -> Engine:
    name = "conf/httpd.conf"
    if more:
        name = "conf/more.conf"
        (root / name).write_text((root / "conf/httpd.conf").read_text() + more)
    return Engine(load(LoadOptions(server_root=str(root), file=name), ALL, V24), FakeRuntime())


@pytest.mark.parametrize(
    "more", ["", "LoadModule remoteip_module modules/mod_remoteip.so\nRemoteIPHeader X-Client\n"]
)
@pytest.mark.parametrize("seed", range(amount(2, 4)))
def test_each_client_gets_its_own_answer(root: Path, seed: int, more: str) -> None:
    chance = random.Random(seed)
    serving, other = engine(root, more), engine(root, more)
    for _ in range(250):
        source, path = f"127.0.0.{chance.randrange(1, 10)}", chance.choice([*SHARED, *OWN])
        fields = [f"X-Client: 127.0.0.{chance.randrange(1, 10)}"] if chance.random() < 0.3 else []
        method = chance.choice(["GET", "GET", "GET", "HEAD"])
        assert exchange(serving, path, fields, source, method) == exchange_uncached(
            other, path, fields, source, method
        ), (
            path,
            source,
            fields,
        )


@pytest.mark.parametrize("path", SHARED)
def test_clients_of_one_part_share_an_answer(root: Path, path: str) -> None:
    serving, (first, second) = engine(root), SHARED[path]
    for _ in range(2):  # an error response is admitted on its second occurrence
        exchange(serving, path, [], first)
    assert (
        cached_entry(
            serving,
            Connection(second, 5000, "127.0.0.1", 8080),
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
        )
        is not None
    )


@pytest.mark.parametrize("path", OWN)
def test_who_is_quoted_shares_nothing(root: Path, path: str) -> None:
    serving = engine(root)
    exchange(serving, path, [], "127.0.0.4")
    for client, found in (("127.0.0.4", True), ("127.0.0.5", False)):
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        assert (cached_entry(serving, Connection(client, 5000, "127.0.0.1", 8080), head) is not None) is found


def test_thousands_of_clients_share_what_is_kept(root: Path) -> None:
    """A page for members of a network is generated once and evicts no other entry."""
    serving = engine(root)
    exchange(serving, "/kept.txt", [], "127.0.0.1")
    for number in range(index.MAX_SEEN + 100):
        exchange(serving, "/some/a.txt", [], f"127.1.{number // 250}.{number % 250}")
    book = serving.response_cache.index("127.0.0.1", 8080)
    assert len(book.by_key) < 5
    assert (
        cached_entry(
            serving,
            Connection("127.0.0.1", 5000, "127.0.0.1", 8080),
            b"GET /kept.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
        )
        is not None
    )


def test_too_many_lists_make_an_answer_one_for_its_client(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_spec, "MAX_LISTS", 1)
    serving, other = engine(root), engine(root)
    for number in range(1, 10):
        source = f"127.0.0.{number}"
        assert exchange(serving, "/some/a.txt", [], source) == exchange_uncached(
            other, "/some/a.txt", [], source
        )
    head = b"GET /some/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert cached_entry(serving, Connection("127.0.0.5", 5000, "127.0.0.1", 8080), head) is not None
    assert cached_entry(serving, Connection("127.0.0.77", 5000, "127.0.0.1", 8080), head) is None
