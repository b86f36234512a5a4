"""Chains for each combination of the open conditions around their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade

CLOSED = "Order allow,deny\nDeny from all\n"


def under(module: str, lines: str) -> str:
    return f"<IfModule mod_{module}.c>\n{lines}</IfModule>\n"


def files_matching(letter: str, lines: str) -> str:
    return f'<FilesMatch "{letter}$">\n{lines}</FilesMatch>\n'


@pytest.mark.parametrize(
    "htaccess",
    [
        {
            "": CLOSED + under("ssl", files_matching("x", CLOSED)),
            "/a": CLOSED,
            "/a/b": files_matching("z", under("include", CLOSED) + CLOSED)
            + files_matching("y", under("headers", CLOSED)),
        },
        # 2.2, which has no mod_authz_core, reads no line of the second file
        {
            "": CLOSED,
            "/a": files_matching("x", CLOSED) + under("authz_core", "Satisfy All\n"),
            "/a/b": under("headers", CLOSED),
        },
    ],
    ids=["no line for the chain", "lines of 2.4"],
)
def test_each_htaccess_file_on_the_way_is_read(htaccess: dict[str, str], tmp_path: Path) -> None:
    """Conditions of a file count for its chain also if its sections do not match the file that is asked for.

    Of these `Deny from all`, apache2 2.4 admits nobody after the upgrade.
    """
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": (
            f'ServerRoot "{tmp_path}"\nListen 80\nDocumentRoot "{tmp_path}/htdocs"\n'
            f'<Directory "{tmp_path}/htdocs">\nAllowOverride All\n</Directory>\n'
        ),
        **{f"htdocs{below}/.htaccess": text for below, text in htaccess.items()},
    }
    result = upgrade(config_tree(tmp_path, files))
    assert "C17" in {finding.rule for finding in result.findings}
    assert b"Require all denied" in result.files[f"{tmp_path}/htdocs/.htaccess"]
