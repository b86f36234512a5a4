"""A tree with directories of users, wildcards, AliasMatch and VirtualDocumentRoot: check, upgrade, verify and
explain read every .htaccess file that httpd reads, those above a root too."""

from __future__ import annotations

import pwd
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.explain.explanation import explain_probe
from whimbrel.upgrade.check.check import check, parse_selection
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side
from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

MODULES = ("authz_host", "dir", "mime", "alias", "userdir", "vhost_alias")
MAIN = """Listen 127.0.0.1:8080
NameVirtualHost *:8080
TypesConfig /dev/null
<Directory "ROOT/wild/*/www">
    AllowOverride All
</Directory>
<VirtualHost *:8080>
    ServerName main.test
    DocumentRoot "ROOT/htdocs"
    UserDir USERS
    AliasMatch ^/m/([^/]+)(.*) "ROOT/am/$1$2"
    Alias /w/ "ROOT/wild/"
</VirtualHost>
<VirtualHost *:8080>
    ServerName mass.test
    ServerAlias *.test
    VirtualDocumentRoot "ROOT/vh/%0/docs"
</VirtualHost>
"""
URLS = {
    "htdocs/in": ("main.test", "/in/index.html"),
    "home/ann/web": ("main.test", "/~ann/index.html"),
    "home/bob/web/sub": ("main.test", "/~bob/sub/index.html"),
    "wild/a/www": ("main.test", "/w/a/www/index.html"),
    "wild/b/www": ("main.test", "/w/b/www/index.html"),
    "am/x": ("main.test", "/m/x/index.html"),
    "am/y": ("main.test", "/m/y/index.html"),
    **{f"vh/{name}.test/docs": (f"{name}.test", "/index.html") for name in ("a", "b", "c", "d", "e")},
}
"""Directories with a .htaccess file, and how a request reaches them."""
ABOVE = "."
"""The directory above all roots."""
DENY = "Order deny,allow\nDeny from all\n"


@pytest.fixture(params=["ROOT/home/*/web", "web"], ids=["absolute", "below homes"])
def options(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoadOptions:
    """The tree on disk, with both forms of UserDir."""
    users = [
        pwd.struct_passwd((name, "x", 1000, 1000, "", str(tmp_path / "home" / name), "/bin/sh"))
        for name in ("ann", "bob")
    ]
    by_name = {user.pw_name: user for user in users}
    monkeypatch.setattr(pwd, "getpwall", create_autospec(pwd.getpwall, return_value=users))
    monkeypatch.setattr(pwd, "getpwnam", create_autospec(pwd.getpwnam, side_effect=by_name.__getitem__))
    for name in URLS:
        directory = tmp_path / name
        directory.mkdir(parents=True)
        (directory / ".htaccess").write_text(DENY)
        (directory / "index.html").write_text("a page\n")
    (tmp_path / ".htaccess").write_text("Order deny,allow\nDeny from 192.0.2.77\n")
    (tmp_path / "conf").mkdir()
    (tmp_path / "logs").mkdir()
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in MODULES)
    text = MAIN.replace("USERS", request.param).replace("ROOT", str(tmp_path))
    (tmp_path / "conf/httpd.conf").write_text(loads + text)
    return LoadOptions(server_root=from_system(str(tmp_path)), origins=True)


def paths(options: LoadOptions) -> set[str]:
    root = Path(options.server_root)
    return {str(root / name / ".htaccess") for name in (*URLS, ABOVE)}


def test_check_and_upgrade(options: LoadOptions) -> None:
    found = check(Sources(options=options), parse_selection("", ""))
    assert paths(options) <= {finding.place.path for finding in found.findings if finding.rule == "C17"}
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
    assert paths(options) <= result.files.keys()


def test_verify_finds_or_names_each_file_that_admits_all(options: LoadOptions) -> None:
    old = Side.load(options, "2.2", name="old")
    for path in sorted(paths(options)):
        opened = LoadOptions(server_root=options.server_root, origins=True, overlay={path: b"# nothing\n"})
        result = verify(old, Side.load(opened, "2.2", name="new"))
        if "/d.test/" in path or "/e.test/" in path:  # some hosts of VirtualDocumentRoot are asked
            assert result.verdict is Verdict.NOT_DECIDED, path
            assert any(path in one.reason for one in result.not_decided)
        else:
            assert result.verdict is Verdict.DIFFERENT, path
            assert any(group.opens for group in result.groups), path


@pytest.mark.parametrize("name", sorted(URLS))
def test_explain_names_the_file(options: LoadOptions, name: str) -> None:
    host, target = URLS[name]
    explanation = explain_probe(Side.load(options, "2.2", name="2.2"), Probe(target, host=host, port=8080))
    root = Path(options.server_root)
    read = {step.what for step in explanation.all() if step.kind == ".htaccess"}
    assert {str(root / name / ".htaccess"), str(root / ".htaccess")} <= read
