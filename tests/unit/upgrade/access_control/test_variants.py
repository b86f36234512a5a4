"""Chains for each combination of the open conditions around their lines."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade

MODULES = ("headers", "setenvif", "deflate", "filter")
CLOSED = "Order allow,deny\nDeny from all\n"


def conditional(name: str, opening: str) -> str:
    return f"<IfModule mod_{name}.c>\n{opening}\n{CLOSED}</{opening[1:].split()[0]}>\n</IfModule>\n"


def test_conditions_of_a_file_that_gives_a_chain_no_lines(tmp_path: Path) -> None:
    """Each .htaccess file on the way is read, also one whose sections do not match the file of the chain.

    No module is loaded by a line, so that each <IfModule> may be true; the numbers of conditions are those of
    the .htaccess files of html5-boilerplate.
    """
    above = "".join(conditional(name, f'<FilesMatch "\\.{name}$">') for name in MODULES)
    below = conditional("include", '<FilesMatch "\\.include$">')
    plain = f'<FilesMatch "~$">\n{CLOSED}</FilesMatch>\n'
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": (
            f'ServerRoot "{tmp_path}"\nListen 80\nDocumentRoot "{tmp_path}/htdocs"\n'
            f'<Directory "{tmp_path}/htdocs">\nAllowOverride All\n</Directory>\n'
        ),
        "htdocs/.htaccess": above + plain,
        "htdocs/a/.htaccess": below + plain,
    }
    result = upgrade(config_tree(tmp_path, files))
    assert {finding.rule for finding in result.findings} >= {"C17"}
    assert all(b"Require all denied" in result.files[f"{tmp_path}/{name}"] for name in list(files)[1:])
