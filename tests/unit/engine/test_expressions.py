"""Expressions in directives, through an engine; statuses, fields and log lines are those of the running httpd
2.4.71.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.asked import Reply, ask, engine

from whimbrel.base.errors import ConfigError

PAGE = {"htdocs/a.txt": "A\n"}


def answer(root: Path, conf: str, path: str = "/a.txt", *headers: str) -> Reply:
    return ask(engine(root, conf, PAGE), path, *headers)


CHAIN = """
<If "%{REQUEST_URI} == '/a.txt' && req('X-Q') =~ /(a)(b)/">
Header always set X-If 1
<If "true">
Header always append X-Order inner
</If>
</If>
<ElseIf "%{QUERY_STRING} == 'q'">
Header always set X-If 2
</ElseIf>
<ElseIf "file('/none') == '' || true">
Header always set X-If 3
</ElseIf>
<Else>
Header always set X-If 4
</Else>
<If "true">
Header always append X-Order outer
</If>
"""


@pytest.mark.parametrize(
    ("path", "field", "known"),
    [("/a.txt", "X-Q: ab", "1"), ("/a.txt?q", "X-Q: x", "2"), ("/a.txt", "X-Q: x", "4")],
)
def test_the_first_true_section_of_a_chain(tmp_path: Path, path: str, field: str, known: str) -> None:
    found = answer(tmp_path, CHAIN, path, field)
    assert found.get("X-If") == known
    assert found.get("Vary") == "X-Q"


def test_inner_sections_come_after_all_outer_ones(tmp_path: Path) -> None:
    assert answer(tmp_path, CHAIN, "/a.txt", "X-Q: ab").get("X-Order") == "outer, inner"


@pytest.mark.parametrize(("field", "status"), [("X-Q: ab", 200), ("X-Q: x", 403)])
def test_require(tmp_path: Path, field: str, status: int) -> None:
    conf = "<Location /a.txt>\nRequire expr \"req('X-Q') == 'ab'\"\n</Location>"
    assert answer(tmp_path, conf, "/a.txt", field).status == status


def test_a_requirement_that_cannot_be_evaluated_is_an_error(tmp_path: Path) -> None:
    assert answer(tmp_path, "<Location /a.txt>\nRequire expr file('/none') == ''\n</Location>").status == 500


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        ('SetEnvIfExpr "true" A=$1x B=\\\\$1 C=a&b', "x|$1|a&b"),
        ("SetEnvIfExpr \"'ab' =~ /(a)(x)?/\" A=$1-$2-$3 C=$0&b$", "a--|(null)|a&b$"),
        ('SetEnvIfExpr "\'ab\' =~ /a/" A=$0 B C=x\nSetEnvIfExpr "true" !C', "|1|(null)"),
        ("SetEnvIfExpr \"'ab' =~ /(a)/\" A=$1\nSetEnvIfExpr \"'x' =~ /(y)/ || true\" B=$1 C", "a|$1|1"),
        ("SetEnvIfExpr \"'ab' =~ /(a)/\" A=$1\nSetEnvIfExpr \"req('Q') == ''\" B=$1", "a|a|(null)"),
    ],
)
def test_variables(tmp_path: Path, lines: str, known: str) -> None:
    conf = f'<Location /a.txt>\n{lines}\nHeader always set X-A "%{{A}}e|%{{B}}e|%{{C}}e"\n</Location>'
    assert answer(tmp_path, conf).get("X-A") == known


def test_headers(tmp_path: Path) -> None:
    conf = """
Header set X-A "expr=[%{tolower:ABC}]"
Header set X-B 1 "expr=false"
Header set X-C 1 "expr=file('/none') == ''"
Header set X-D "expr=a%{file:/none}b"
Header set X-E "expr=%{HANDLER}"
"""
    found = answer(tmp_path, conf)
    assert [found.get(f"X-{letter}") for letter in "ABCDE"] == ["[abc]", None, "1", "", "text/plain"]


def test_error_documents(tmp_path: Path) -> None:
    text = answer(tmp_path, 'ErrorDocument 404 "no %{REQUEST_URI}\\n"', "/none")
    assert (text.status, text.body) == (404, "no /none\n")
    assert answer(tmp_path, 'ErrorDocument 404 "$1 x"', "/none").body == " x"
    assert answer(tmp_path, 'ErrorDocument 404 "/%{tolower:A}.txt"', "/none").body == "A\n"
    assert (
        answer(tmp_path, 'ErrorDocument 404 "http://x/%{req:X-Q}"', "/none", "X-Q: ab").get("Location")
        == "http://x/ab"
    )


def test_redirects_escape_what_they_evaluate(tmp_path: Path) -> None:
    conf = '<Location /l>\nRedirect "/a b%{escape:c d}?q"\n</Location>'
    assert answer(tmp_path, conf, "/l").get("Location") == "http://localhost/a%20bc%2520d?q"


def test_an_alias_is_taken_from_the_server_root(tmp_path: Path) -> None:
    assert answer(tmp_path, '<Location /l>\nAlias "%{tolower:HTDOCS}/a.txt"\n</Location>', "/l").body == "A\n"


@pytest.mark.parametrize(
    ("conf", "reason"),
    [
        (
            '<If "%{FOO}">\n</If>',
            "Cannot parse condition clause: syntax error, unexpected $end: Variable 'FOO' does not exist",
        ),
        (
            "<Location />\nRequire expr true true\n</Location>",
            "Cannot parse expression in require line: syntax error, unexpected T_TRUE, expecting $end",
        ),
        ('SetEnvIfExpr "true &&" A', 'Could not parse expression "true &&": syntax error, unexpected $end'),
        ('Header set A 1 "expr=!"', "Can't parse envclause/expression: syntax error, unexpected $end"),
        ('Header set A "expr=%{FOO}"', "Can't parse value expression : Variable 'FOO' does not exist"),
        (
            'ErrorDocument 404 "%{FOO}"',
            "Cannot parse expression in ErrorDocument: Variable 'FOO' does not exist",
        ),
        ('SetHandler "%{FOO}"', "Can't parse expression : Variable 'FOO' does not exist"),
        (
            '<Location /x>\nRedirect 302 "%{FOO}"\n</Location>',
            "Cannot parse redirect expression '%{FOO}': Variable 'FOO' does not exist",
        ),
        (
            '<Location /x>\nAlias "%{FOO}"\n</Location>',
            "Cannot parse alias expression '%{FOO}': Variable 'FOO' does not exist",
        ),
    ],
)
def test_refusals(tmp_path: Path, conf: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        engine(tmp_path, conf)
    assert caught.value.reason == reason


def test_files_cannot_be_read_from_htaccess(tmp_path: Path) -> None:
    files = {**PAGE, "htdocs/.htaccess": 'Header set A "expr=%{file:/etc/hostname}"\n'}
    assert ask(engine(tmp_path, "", files), "/a.txt").status == 500


def test_sub_requests(tmp_path: Path) -> None:
    conf = """
<Location /closed>
Require all denied
</Location>
Header set X-A "1" "expr=-U '/a.txt' && -U '/none' && !(-U '/closed')"
Header set X-B "1" "expr=-F '@/htdocs/a.txt' && !(-F '@/htdocs/none')"
"""
    found = answer(tmp_path, conf)
    assert (found.get("X-A"), found.get("X-B")) == ("1", "1")
