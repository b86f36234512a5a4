"""Short explanations as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, explained, old_side, side_of

from whimbrel.base.errors import SourceLocation
from whimbrel.base.terminal_text import UNBOUNDED
from whimbrel.config.origins import Origin
from whimbrel.explain.changes import changed_steps
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.source_lines import SourceLines
from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.explain.text import (
    OutputStyle,
    TextRow,
    difference_lines,
    have_equal_answers,
    main_rows,
    row_lines,
    short_lines,
)
from whimbrel.explain.void_lines import UNREAD, VOID
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.verify.probe import Probe

NOTHING = KnowledgeScope()
DENIED = RequestExplanation(
    "GET http://q/ from 192.0.2.1",
    "2.4",
    403,
    steps=(
        ExplanationStep("virtual host", "main server", "q", detail="there is no <VirtualHost>"),
        ExplanationStep("file", "/r/htdocs/", "directory"),
        ExplanationStep(
            "access",
            "denied",
            "denied",
            detail="403",
            children=(
                ExplanationStep(
                    "access", "Require x", "denied", (Origin(SourceLocation("/r/a.conf", 7), "Require x"),)
                ),
            ),
        ),
        *(ExplanationStep("sub-request", f"GET /{number}") for number in range(1200)),
        ExplanationStep("response", "GET /", "403 Forbidden"),
    ),
)


def test_a_text_that_22_does_not_load_is_compared_with_another_one() -> None:
    hint = "--diff OLD@2.2 compares with the text of 2.2 in OLD"
    last = list(short_lines(DENIED, NOTHING, OutputStyle("/r", upgrade_hint=hint)))[-1]
    assert last == f"-v shows every step; {hint}"


def test_the_answer_its_cause_and_the_main_steps() -> None:
    assert list(short_lines(DENIED, NOTHING, OutputStyle("/r"))) == [
        "403 Forbidden   GET http://q/ from 192.0.2.1   httpd 2.4",
        "because  Require x  a.conf:7",
        "         it does not admit this client",
        "",
        "virtual host   main server (there is no <VirtualHost>)",
        "file           htdocs (directory)",
        "access         Require x: denied  a.conf:7",
        "sub-requests   1,200",
        "-v shows every step; --diff 2.2 compares",
    ]


def test_unknown_items_that_matter_stand_there_and_all_others_are_counted() -> None:
    place = SourceLocation("/r/b.conf", 3)
    scope = KnowledgeScope(
        items=(
            UnknownItem(UnknownKind.MISSING, place, "no password file is here", "logins were assumed"),
            UnknownItem(UnknownKind.LEFT_OUT, None, "a log", matters=False),
        )
    )
    lines = list(short_lines(DENIED, scope, OutputStyle("/r")))
    assert lines[-3] == "not known      no password file is here; logins were assumed  b.conf:3"
    assert lines[-2] == "               1 fact that this answer does not depend on"
    assert lines[3] == "not certain: the answer may depend on what is not known here, see below"


@pytest.mark.parametrize("width", [20, 80, 200])
@pytest.mark.parametrize("is_colored", [False, True])
def test_lines_fit_the_terminal_unless_one_word_does_not(width: int, is_colored: bool) -> None:
    lines = list(short_lines(DENIED, NOTHING, OutputStyle("/r", width, is_colored)))
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    assert any("\x1b[" in line for line in lines) is is_colored
    assert [line for line in plain if len(line) > width and len(line.split()) > 1] == []
    words = " ".join(plain).split()
    assert {"403", "Forbidden", "a.conf:7", "http://q/", "<VirtualHost>)"} <= set(words)


def test_a_narrow_terminal_has_labels_and_texts_below_each_other() -> None:
    """From 48 columns on they stand beside each other."""
    rows = [TextRow("file", "htdocs", "a.conf:7"), TextRow("", "more"), TextRow("x", "one")]
    assert list(row_lines(rows, OutputStyle(width=47))) == ["file", "  htdocs  a.conf:7", "  more", "x one"]
    assert list(row_lines(rows, OutputStyle(width=48))) == [
        "file           htdocs  a.conf:7",
        "               more",
        "x              one",
    ]


@pytest.mark.parametrize(
    ("status", "errors", "color"),
    [
        (200, (), "32;1"),
        (399, (), "32;1"),
        (400, (), "31;1"),
        (None, (), "33;1"),
        (None, ("AH00526: x",), "31;1"),
    ],
)
def test_the_color_of_an_answer(status: int | None, errors: tuple[str, ...], color: str) -> None:
    """Green, red from 400 on, yellow where it is not decided (ECMA-48: 32, 31, 33)."""
    explanation = RequestExplanation("GET /", "2.4", status, errors=errors)
    first = next(iter(short_lines(explanation, NOTHING, OutputStyle(is_colored=True))))
    assert first.startswith(f"\x1b[{color}m")


def test_who_admitted_the_client_is_a_row(tmp_path: Path) -> None:
    found = explained(side_of(tmp_path), "/index.html")
    lines = list(short_lines(found, NOTHING, OutputStyle(str(tmp_path))))
    assert [line.split() for line in lines if line.startswith("granted")] == [
        ["granted", "Require", "all", "granted", f"httpd.conf:{_line(tmp_path, 'Require all granted')}"]
    ]


def _line(root: Path, text: str) -> int:
    lines = [line.strip() for line in (root / "httpd.conf").read_text().splitlines()]
    return lines.index(text) + 1


@pytest.mark.parametrize("result", [VOID, UNREAD])
def test_lines_that_are_not_asked_are_a_row(result: str) -> None:
    lines = (Origin(SourceLocation("/r/htdocs/.htaccess", 2), "RewriteRule"),)
    step = ExplanationStep("rules", "2 rules of /r/htdocs/.htaccess", result, lines, "no line of /r/a")
    rows = main_rows(RequestExplanation("GET /", "2.4", 200, steps=(step,)), SourceLines(), "/r")
    expected = "2 rules of htdocs/.htaccess: no line of a"
    assert [row for row in rows if row.label == result] == [TextRow(result, expected, "htdocs/.htaccess:2")]


def test_hostile_text_is_escaped_and_is_no_markup() -> None:
    rows = [TextRow("file", "a\x1b[2J[red]b[/red]\nc" + "x" * 1_000_000, "p\x07:1")]
    (line, place) = row_lines(rows, OutputStyle(width=UNBOUNDED)), ""
    (text,) = line
    assert text.startswith("file           a\\x1b[2J[red]b[/red]\\x0acx") and len(text) < 500 and not place
    assert text.endswith("p\\x07:1") and "\x07" not in text


def test_equal_answers_say_so_and_list_no_step(tmp_path: Path) -> None:
    side = side_of(tmp_path)
    old = explained(side, "/old/x")
    lines = list(difference_lines((old, old), [], (), ("2.2", "2.4"), NOTHING, OutputStyle(str(tmp_path))))
    assert lines[0] == "same answer: 302 Found to http://q.example/new/x"
    assert lines[1].endswith("in 2.2 and 2.4")
    assert lines[2].startswith("because  Redirect /old /new  httpd.conf:") and len(lines) == 4


def test_other_answers_list_the_innermost_steps_that_differ(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    old = explained(side_of(tmp_path), "/old/x")
    new = explained(side_of(other, CONF.replace("Redirect /old", "Redirect /older")), "/old/x")
    changes = list(changed_steps(old, new))
    style = OutputStyle(str(tmp_path))
    lines = list(difference_lines((old, new), changes, (), ("before", "after"), NOTHING, style))
    assert lines[0] == "302 Found to http://q.example/new/x in before, 404 Not Found in after"
    assert lines[lines.index("- before") + 1].startswith("because  Redirect /old /new  httpd.conf:")
    assert any(line.startswith("because  DocumentRoot") for line in lines[lines.index("+ after") :])
    assert any(line.startswith("- mapping: mod_alias: status 302") for line in lines)


def test_a_field_that_differs_is_in_the_first_lines_with_its_line(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    typed = f"{CONF}AddType text/x-a .html\nHeader set X-Only yes\n"
    old, new = explained(side_of(tmp_path, typed), "/"), explained(side_of(other), "/")
    changes = list(changed_steps(old, new))
    lines = list(difference_lines((old, new), changes, (), ("a", "b"), NOTHING, OutputStyle(str(tmp_path))))
    first = [line for line in lines[: lines.index("- a")] if line[:1] in "-+"]
    number = (tmp_path / "httpd.conf").read_text().splitlines().index("AddType text/x-a .html") + 1
    assert any(
        line.split() == ["-", "Content-Type:", "text/x-a", f"httpd.conf:{number}"] for line in first
    ), first
    assert any(line.startswith("+ Content-Type: text/html") for line in first)
    assert any(line.startswith("- Header set X-Only yes") for line in first)


def test_types_of_other_lines_are_no_difference(tmp_path: Path) -> None:
    """Another line that gives the same type, and the name of a request, change no answer."""
    other = tmp_path / "other"
    other.mkdir()
    old = explained(side_of(tmp_path, f"{CONF}AddType text/html .html\n"), "/")
    new = explained(side_of(other), "/")
    assert have_equal_answers(old, new, list(changed_steps(old, new)))
    steps = [ExplanationStep("request", "mod_unique_id", f"env UNIQUE_ID {name}") for name in ("a1", "b2")]
    first, second = (RequestExplanation("GET /", "2.4", 200, steps=(step,)) for step in steps)
    assert not list(changed_steps(first, second))


def test_a_side_that_does_not_load_has_no_steps() -> None:
    broken = RequestExplanation("GET http://q/", "2.2", errors=("AH00526: Syntax error\nInvalid",))
    lines = list(difference_lines((broken, DENIED), [], (), ("2.2", "2.4"), NOTHING, OutputStyle()))
    assert lines[0] == "the configuration does not load in 2.2, 403 Forbidden in 2.4"
    assert "because  AH00526: Syntax error Invalid" in lines
    assert not any("steps that differ" in line for line in lines)


def test_of_several_clients_in_one_line_one_that_matches_is_its_result(tmp_path: Path) -> None:
    text = (
        "Listen 80\nServerName q\nDocumentRoot @ROOT@/htdocs\nTypesConfig @ROOT@/mime.types\n"
        "<Directory @ROOT@/htdocs>\nOrder allow,deny\nAllow from 10.1 192.0.2 10.2\n</Directory>\n"
    )
    found = explained(old_side(tmp_path, text), "/index.html")
    rows = [row.text for row in main_rows(found, SourceLines(), str(tmp_path)) if "Allow" in row.text]
    assert rows == ["Allow from 10.1 192.0.2 10.2: matches"]


def test_a_password_that_is_right_grants_nothing_by_itself(tmp_path: Path) -> None:
    side = side_of(tmp_path, CONF.replace("Require valid-user", "Require user bob").split("<VirtualHost")[0])
    sha = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"  # htpasswd -nbs alice secret
    (tmp_path / "users").write_text(sha)
    found = explained(side, "/private/x.html", user="alice")
    assert found.status == 401
    lines = list(short_lines(found, NOTHING, OutputStyle(str(tmp_path))))
    (row,) = [line for line in lines if "AuthUserFile" in line]
    assert "password assumed right" in row and "granted" not in row
    right = ("Authorization", "Basic YWxpY2U6c2VjcmV0")  # alice:secret
    found = explain_probe(side, Probe("/private/x.html", host="q", fields=(right,)))
    lines = list(short_lines(found, NOTHING, OutputStyle(str(tmp_path))))
    (row,) = [line for line in lines if "AuthUserFile" in line]
    assert "password accepted" in row


def test_a_header_line_that_did_nothing_is_no_step(tmp_path: Path) -> None:
    """apache2: the type of a.html stays text/html, as the condition of the line does not hold."""
    line = "Header set Content-Type text/plain \"expr=%{CONTENT_TYPE} == ''\"\n"
    side = side_of(tmp_path, CONF.split("<VirtualHost")[0] + line)
    texts = [step.what for step in explained(side, "/index.html").all() if step.kind == "header"]
    assert any(text.startswith("Header set X-Site") for text in texts)
    assert not any(text.startswith("Header set Content-Type") for text in texts)


def test_a_method_that_no_require_is_about_is_granted_by_name(tmp_path: Path) -> None:
    # mod_authz_core: a container none of whose lines is about the method grants (apache2 2.4.71: 200)
    limit = "AuthType Basic\nAuthName x\n<LimitExcept GET>\nRequire user admin\n</LimitExcept>\n"
    conf = CONF.replace(
        "</Directory>\n<VirtualHost",
        f'</Directory>\n<Directory "@ROOT@/htdocs/open">\n{limit}</Directory>\n<VirtualHost',
    )
    (tmp_path / "htdocs/open").mkdir(parents=True)
    (tmp_path / "htdocs/open/x.html").write_text("x")
    lines = list(short_lines(explained(side_of(tmp_path, conf), "/open/x.html"), NOTHING, OutputStyle("/r")))
    assert lines[0].startswith("200 OK")
    (granted,) = (line for line in lines if line.startswith("granted"))
    assert "Require user admin: about other methods" in granted
