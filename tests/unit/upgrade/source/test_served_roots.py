"""Every .htaccess file of a directory that httpd serves is read."""

from __future__ import annotations

import pwd
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from tests.unit.upgrade.config_trees import config_tree, laid

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source import served_roots
from whimbrel.upgrade.source.config_tree import ConfigTree, Role
from whimbrel.upgrade.source.reading import Sources, read_config_tree

MAIN = "conf/httpd.conf"


def htaccess(tree: ConfigTree, root: Path) -> set[str]:
    """Return the directories, below *root*, of the .htaccess files that were read."""
    files = [file for file in tree.files.values() if file.role is Role.HTACCESS]
    return {file.directory.removeprefix(str(root)) or "/" for file in files}


CASES = [
    ("UserDir ROOT/users/*/web", {"/users/a/web/x", "/users/b/web"}, "/users/a/other"),
    ("UserDir ROOT/users", {"/users/a", "/users/a/web/x", "/users/a/other", "/users/b/web"}, "/srv/a"),
    ("<Directory ROOT/users/*/web>\n</Directory>", {"/users/a/web/x", "/users/b/web"}, "/users/a/other"),
    ("<Directory ROOT/users/?/we[b]>\n</Directory>", {"/users/a/web/x", "/users/b/web"}, "/users/a/other"),
    ('<DirectoryMatch "^ROOT/users/[^/]+/web">\n</DirectoryMatch>', {"/users/a/web/x"}, "/users/a/other"),
    ('<Directory ~ "^ROOT/users/.*/web">\n</Directory>', {"/users/a/web/x"}, "/users/a/other"),
    ("AliasMatch ^/~([^/]+)/(.*) ROOT/users/$1/web/$2", {"/users/a/web/x", "/users/b/web"}, "/srv/a"),
    ("ScriptAliasMatch ^/c/(.*) ROOT/users/$1", {"/users/a/web/x"}, "/srv/a"),
    ("VirtualDocumentRoot ROOT/srv/%0/docs", {"/srv/a/docs"}, "/users/a"),
    ("VirtualDocumentRootIP ROOT/srv/%1/docs", {"/srv/a/docs"}, "/users/a"),
    ("DocumentRoot ROOT/srv/a/docs", {"/srv/a/docs", "/srv/a", "/srv"}, "/users/a"),
]
PLACES = ("users/a", "users/a/web/x", "users/a/other", "users/b/web", "srv", "srv/a", "srv/a/docs")


@pytest.mark.parametrize(("line", "read", "left"), CASES)
def test_the_files_of_served_directories(tmp_path: Path, line: str, read: set[str], left: str) -> None:
    files: dict[str, str | bytes] = {f"{place}/.htaccess": "Options All\n" for place in PLACES}
    tree = config_tree(tmp_path, {MAIN: f"{line}\n", **files})
    found = htaccess(tree, tmp_path)
    assert read <= found and left not in found, found


def test_directories_of_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = pwd.struct_passwd(("a", "x", 1000, 1000, "", str(tmp_path / "users/a"), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwall", create_autospec(pwd.getpwall, return_value=[user]))
    files: dict[str, str | bytes] = {f"users/a/{name}/.htaccess": "Options All\n" for name in ("web", "b")}
    tree = config_tree(tmp_path, {MAIN: "UserDir web\nUserDir disabled root\n", **files})
    assert htaccess(tree, tmp_path) == {"/users/a/web"}


def test_a_root_that_is_not_here_keeps_access_compat(tmp_path: Path) -> None:
    text = "LoadModule dir_module modules/mod_dir.so\nDocumentRoot /nowhere/htdocs\n"
    result = upgrade(config_tree(tmp_path, {MAIN: text}))
    items = [item for item in result.scope.deciding if item.kind is UnknownKind.MISSING]
    assert [(item.place.line, item.subject) for item in items if item.place is not None] == [
        (2, "/nowhere/htdocs is not here: .htaccess files may be in it")
    ]
    assert b"LoadModule access_compat_module" in result.files[str(tmp_path / MAIN)]
    closed = "<Directory />\nAllowOverride None\n</Directory>\n"
    result = upgrade(config_tree(tmp_path, {MAIN: text + closed}))
    assert result.scope.is_complete and b"access_compat" not in result.files[str(tmp_path / MAIN)]


def test_a_root_outside_of_a_copy_is_named_so(tmp_path: Path) -> None:
    """The directory may exist here: it is not that of the server whose files were copied."""
    outside = tmp_path / "outside"
    outside.mkdir()
    text = f"ServerRoot /srv/httpd\nDocumentRoot {outside}\nAlias /x /srv/httpd/gone\n"
    copy = str(laid(tmp_path / "copy", {MAIN: text}))
    tree = read_config_tree(
        Sources(options=LoadOptions(server_root=copy), is_relocated=True), UpgradeOptions()
    )
    assert {item.subject for item in tree.unread} == {
        f"{outside} is outside of {copy}, the copy that is read: .htaccess files may be in it",
        "/srv/httpd/gone is not here: .htaccess files may be in it",
    }


def test_patterns_are_bounded_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_roots, "MAX_MATCHES", 2)
    files: dict[str, str | bytes] = {f"users/{name}/.htaccess": "Options All\n" for name in "abc"}
    tree = config_tree(tmp_path, {MAIN: "UserDir ROOT/users/*\n", **files})
    assert htaccess(tree, tmp_path) == {"/users/a", "/users/b"}
    assert [item.place.line for item in tree.unread if item.place is not None] == [1]
