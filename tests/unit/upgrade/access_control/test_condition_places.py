"""A finding that speaks of a condition names its lines, by their numbers in the text before all edits."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding

MODULES = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile")
)
"""Of 2.2: edits insert lines above all others."""
CLOSED = """<Directory "ROOT/htdocs/x">
    Order deny,allow
    Deny from all
%s</Directory>
"""
PASSWORD = "AuthType Basic\nAuthName x\nAuthUserFile conf/u\nRequire user a\nRequire group b\n"


def stay(root: Path, conf: str, files: dict[str, str | bytes] | None = None) -> list[Finding]:
    """Return the findings about sections that keep their text."""
    tree = config_tree(root, {"conf/httpd.conf": MODULES + conf, "htdocs/index.html": "", **(files or {})})
    result = upgrade(tree)
    assert result.files
    return [one for one in result.findings if "access control is unchanged" in one.message]


def line_of(root: Path, text: str, path: str = "conf/httpd.conf") -> int:
    """Return the number of the first line that begins with *text*."""
    lines = (root / path).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))


def test_the_branch_around_allow_override(tmp_path: Path) -> None:
    conf = (
        '<IfDefine OPEN>\n<Directory "ROOT/htdocs/x">\nAllowOverride AuthConfig\n</Directory>\n</IfDefine>\n'
    )
    (found,) = stay(tmp_path, f'DocumentRoot "ROOT/htdocs"\n{conf}', {"htdocs/x/.htaccess": PASSWORD})
    path = tmp_path / "conf/httpd.conf"
    assert "a condition decides whether AllowOverride admits" in found.message
    assert found.evidence == (
        f"<IfDefine OPEN> at {path}:{line_of(tmp_path, '<IfDefine')}; "
        f"AllowOverride AuthConfig at {path}:{line_of(tmp_path, 'AllowOverride')}"
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("<IfVersion what>\nAllow from 10\n</IfVersion>\n", "<IfVersion what>"),
        (
            "".join(f"<IfDefine N{n}>\nAllow from 10.{n}\n</IfDefine>\n" for n in range(7)),
            "<IfDefine N0>",
        ),
    ],
)
def test_the_branch_in_the_section(tmp_path: Path, text: str, named: str) -> None:
    (found,) = stay(tmp_path, CLOSED % text)
    assert "condition" in found.message
    assert found.evidence.startswith(f"{named} in line {line_of(tmp_path, named)}")
    assert found.evidence.count(" in line ") <= 4


def test_a_branch_around_the_section_of_another_file(tmp_path: Path) -> None:
    inner = "<IfVersion what>\n" + CLOSED % "" + "</IfVersion>\n"
    (found,) = stay(tmp_path, "Include conf/a.conf\n", {"conf/a.conf": "# text\n" + inner})
    assert found.place.path == str(tmp_path / "conf/a.conf")
    assert found.evidence == "<IfVersion what> in line 2"
