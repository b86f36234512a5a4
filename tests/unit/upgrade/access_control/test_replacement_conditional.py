"""Repetitions of a section, and the conditions and virtual hosts that they must not leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, marks
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import rules_of

ALICE = "AuthType Basic\nAuthName a\nAuthUserFile conf/users\nRequire user alice\n"
BOB = "AuthType Basic\nAuthName a\nAuthUserFile conf/users\nRequire user bob\n"
HEAD = "DocumentRoot /d\n<Directory /d>\nAllowOverride All\nOptions FollowSymLinks\n%s</Directory>\n"
SATISFY = "<IfDefine X>\n<Directory /d/sub>\nSatisfy Any\nOrder deny,allow\n</Directory>\n</IfDefine>\n"
VALID = "<IfDefine X>\n<Directory /d/sub>\nRequire valid-user\nOrder allow,deny\n</Directory>\n</IfDefine>\n"
LISTS = "<Location />\nOrder deny,allow\nDeny from 127.0.0.3\n</Location>\n"
INNER = "<Directory /d/sub>\n%sOrder deny,allow\nDeny from 127.0.0.3\n</Directory>\n"
FILES = "<Files f.html>\n%s</Files>\n"


def served(root: Path, conf: str) -> str:
    """*conf* for a document root that is there, with a file that each of its sections is about."""
    (root / "d/sub").mkdir(parents=True)
    (root / "d/sub/f.html").touch()
    return conf.replace("/d", f"{root}/d")


def upgraded(root: Path, conf: str) -> str:
    """The new text of the main file."""
    result = upgrade(config_tree(root, {"conf/httpd.conf": MODULES + served(root, conf)}), rules_of("access"))
    return result.files[f"{root}/conf/httpd.conf"].decode()


def test_nothing_is_repeated_for_a_directory_under_a_condition(tmp_path: Path) -> None:
    _, found = marks(tmp_path, served(tmp_path, HEAD % ALICE + SATISFY + LISTS))
    assert found


def test_a_section_under_a_condition_is_not_repeated_outside_of_it(tmp_path: Path) -> None:
    text = upgraded(tmp_path, HEAD % "" + INNER % BOB + "<IfDefine X>\n" + FILES % ALICE + "</IfDefine>\n")
    assert text.count("<Files") == 1
    assert "Require not ip 127.0.0.3" in text.partition("<Files")[2]


def test_a_section_of_one_host_is_not_repeated_in_a_directory_of_all(tmp_path: Path) -> None:
    hosts = (
        "NameVirtualHost *:80\n<VirtualHost *:80>\nServerName a\nDocumentRoot /d\n</VirtualHost>\n"
        "<VirtualHost *:80>\nServerName b\nDocumentRoot /d\n%s</VirtualHost>\n"
    )
    text = upgraded(tmp_path, HEAD % "" + INNER % BOB + hosts % (FILES % ALICE))
    assert text.count("<Files") == 1
    assert "Require not ip 127.0.0.3" in text.partition("<Files")[2]


def test_a_section_that_is_never_read_stays(tmp_path: Path) -> None:
    section = "<Directory /d>\nOrder deny,allow\nDeny from all\n</Directory>\n"
    files, found = marks(tmp_path, f"<IfDefine X>\n<IfDefine !X>\n{section}</IfDefine>\n</IfDefine>\n")
    assert not found
    assert files <= {str(tmp_path / "conf/httpd.conf")}


@pytest.mark.parametrize("line", ["AllowOverride Limit AuthConfig", "AllowOverride None"])
def test_a_file_that_a_condition_admits_stays(tmp_path: Path, line: str) -> None:
    root = tmp_path / "d"
    conf = (
        f"DocumentRoot {root}\n<Directory {root}>\nAllowOverride Limit\n</Directory>\n"
        f"<Directory {root}/sub>\n<IfDefine X>\n{line}\n</IfDefine>\n</Directory>\n"
    )
    (root / "sub").mkdir(parents=True)
    files, found = marks(tmp_path, conf, {"d/sub/.htaccess": "Order allow,deny\nAllow from 127.0.0.2\n"})
    assert str(root / "sub/.htaccess") not in files
    assert any("AllowOverride" in message for message in found), found


def test_lists_stay_where_only_a_repetition_would_do(tmp_path: Path) -> None:
    conf = HEAD % ALICE + VALID + "<Location />\nOrder deny,allow\n</Location>\n"
    files, _ = marks(tmp_path, served(tmp_path, conf))
    assert files == set()
