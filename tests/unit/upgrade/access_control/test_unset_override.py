"""C09: a .htaccess file that one host reads without any AllowOverride.

Expected values: apache2 2.4.71 with two hosts for one directory, the answer of the second host.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.access_control.unset_override import unset_override

FIRST = (
    "<VirtualHost *:80>\nDocumentRoot ROOT/www\n"
    "<Directory ROOT/www>\nAllowOverride All\n</Directory>\n</VirtualHost>\n"
)
SECOND = "<VirtualHost *:81>\nDocumentRoot ROOT/{}\n{}</VirtualHost>\n"
ELSEWHERE = "<Directory ROOT/cgi>\nAllowOverride None\n</Directory>\n"


@pytest.mark.parametrize(
    ("root", "inside", "text", "status"),
    [
        ("www", "", "DirectoryIndex index.html\n", 500),
        ("www", "", "# DirectoryIndex index.html\n", 200),
        ("www", "", "<IfModule nothing.c>\nFoo\n</IfModule>\n", 500),
        ("www", ELSEWHERE, "DirectoryIndex index.html\n", 500),
        (
            "www/sub",
            "<Directory ROOT/www/sub>\nAllowOverride All\n</Directory>\n",
            "ErrorDocument 404 x\n",
            500,
        ),
        ("www", "<Directory />\nAllowOverride All\n</Directory>\n", "DirectoryIndex index.html\n", 200),
        ("www", "<Directory ROOT/www>\nAllowOverride None\n</Directory>\n", "ErrorDocument 404 x\n", 200),
        ("other", ELSEWHERE, "DirectoryIndex index.html\n", 200),
    ],
)
def test_the_sections_of_each_host_decide(
    root: str, inside: str, text: str, status: int, tmp_path: Path
) -> None:
    conf = f"{FIRST}{SECOND.format(root, inside)}"
    tree = config_tree(tmp_path, {"conf/httpd.conf": conf, "www/.htaccess": text})
    found = unset_override(tree)
    assert (found is not None) is (status == 500)
    if found is not None:
        assert found.host is not None and found.host.node.start == conf.replace("ROOT", str(tmp_path)).rindex(
            "<VirtualHost"
        )


def test_a_host_with_sections_for_other_directories_alone(tmp_path: Path) -> None:
    """The main server's sections decide for such a host: DocumentRoot of the main server is another."""
    conf = f"DocumentRoot ROOT/main\n{SECOND.format('www', ELSEWHERE)}"
    files: dict[str, str | bytes] = {"conf/httpd.conf": conf, "www/.htaccess": "ErrorDocument 404 x\n"}
    assert unset_override(config_tree(tmp_path / "a", files)) is not None
    files["conf/httpd.conf"] = "<Directory />\nAllowOverride None\n</Directory>\n" + conf
    assert unset_override(config_tree(tmp_path / "b", files)) is None


def test_the_default_is_written_outside_of_a_closed_branch(tmp_path: Path) -> None:
    """A line that is not executed sets nothing."""
    closed = "<IfDefine X>\n<Directory />\nOptions None\n</Directory>\n</IfDefine>\n"
    conf = f"{closed}{FIRST}{SECOND.format('www', '')}"
    tree = config_tree(tmp_path, {"conf/httpd.conf": conf, "www/.htaccess": "ErrorDocument 404 x\n"})
    found = unset_override(tree)
    assert found is not None
    assert found.edit.edit.text.decode().split() == [
        "<Directory",
        "/>",
        "AllowOverride",
        "All",
        "</Directory>",
    ]
