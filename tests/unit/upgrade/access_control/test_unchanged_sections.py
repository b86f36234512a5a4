"""Sections that no edit may change: templates, damaged files, too many conditions, lines that are included
twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.samples import amount
from tests.unit.upgrade.access_texts import USER, marks

from whimbrel.syntax.tree import parse
from whimbrel.upgrade.access_control.unchanged_sections import _BLOCK, _has_blocks
from whimbrel.upgrade.source.config_tree import SourceFile

CLOSED = "<Location /x>\nOrder deny,allow\nDeny from all\n%s</Location>\n"


@pytest.mark.parametrize(
    "lines",
    [
        "{% if x %}\nAllow from 10\n{% endif %}\n",
        "{%if x%}\nAllow from 10\n{%endif%}\n",
        "{%- for n in nets %}\nAllow from {{ n }}\n{%- endfor %}\n",
        "<% if x -%>\nAllow from 10\n<% end -%>\n",
        "@ALLOW@\n",
        "Allow from @NET@\n",
        "Allow from {{ net }}\n",
        "<%= allow %>\n",
    ],
    ids=["jinja", "jinja-tight", "ansible", "erb", "sed-line", "sed-word", "jinja-value", "puppet"],
)
def test_a_section_that_a_template_decides_about_is_only_reported(tmp_path: Path, lines: str) -> None:
    files, found = marks(tmp_path, CLOSED % lines)
    assert files == set()
    assert [message.partition(":")[0] for message in found] == ["access control is unchanged"]


@pytest.mark.parametrize(
    "lines",
    [
        "<IfDefine X>\nAllow from 10\n",
        "</IfDefine>\nAllow from 10\n",
        "<IfDefine X\nAllow from 10\n</IfDefine>\n",
    ],
    ids=["open", "closed", "no-bracket"],
)
def test_a_file_with_a_branch_that_does_not_end_stays(tmp_path: Path, lines: str) -> None:
    files, found = marks(tmp_path, CLOSED % lines)
    assert files == set()
    assert not found or "not closed" in found[0]


def test_a_branch_across_the_end_of_a_file_stays(tmp_path: Path) -> None:
    files, found = marks(
        tmp_path,
        "Include conf/a.conf\nInclude conf/b.conf\n",
        {"conf/a.conf": "<IfDefine X>\n" + CLOSED % "", "conf/b.conf": CLOSED % "" + "</IfDefine>\n"},
    )
    assert (files, found) == (set(), [])  # no version starts: all waits for the first tag


def test_more_conditions_than_are_tried_leave_the_section(tmp_path: Path) -> None:
    many = "".join(f"<IfDefine N{n}>\nAllow from 10.{n}\n</IfDefine>\n" for n in range(7))
    files, found = marks(tmp_path, CLOSED % many)
    assert files == set()
    assert "more than 6 conditions" in found[0]


def test_a_condition_that_2_4_settles_otherwise_leaves_the_section(tmp_path: Path) -> None:
    files, found = marks(tmp_path, CLOSED % "<IfVersion what>\nAllow from 10\n</IfVersion>\n")
    assert files == set()
    assert "evaluates a condition around its lines differently" in found[0]


def test_lines_that_are_included_twice_change_in_one_way_or_not_at_all(tmp_path: Path) -> None:
    lists: dict[str, str | bytes] = {"conf/acl.inc": "Order deny,allow\nDeny from all\nAllow from 10\n"}
    conf = (
        "<Location /a>\nInclude conf/acl.inc\n</Location>\n%s<Location /b/c>\n"
        "Include conf/acl.inc\n</Location>\n"
    )
    files, found = marks(tmp_path, conf % "", lists)
    assert (files, found) == ({str(tmp_path / "conf/acl.inc")}, [])
    files, found = marks(tmp_path, conf % f"<Location /b>\n{USER}Require valid-user\n</Location>\n", lists)
    assert files == set()
    assert all("included more than once" in message for message in found)
    assert found


@pytest.mark.parametrize(
    "branch",
    [
        "<IfVersion >= 2.4>\nRequire ip 10\n</IfVersion>\n",
        "<IfFile /x>\nRequire ip 10\n</IfFile>\n",
        "<IfModule mod_authz_core.c>\nRequire ip 10\n</IfModule>\n",
    ],
)
def test_a_section_with_a_branch_of_2_4_stays(tmp_path: Path, branch: str) -> None:
    assert marks(tmp_path, CLOSED % branch)[0] == set()


def test_a_section_with_lines_of_its_own_beside_shared_ones_changes_with_the_others(tmp_path: Path) -> None:
    lists: dict[str, str | bytes] = {"conf/acl.inc": "Order deny,allow\nDeny from all\nAllow from 10\n"}
    conf = (
        "<Location /a>\nInclude conf/acl.inc\n</Location>\n<Location /b>\nDeny from all\n"
        "Include conf/acl.inc\n</Location>\n"
    )
    assert marks(tmp_path, conf, lists) == (
        {str(tmp_path / "conf/acl.inc"), str(tmp_path / "conf/httpd.conf")},
        [],
    )


def test_a_section_in_one_that_stays_stays_too(tmp_path: Path) -> None:
    inner = "<Files a.html>\nOrder deny,allow\nDeny from all\n</Files>\n"
    assert (
        marks(
            tmp_path,
            (
                "<Directory /srv>\n<IfModule mod_authz_core.c>\nRequire all granted\n"
                f"</IfModule>\n{inner}</Directory>\n"
            ),
        )[0]
        == set()
    )


AREA = "<Directory ROOT/htdocs>\nAllowOverride {}\n</Directory>\n"
TLS_HOST = "<IfDefine TLS>\n<VirtualHost *:443>\nDocumentRoot ROOT/htdocs\n{}</VirtualHost>\n</IfDefine>\n"


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        # with TLS or without, each host that exists admits the file
        (AREA.format("All") + TLS_HOST.format(AREA.format("All")), []),
        (
            TLS_HOST.format(f"<IfDefine X>\n{AREA.format('All')}</IfDefine>\n"),
            ["access control is unchanged: a condition decides whether AllowOverride admits its lines"],
        ),
    ],
)
def test_a_condition_around_a_host_does_not_decide_what_its_files_may_contain(
    text: str, reasons: list[str], tmp_path: Path
) -> None:
    files, found = marks(
        tmp_path,
        f"DocumentRoot ROOT/htdocs\n{text}",
        {"htdocs/.htaccess": "Order deny,allow\nDeny from all\n"},
    )
    assert found == reasons
    assert (f"{tmp_path}/htdocs/.htaccess" in files) is (not reasons)


@settings(max_examples=amount(100, 300), deadline=None)
@given(st.text(alphabet="{%-+ \t<=@ifend_a.\n", max_size=30))
def test_bytes_of_a_text_do_not_hide_a_block(text: str) -> None:
    file = SourceFile("/a.conf", parse(text.encode()))
    assert _has_blocks(file) == (_BLOCK.search(text) is not None)
