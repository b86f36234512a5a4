"""Hosts that are equal but for names, directories and networks share their probes; others do not."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from whimbrel.config.options import LoadOptions
from whimbrel.verify.config_lines import ConfigLine, LineScope, SideLines
from whimbrel.verify.coverage.behind_redirects import without_redirects
from whimbrel.verify.derive import equal_hosts as module
from whimbrel.verify.derive.probes import ProbeSource
from whimbrel.verify.side import Side

HOSTS = 5
"""The first one is the default of its address, and never equal to others."""
OLD_HOST = """<VirtualHost *:8080>
ServerName h{n}.test
DocumentRoot {root}/sites/h{n}/htdocs
ErrorLog logs/h{n}.log
<Directory {root}/sites/h{n}/htdocs/in>
Order deny,allow
Deny from all
Allow from 10.0.{n}.0/24
</Directory>
{old}
</VirtualHost>
"""
NEW_HOST = """<VirtualHost *:8080>
ServerName h{n}.test
DocumentRoot {root}/sites/h{n}/htdocs
ErrorLog logs/h{n}.log
<Directory {root}/sites/h{n}/htdocs/in>
Require ip 10.0.{n}.0/24
</Directory>
{new}
</VirtualHost>
"""
MODULES = ("authz_host", "alias", "dir", "rewrite")


def source(
    root: Path, old: str = "", new: str = "", shared: str = "", only: int = 2, others: str = ""
) -> ProbeSource:
    """HOSTS hosts; the host with the number *only* has the lines *old* and *new* as well, others *others*."""
    (root / "logs").mkdir()
    (root / "htdocs").mkdir()
    sides = []
    for name, dialect, template in (("old", "2.2", OLD_HOST), ("new", "2.4", NEW_HOST)):
        modules = (*MODULES, *(("authz_core", "authn_core", "mpm_event") if name == "new" else ()))
        lines = [f"LoadModule {module}_module modules/mod_{module}.so" for module in modules]
        lines += ["Listen 127.0.0.1:8080", "ServerName localhost", f"DocumentRoot {root}/htdocs"]
        lines += ["NameVirtualHost *:8080"] if name == "old" else []
        lines.append(shared.format(root=root))
        for n in range(HOSTS):
            mine = n == only
            lines.append(
                template.format(n=n, root=root, old=old if mine else "", new=new if mine else others).replace(
                    "@ROOT@", str(root)
                )
            )
        file = root / f"{name}.conf"
        file.write_text("\n".join(lines) + "\n")
        side = Side.load(LoadOptions(server_root=str(root), file=str(file)), dialect, name=name)
        assert side.is_loaded, side.errors
        sides.append(SideLines(side))
    return ProbeSource((sides[0], sides[1]))


def test_equal_hosts_share(tmp_path: Path) -> None:
    probes = source(tmp_path)
    assert probes.group_equal_hosts() == HOSTS - 2
    probes_by_host = Counter(probe.host.partition(":")[0] for probe in probes.probes())
    assert [probes_by_host[f"h{n}.test"] > 1 for n in range(HOSTS)] == [True, True, False, False, False]
    assert all(probes_by_host[f"h{n}.test"] == 1 for n in range(2, HOSTS))


def test_realms_that_name_the_host_and_shared_networks_leave_hosts_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """127.0.0.1 stays as it is written, beside a network of each host."""
    realm = '<Location /x>\nAuthName "h{n}"\n</Location>\n</VirtualHost>'
    for name in ("OLD_HOST", "NEW_HOST"):
        text = globals()[name].replace(".0/24", ".0/24 127.0.0.1").replace("</VirtualHost>", realm)
        monkeypatch.setitem(globals(), name, text)
    probes = source(tmp_path)
    assert probes.group_equal_hosts() == HOSTS - 2
    followers = [lines.hosts for lines in probes.sides]
    names = [
        {
            line.args
            for scope in hosts.values()
            if id(scope) in probes.without_requests()
            for line in scope.lines
            if line.name == "servername"
        }
        for hosts in followers
    ]
    assert names == [{"h2.test", "h3.test", "h4.test"}] * 2


def test_equal_hosts_beyond_the_bound_are_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.verify.derive.probes.MAX_FOLLOWERS", 2)
    probes = source(tmp_path)
    assert probes.group_equal_hosts() == HOSTS - 2 == 3
    assert probes.skipped == 1
    assert len({probe.host for probe in probes.probes()} & {f"h{n}.test:8080" for n in range(2, HOSTS)}) == 2


def test_a_container_that_ends_elsewhere_is_another_host(tmp_path: Path) -> None:
    """`Require env b` of one host is in the container, and of the others behind it."""
    within = "<Location /z>\n<RequireAny>\nRequire env a\nRequire env b\n</RequireAny>\n</Location>"
    behind = "<Location /z>\n<RequireAny>\nRequire env a\n</RequireAny>\nRequire env b\n</Location>"
    assert source(tmp_path, new=within, others=behind).group_equal_hosts() == HOSTS - 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Redirect /x /y", "Redirect /x /y"),
        ("", "Redirect /x /y"),
        ("", "<Location /z>\nRequire ip 10.0.0.0/8\n</Location>"),
        ("ServerAlias other.test", "ServerAlias other.test"),
        ("", "DocumentRoot @ROOT@/sites/h0/htdocs"),
        (
            "<Location /z>\nAllow from 127.0.0.1\n</Location>",
            "<Location /z>\nRequire ip 127.0.0.2\n</Location>",
        ),
        (
            "<Location /z>\nAllow from 10.7.0.0/16\n</Location>",
            "<Location /z>\nRequire ip 10.8.0.0/16\n</Location>",
        ),
    ],
)
def test_other_lines_do_not_share(tmp_path: Path, old: str, new: str) -> None:
    assert source(tmp_path, old, new).group_equal_hosts() == HOSTS - 3


@pytest.mark.parametrize(
    ("shared", "sharing"),
    [
        ("<Directory {root}/sites/h2>\nOptions None\n</Directory>", HOSTS - 3),
        ("<Directory {root}/sites/h2/htdocs/deep>\nOptions None\n</Directory>", HOSTS - 3),
        ("<Directory {root}/sites>\nOptions None\n</Directory>", HOSTS - 2),
        ('<DirectoryMatch "/h[23]/">\nOptions None\n</DirectoryMatch>', HOSTS - 3),
        ('<DirectoryMatch "/\\.git">\nOptions None\n</DirectoryMatch>', HOSTS - 2),
        ("<Directory {root}/sites/*2>\nOptions None\n</Directory>", HOSTS - 3),
        ("RewriteEngine On\nRewriteCond %{{HTTP_HOST}} h2\nRewriteRule ^ /x", 0),
        ("RewriteEngine On\nRewriteCond %{{REQUEST_FILENAME}} h2\nRewriteRule ^ /x", 0),
        ("RewriteEngine On\nRewriteCond %{{DOCUMENT_ROOT}} h2\nRewriteRule ^ /x", 0),
        ("RewriteEngine On\nRewriteCond %{{REQUEST_FILENAME}} !-f\nRewriteRule ^ /x", HOSTS - 2),
        ("<Directory {root}/sites>\nRewriteEngine On\nRewriteRule ^h2/ /x\n</Directory>", 0),
        ("<Location /q>\nOrder deny,allow\nDeny from 10.0.2.0/24\n</Location>", HOSTS - 3),
    ],
)
def test_shared_sections_tell_hosts_apart(tmp_path: Path, shared: str, sharing: int) -> None:
    if "Deny from" in shared:
        shared = f"<IfModule !mod_authz_core.c>\n{shared}\n</IfModule>"
    assert source(tmp_path, shared=shared).group_equal_hosts() == sharing


def test_files_tell_hosts_apart(tmp_path: Path) -> None:
    for n in range(HOSTS):
        (tmp_path / f"sites/h{n}/htdocs").mkdir(parents=True)
        (tmp_path / f"sites/h{n}/htdocs/a.html").write_text(str(n))
    (tmp_path / "sites/h2/htdocs/.htaccess").write_text("Options None\n")
    (tmp_path / "sites/h3/htdocs/b.php").write_text("")
    assert source(tmp_path).group_equal_hosts() == HOSTS - 4


@pytest.mark.parametrize(
    ("args", "networks"),
    [
        ("from 10", ["10.0.0.0/8"]),
        ("from 10.1", ["10.1.0.0/16"]),
        ("from 10.1.2", ["10.1.2.0/24"]),
        ("from 10.1.2.3", ["10.1.2.3/32"]),
        ("from 10.1.2.3/16", ["10.1.0.0/16"]),
        ("from 10.1.0.0/255.255.0.0", ["10.1.0.0/16"]),
        ("ip 10.1 192.168.7.0/24", ["10.1.0.0/16", "192.168.7.0/24"]),
        ("from 999.1.2.3", []),
        ("from all", []),
    ],
)
@pytest.mark.parametrize("name", ["allow", "deny", "require"])
def test_networks_of_access_lines(name: str, args: str, networks: list[str]) -> None:
    """Parts of addresses stand for networks (mod_authz_host.html)."""
    scope = LineScope("directory", "/a", "", 1)
    scope.lines.append(ConfigLine(name, args, "", 2, scope))
    assert [str(network) for _text, network in module._networks([scope])] == networks


@pytest.mark.parametrize(
    ("pattern", "first", "second", "is_equal"),
    [
        ("^/srv/[a-z]+/", "/srv/a/", "/srv/b/", True),
        ("^/srv/a/", "/srv/a/", "/srv/b/", False),
        ("/a$", "/srv/a/", "/srv/b/", False),
        ("/$", "/srv/a/", "/srv/b/", True),
        ("[", "/srv/a/", "/srv/b/", False),
        ("[", "/srv/a/", "/srv/a/", True),
    ],
)
def test_patterns_of_directories(pattern: str, first: str, second: str, is_equal: bool) -> None:
    fits = module._fits_regex
    assert (fits(pattern, first) == fits(pattern, second)) is is_equal


@pytest.mark.parametrize(
    ("pattern", "top", "is_met"),
    [("/srv/*/www", "/srv/a/", True), ("/srv/b*", "/srv/a/", False), ("/srv/?/x", "/srv/a/", True)],
)
def test_wildcards_of_directories(pattern: str, top: str, is_met: bool) -> None:
    assert module._fits_wildcards(pattern, top) is is_met


def test_words_are_replaced_as_a_regex_of_all_words_replaces_them() -> None:
    """The direct path: a pattern of all words, the longest first."""
    numbers = random.Random(7)
    pieces = ["h1.test", "h1", "/sites/h1", "10.0.1.0/24", "10.0.1.0", "-", "_", "x", " ", ".", "\xe9", "\\."]
    for _ in range(3000):
        replaced = module._Replaced("", "")
        words = {"".join(numbers.choices(pieces, k=numbers.randrange(1, 4))) for _ in range(4)}
        replaced._words = {word: f"@{number}" for number, word in enumerate(sorted(words))}
        text = "".join(numbers.choices([*pieces, *words], k=numbers.randrange(12)))
        choices = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
        parts = re.split(rf"(?<![\w-])({choices})(?![\w-])", text)
        assert replaced(text) == "".join(
            replaced._words[part] if number % 2 else part for number, part in enumerate(parts)
        )


def test_what_names_a_host_or_a_client_is_found_as_the_patterns_find_it() -> None:
    numbers = random.Random(7)
    pieces = (
        "HTTP_HOST SERVER_NAME host Virtual DocumentRoot ScriptAlias lua match_ DOCUMENT_ROOT "
        "path_translated "
        "script_ request_ filename} !-f -d remote_ addr client_ ip ipmatch -r -R REMOTEIP x _ {"
    ).split()
    found = Counter[bool]()
    for _ in range(5000):
        text = numbers.choice(("", " ")).join(numbers.choices(pieces, k=numbers.randrange(5)))
        names_host = module._NAMES_HOST.search(text) is not None
        assert module._names_host(text) is names_host
        assert module._names_client(text) is (module._NAMES_CLIENT.search(text) is not None)
        found[names_host] += 1
    assert min(found[True], found[False]) > 500


@pytest.mark.parametrize("other", ["", "Redirect /a http://other.test/a"])
def test_without_redirects_hosts_are_as_equal_as_with_them(tmp_path: Path, other: str) -> None:
    """The direct path compares the hosts again; a host with another redirect is equal to the others then."""
    whole = source(tmp_path, old=other, new=other, shared="Redirect /b http://other.test/b")
    whole.group_equal_hosts()
    sides = [without_redirects(lines) for lines in whole.sides]
    again, reused = (
        ProbeSource((SideLines(sides[0]), SideLines(sides[1])))  # type: ignore[arg-type]
        for _ in range(2)
    )
    again.group_equal_hosts()
    reused.group_as(whole)
    names = [{route.host for route in one._followers} for one in (whole, again, reused)]
    assert names[2] == names[0] and names[2] <= names[1]
    assert (names[1] > names[0]) is bool(other) and reused.leaders == whole.leaders
