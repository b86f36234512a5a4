"""Comments with marks above a line that goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.source.marks import comments_above, without_marks_above


def test_the_comments_above_a_line() -> None:
    data = b"Listen 80\n# a\n  # b\nListen 81\n"
    assert [data[at:end] for at, end in comments_above(data, data.index(b"Listen 81"))] == [
        b"  # b\n",
        b"# a\n",
    ]
    assert comments_above(data, 0) == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_continues_another_is_no_comment(end: str) -> None:
    data = f"Listen \\{end}# whimbrel: ignore{end}Listen 81{end}".encode()
    start = data.index(b"Listen 81")
    assert comments_above(data, start) == []
    assert without_marks_above(data, start) == (start, b"")


def test_marks_go_with_their_line_and_other_comments_stay() -> None:
    data = b"# why\n# whimbrel: ignore[DIFF]\n# more\nListen 81\n"
    start, kept = without_marks_above(data, data.index(b"Listen"))
    assert data[:start] + kept == b"# why\n# more\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mark_above_a_line_that_goes_exempts_no_other(tmp_path: Path, end: str) -> None:
    """`Listen` would get a decision that its author made about another line."""
    text = (
        "ServerName x\n# one name each\n# whimbrel: ignore[DIFF]\nNameVirtualHost *:80\nListen 80\n".replace(
            "\n", end
        )
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text.encode()}))
    after = result.files[f"{tmp_path}/conf/httpd.conf"].decode()
    assert "NameVirtualHost" not in after and "ignore[" not in after
    assert f"# one name each{end}Listen 80{end}" in after


def test_new_lines_stand_above_the_marks_of_the_next_line(tmp_path: Path) -> None:
    text = "# all\n# whimbrel: ignore[X99]\nListen 80\n"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    lines = result.files[f"{tmp_path}/conf/httpd.conf"].decode().splitlines()
    assert lines[0] == "# all" and lines[1].startswith("LoadModule ")
    assert lines[lines.index("# whimbrel: ignore[X99]") + 1] == "Listen 80"


def test_a_mark_behind_the_addresses_of_a_line_goes_with_it(tmp_path: Path) -> None:
    text = (
        "LoadModule authz_host_module m/mod_authz_host.so\n<Directory ROOT/htdocs>\nOrder deny,allow\n"
        "Deny from all # whimbrel: ignore[X99]\nAllow from 10.0.0.1 # the office\n"
        "Options None\n</Directory>\n"
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    after = result.files[f"{tmp_path}/conf/httpd.conf"].decode()
    assert "Require ip 10.0.0.1\n" in after and "# the office\n" in after
    assert "ignore[" not in after
