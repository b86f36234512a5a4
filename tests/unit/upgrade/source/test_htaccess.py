"""Which .htaccess files 2.2 reads."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.source import htaccess
from whimbrel.upgrade.source.config_tree import Role
from whimbrel.upgrade.source.htaccess import SearchedDirectories, accepts_directive

ROOT_NONE = "<Directory />\nAllowOverride None\n</Directory>\n"


def found(tmp_path: Path, text: str, *files: str) -> set[str]:
    """The .htaccess files that are read with the configuration *text*, from the root on."""
    whole = config_tree(
        tmp_path,
        {"conf/httpd.conf": f"DocumentRoot ROOT/htdocs\n{text}", **dict.fromkeys(files, "Options None\n")},
    )
    return {
        path[len(str(tmp_path)) + 1 :] for path, file in whole.files.items() if file.role is Role.HTACCESS
    }


A, B, C = "htdocs/.htaccess", "htdocs/a/.htaccess", "htdocs/a/b/.htaccess"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", {A, B, C}),
        (ROOT_NONE, set()),
        (f"{ROOT_NONE}<Directory ROOT/htdocs/a>\nAllowOverride All\n</Directory>\n", {B, C}),
        (
            f"<Directory ROOT/htdocs/a>\nAllowOverride FileInfo\n</Directory>\n{ROOT_NONE}",
            {B, C},
        ),  # the longer path comes last
        (
            (
                f"{ROOT_NONE}<Directory ROOT/htdocs/a>\nAllowOverride All\n</Directory>\n"
                "<Directory ROOT/htdocs/a/b>\nAllowOverride None\n</Directory>\n"
            ),
            {B},
        ),
        (f"{ROOT_NONE}<Directory ROOT/htdocs/*/b>\nAllowOverride All\n</Directory>\n", {C}),
        (f"{ROOT_NONE}<DirectoryMatch /a$>\nAllowOverride All\n</DirectoryMatch>\n", {B}),
        (f'{ROOT_NONE}<Directory ~ "/b$">\nAllowOverride All\n</Directory>\n', {C}),
        (
            (
                f"{ROOT_NONE}<VirtualHost *>\n<Directory ROOT/htdocs>\nAllowOverride All\n"
                "</Directory>\n</VirtualHost>\n"
            ),
            {A, B, C},
        ),
        (
            (
                f"{ROOT_NONE}<IfVersion >= 2.4>\n<Directory ROOT/htdocs>\nAllowOverride All\n"
                "</Directory>\n</IfVersion>\n"
            ),
            set(),
        ),
        ("AccessFileName .acl\n", set()),
        (f"{ROOT_NONE}<IfDefine X>\n<VirtualHost *>\n{ROOT_NONE}</VirtualHost>\n</IfDefine>\n", set()),
        (f"<VirtualHost *>\n<IfDefine X>\n{ROOT_NONE}</IfDefine>\n</VirtualHost>\n", {A, B, C}),
        (f"Listen 1\n<IfDefine X>\n<VirtualHost *>\n{ROOT_NONE}</VirtualHost>\n</IfDefine>\n", {A, B, C}),
    ],
)
def test_allow_override_decides(text: str, read: set[str], tmp_path: Path) -> None:
    assert found(tmp_path, text, A, B, C) == read


def test_other_names(tmp_path: Path) -> None:
    assert found(tmp_path, "AccessFileName .acl .other\n", "htdocs/.acl", "htdocs/x/.other", A) == {
        "htdocs/.acl",
        "htdocs/x/.other",
    }


def test_targets_of_aliases_and_folders_of_sections(tmp_path: Path) -> None:
    text = "Alias /x ROOT/x\n<Directory ROOT/y>\nOptions None\n</Directory>\n"
    assert found(tmp_path, text, "x/.htaccess", "y/.htaccess", "z/.htaccess") == {
        "x/.htaccess",
        "y/.htaccess",
    }


def test_links_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "htdocs/a").mkdir(parents=True)
    (tmp_path / "htdocs/a/up").symlink_to(tmp_path / "htdocs")
    assert found(tmp_path, "", A) == {A}


def linked(root: Path, conf: str, *files: str) -> dict[str, list[str]]:
    """The .htaccess files that are read, with their further directories, relative to *root*."""
    texts: dict[str, str | bytes] = dict.fromkeys(files, "Options None\n")
    tree = config_tree(root, {"conf/httpd.conf": "DocumentRoot ROOT/htdocs\n" + conf, **texts})
    return {
        path.removeprefix(f"{root}/"): [one.removeprefix(f"{root}/") for one in file.linked]
        for path, file in tree.files.items()
        if file.role is Role.HTACCESS
    }


def test_a_file_applies_in_each_directory_that_links_lead_to(tmp_path: Path) -> None:
    """httpd walks the path as mapped, links unresolved (request.c, ap_directory_walk)."""
    (tmp_path / "htdocs/b/in").mkdir(parents=True)
    (tmp_path / "htdocs/c").symlink_to("b")
    (tmp_path / "htdocs/d").mkdir()
    (tmp_path / "htdocs/d/.htaccess").symlink_to("../b/.htaccess")
    assert linked(tmp_path, "", "htdocs/b/.htaccess", "htdocs/b/in/.htaccess") == {
        "htdocs/b/.htaccess": ["htdocs/d", "htdocs/c"],
        "htdocs/b/in/.htaccess": ["htdocs/c/in"],
    }


def test_a_file_that_is_read_behind_a_link_alone(tmp_path: Path) -> None:
    (tmp_path / "htdocs/b/in").mkdir(parents=True)
    (tmp_path / "htdocs/c").symlink_to("b")
    (tmp_path / "htdocs/d").symlink_to("b")
    conf = "<Directory ROOT/htdocs/b>\nAllowOverride None\n</Directory>\n"
    assert linked(tmp_path, conf, "htdocs/b/in/.htaccess") == {"htdocs/c/in/.htaccess": ["htdocs/d/in"]}


def test_of_many_further_directories_it_is_said_that_some_were_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(htaccess, "_MAX_FURTHER", 1)
    (tmp_path / "htdocs/b").mkdir(parents=True)
    for name in ("c", "d"):
        (tmp_path / f"htdocs/{name}").symlink_to("b")
    tree = config_tree(
        tmp_path, {"conf/httpd.conf": "DocumentRoot ROOT/htdocs\n", "htdocs/b/.htaccess": "Options None\n"}
    )
    assert [item.subject for item in tree.unread] == [
        "links lead to more than 1 directories with .htaccess files"
    ]


def test_the_folder_that_a_file_speaks_about(tmp_path: Path) -> None:
    whole = config_tree(
        tmp_path, {"conf/httpd.conf": "ServerRoot ROOT\nDocumentRoot htdocs\n", B: "Options None\n"}
    )
    assert whole.files[f"{tmp_path}/{B}"].directory == f"{tmp_path}/htdocs/a"


def test_what_an_allow_override_takes(tmp_path: Path) -> None:
    """Classes of AllowOverride (manual: core, AllowOverride) hold for the directory and all below it."""
    folders = {"ROOT/htdocs": "Limit", "ROOT/htdocs/a": "All"}
    conf = "DocumentRoot ROOT/htdocs\n" + "".join(
        f"<Directory {path}>\nAllowOverride {words}\n</Directory>\n" for path, words in folders.items()
    )
    read = config_tree(
        tmp_path,
        {
            "conf/httpd.conf": conf,
            "htdocs/.htaccess": "Deny from all\n",
            "htdocs/a/.htaccess": "Deny from all\n",
        },
    )
    taken = {
        file.directory.removeprefix(str(tmp_path)): [
            kind for kind in ("limit", "fileinfo") if accepts_directive(read, file.statements[0], kind)
        ]
        for file in read.files.values()
        if file.role is Role.HTACCESS
    }
    assert taken == {"/htdocs": ["limit"], "/htdocs/a": ["limit", "fileinfo"]}
    assert all(accepts_directive(read, line, "fileinfo") for line in read.statements)


def test_a_link_out_of_the_root_leads_to_a_bounded_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links within the root do not count."""
    monkeypatch.setattr("whimbrel.upgrade.source.htaccess.MAX_LINKED", 3)
    for number in range(6):
        (tmp_path / f"machine/{number}").mkdir(parents=True)
        (tmp_path / f"htdocs/{number}").mkdir(parents=True)
        (tmp_path / f"htdocs/link{number}").symlink_to(str(number))
    names = [f"htdocs/{number}/.htaccess" for number in range(6)]
    assert found(tmp_path, "", *names) >= set(names)
    (tmp_path / "htdocs/out").symlink_to(tmp_path / "machine")
    whole = config_tree(tmp_path, {"conf/httpd.conf": "DocumentRoot ROOT/htdocs\n"})
    assert [item.subject for item in whole.unread] == [
        f"more than 3 directories behind links in {tmp_path}/htdocs: not all were searched"
    ]


def test_a_reading_after_edits_searches_no_directory_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "DocumentRoot ROOT/htdocs\n"
    whole = config_tree(tmp_path, {"conf/httpd.conf": text, A: "Options None\n", C: "Options None\n"})
    search = create_autospec(os.scandir)
    monkeypatch.setattr(os, "scandir", search)
    again = whole.reparse({f"{tmp_path}/{C}": b"Options All\n"}, whole)
    assert list(again.files) == list(whole.files)
    assert again.files[f"{tmp_path}/{C}"].document.bytes == b"Options All\n"
    search.assert_not_called()


def test_what_is_kept_of_a_search_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(htaccess, "MAX_REMEMBERED", 2)
    searched = SearchedDirectories()
    for name in "abc":
        (tmp_path / name / "inner").mkdir(parents=True)
        assert searched.directories_in(f"{tmp_path}/{name}") == [(f"{tmp_path}/{name}/inner", "")]
        status = (tmp_path / name).stat()
        assert searched.identity(f"{tmp_path}/{name}") == (status.st_dev, status.st_ino)
        assert not searched.is_file(f"{tmp_path}/{name}")
    assert (len(searched.below), len(searched.identities), len(searched.files)) == (2, 2, 2)


def test_a_link_beside_a_directory_leaves_the_root_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(htaccess, "MAX_LINKED", 1)
    (tmp_path / "elsewhere/x").mkdir(parents=True)
    (tmp_path / "htdocs/a/b").mkdir(parents=True)
    (tmp_path / "htdocs/z").symlink_to(tmp_path / "elsewhere/x")
    assert found(tmp_path, "", A, B, C) == {A, B, C}


def test_the_files_of_a_host_under_a_condition_are_read_by_its_sections(tmp_path: Path) -> None:
    host = f"<IfDefine X>\n<VirtualHost *>\nDocumentRoot ROOT/x\n{ROOT_NONE}</VirtualHost>\n</IfDefine>\n"
    assert found(tmp_path, host, A, "x/.htaccess") == {A}
