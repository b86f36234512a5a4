"""Responses that depend on a field only by the patterns of SetEnvIf and BrowserMatch: clients in the same
classes share an entry.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.support.cache_site import cached_entry, exchange, exchange_uncached
from tests.support.samples import amount
from tests.support.site import MTIME

from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.cache import index
from whimbrel.engine.deps import key_spec
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.testing.fake_runtime import FakeRuntime

# The lines of httpd's own configuration, and some more.
CONF = r"""
ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot "@/htdocs"
LogFormat "%h %>s %{first}e %{second}e %{third}e %{User-Agent}i" short
CustomLog logs/access_log short
BrowserMatch "Mozilla/2" nokeepalive
BrowserMatch "MSIE 4\.0b2;" nokeepalive downgrade-1.0 force-response-1.0
BrowserMatch "RealPlayer 4\.0" force-response-1.0
BrowserMatch "^gnome-vfs" redirect-carefully
SetEnvIf X-Kind "^a" first=yes
SetEnvIfNoCase X-Kind "b$" second=yes !first
SetEnvIf first yes third=yes
SetEnvIf X-None . third=none
SetEnvIf ^X-K "c" third=named
Header set X-First "%{first}e %{second}e %{third}e"
<Directory "@/htdocs/quoting">
    SetEnvIf X-Kind "b" second=folder
    SetEnvIf X-Kind "^(.)" third=$1
    SetEnvIf first "(.)" second=first
    SetEnvIf first "^y(.)" third=$1
</Directory>
<Directory "@/htdocs/asking">
    SetEnvIf User-Agent "x" third=x
    Header set X-Agent "expr=%{HTTP_USER_AGENT}"
</Directory>
"""
SIMPLE = CONF.replace('SetEnvIf ^X-K "c" third=named\n', "")  # the line reads all fields
AGENTS = (
    "",
    "Mozilla/2.0",
    "Mozilla/5.0 (X11)",
    "Mozilla/5.0 (Mac)",
    "MSIE 4.0b2;",
    "RealPlayer 4.0",
    "gnome-vfs/2",
    "curl/8",
    "curl/x",
)
KINDS = ("", "a", "ab", "AB", "b", "c", "abc", "z")
PATHS = ("/a.txt", "/quoting/a.txt", "/asking/a.txt", "/none", "/quoting")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("values")
    for name in ("htdocs/a.txt", "htdocs/quoting/a.txt", "htdocs/asking/a.txt", "conf/mime.types", "logs/x"):
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text("text/plain txt\n")
        os.utime(found / name, (MTIME, MTIME))
    return found


def engine(root: Path, dialect: Dialect = V24, conf: str = CONF) -> Engine:
    modules = "mime dir setenvif headers log_config " + (
        "mpm_event authz_core" if dialect is V24 else "authz_host"
    )
    loads = "".join(f"LoadModule {m}_module modules/mod_{m}.so\n" for m in modules.split())
    conf = (
        conf
        if dialect is V24
        else conf.replace(
            '    Header set X-Agent "expr=%{HTTP_USER_AGENT}"\n', "    SetEnvIf User-Agent (.*) third=$1\n"
        )
    )
    (root / "conf/httpd.conf").write_text(loads + conf.replace("@", str(root)))
    return Engine(load(LoadOptions(server_root=str(root)), ALL, dialect), FakeRuntime())


def head(path: str, agent: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {agent}\r\n\r\n".encode()


@pytest.mark.parametrize("dialect", [V24, V22])
@pytest.mark.parametrize("conf", [CONF, SIMPLE], ids=["all fields", "some fields"])
@pytest.mark.parametrize("seed", range(amount(1, 3)))
def test_each_value_gets_its_own_answer(root: Path, seed: int, conf: str, dialect: Dialect) -> None:
    chance = random.Random(seed)
    serving, other = engine(root, dialect, conf), engine(root, dialect, conf)
    for _ in range(200):
        path, agent, kind = chance.choice(PATHS), chance.choice(AGENTS), chance.choice(KINDS)
        fields = [*([f"User-Agent: {agent}"] if agent else []), *([f"X-Kind:  {kind} "] if kind else [])]
        fields += ["Connection: keep-alive"] if chance.random() < 0.5 else []
        chance.shuffle(fields)
        assert exchange(serving, path, fields) == exchange_uncached(other, path, fields), (path, fields)


@pytest.mark.parametrize("first", ["User-Agent: curl/8", ""])
def test_agents_that_nothing_is_looked_for_in_share(root: Path, first: str) -> None:
    serving, client = engine(root, conf=SIMPLE), Connection("127.0.0.9", 5000, "127.0.0.1", 8080)
    exchange(serving, "/a.txt", [first])
    exchange(serving, "/a.txt", ["User-Agent: Mozilla/5.0 (X11)"])
    assert cached_entry(serving, client, head("/a.txt", "Mozilla/5.0 (Mac)")) is not None
    assert cached_entry(serving, client, head("/a.txt", "Mozilla/2.0")) is None


def test_who_asks_for_the_value_shares_nothing(root: Path) -> None:
    serving, client = engine(root, conf=SIMPLE), Connection("127.0.0.9", 5000, "127.0.0.1", 8080)
    exchange(serving, "/asking/a.txt", ["User-Agent: curl/8"])
    assert cached_entry(serving, client, head("/asking/a.txt", "curl/8")) is not None
    assert cached_entry(serving, client, head("/asking/a.txt", "curl/9")) is None


def test_thousands_of_agents_share_what_is_kept(root: Path) -> None:
    serving = engine(root, conf=SIMPLE)
    for number in range(index.MAX_SEEN + 100):
        exchange(serving, "/a.txt", [f"User-Agent: Mozilla/5.0 ({number})"])
    book = serving.response_cache.index("127.0.0.1", 8080)
    assert len(book.by_key) < 3


def test_too_many_tests_make_an_answer_one_for_its_value(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_spec, "MAX_LISTS", 2)
    serving, client = engine(root, conf=SIMPLE), Connection("127.0.0.9", 5000, "127.0.0.1", 8080)
    exchange(serving, "/a.txt", ["User-Agent: curl/8"])
    assert cached_entry(serving, client, head("/a.txt", "curl/8")) is not None
    assert cached_entry(serving, client, head("/a.txt", "curl/9")) is None


REWRITING = r"""
ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot "@/htdocs"
LogFormat "%h %>s %{who}e %{Referer}i" short
CustomLog logs/access_log short
RewriteEngine On
RewriteCond %{HTTP_REFERER} !^$
RewriteCond %{HTTP_REFERER} !^http://own/ [NC]
RewriteRule ^/a.txt$ - [F]
RewriteCond %{HTTP_USER_AGENT} (bot|spider) [NC,OR]
RewriteCond %{HTTP:X-Kind} =z
RewriteRule ^/quoting/a.txt$ /a.txt
RewriteCond %{HTTP_USER_AGENT} (bot|spider) [NC]
RewriteRule ^/asking/a.txt$ - [E=who:%1]
RewriteCond %{HTTP_USER_AGENT} bot
RewriteCond %0x%{HTTP:X-Kind} ^botx(.)
RewriteRule ^/none$ /a.txt [E=who:%1]
RewriteCond %{HTTP:X-Kind} <b [NV]
RewriteRule ^/quoting$ /a.txt
RewriteRule ^ - [E=seen:%1]
Header set X-Who "%{who}e %{seen}e"
"""
REFERERS = ("", "http://own/1", "http://own/2", "HTTP://OWN/", "http://other/", "x")
VISITORS = ("", "Mozilla/5.0", "curl/8", "robot", "Googlebot/2", "a Spider")


@pytest.mark.parametrize("dialect", [V24, V22])
@pytest.mark.parametrize("seed", range(amount(1, 3)))
def test_conditions_of_rewriting(root: Path, seed: int, dialect: Dialect) -> None:
    chance = random.Random(seed)
    serving, other = (
        engine(root, dialect, "LoadModule rewrite_module modules/mod_rewrite.so\n" + REWRITING)
        for _ in range(2)
    )
    for _ in range(200):
        path, values = (
            chance.choice(PATHS),
            (chance.choice(REFERERS), chance.choice(VISITORS), chance.choice(KINDS)),
        )
        fields = [
            f"{name}: {value}"
            for name, value in zip(("Referer", "User-Agent", "X-Kind"), values, strict=True)
            if value
        ]
        assert exchange(serving, path, fields) == exchange_uncached(other, path, fields), (path, fields)


def test_pages_that_refer_to_a_file_share_it(root: Path) -> None:
    """The rules against foreign pages that show one's pictures."""
    serving = engine(root, conf="LoadModule rewrite_module modules/mod_rewrite.so\n" + REWRITING)
    client = Connection("127.0.0.9", 5000, "127.0.0.1", 8080)
    asked = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nReferer: http://%b/3\r\n\r\n"
    exchange(serving, "/a.txt", ["Referer: http://own/1"])
    assert cached_entry(serving, client, asked % b"own") is not None
    assert cached_entry(serving, client, asked % b"other") is None
