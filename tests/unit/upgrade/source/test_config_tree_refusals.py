"""Findings about lines that 2.4 refuses: a .htaccess file never stops the start."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Risk

LINES = (
    ("X01", "Options -Indexes FollowSymLinks\n"),
    ("C33", "FilterProvider a b resp=Content-Type $text\n"),
    ("C28", "CharsetOptions DebugLevel=3\n"),
    ("X14", "Require not ip 10\nRequire all granted\n"),
)


@pytest.mark.parametrize(("rule", "text"), LINES)
def test_the_sentence_has_the_effect_of_the_place(rule: str, text: str, tmp_path: Path) -> None:
    main = (
        f'DocumentRoot {tmp_path}/htdocs\n<Directory "{tmp_path}/htdocs">\nAllowOverride All\n</Directory>\n'
    )
    found = {}
    for name in ("htdocs/.htaccess", "more.conf"):
        files = {"conf/httpd.conf": f"{main}Include more.conf\n", "more.conf": "", "htdocs/.htaccess": ""}
        inner = text if name == "htdocs/.htaccess" else f"<Directory /a>\n{text}</Directory>\n"
        result = upgrade(config_tree(tmp_path, {**files, name: inner}))
        found[name] = [one for one in result.findings if one.rule == rule and one.risk is Risk.BREAKS]
        assert found[name], result.findings
    (in_htaccess,), (in_main,) = found.values()
    assert "2.4 answers 500" in in_htaccess.message and in_htaccess.is_per_request
    assert "2.4 does not start" in in_main.message and not in_main.is_per_request
