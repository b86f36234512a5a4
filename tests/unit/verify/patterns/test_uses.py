"""What patterns of lines are matched with."""

from __future__ import annotations

import pytest

from whimbrel.access.atoms import Opaque
from whimbrel.base.dialect import V22, V24
from whimbrel.verify.config_lines import ConfigLine, LineScope
from whimbrel.verify.patterns.conditions import PatternSpace
from whimbrel.verify.patterns.languages import Pattern
from whimbrel.verify.patterns.uses import use_of_scope, uses_of_line

SERVER = LineScope("server", "", "", 0)
DIRECTORY = LineScope("directory", "/srv", "", 1)


@pytest.mark.parametrize(
    ("scope", "name", "args", "pattern", "subject", "has_spans"),
    [
        (SERVER, "setenvif", "Referer ^a met", Pattern("^a"), "Referer", False),
        (SERVER, "setenvifnocase", "Referer ^(a) met=$1", Pattern("^(a)", True), "Referer", True),
        (SERVER, "browsermatchnocase", '"a b" met', Pattern("a b", True), "User-Agent", False),
        (SERVER, "rewriterule", "!^/a /b [NC,L]", Pattern("^/a", True, True), "url", False),
        (DIRECTORY, "rewriterule", "^(a) /b/$1", Pattern("^(a)"), "relative url", True),
        (SERVER, "rewritecond", "%{HTTP_HOST} !^a [NC]", Pattern("^a", True, True), "http_host", False),
        (SERVER, "rewritecond", "%{HTTP:X-Kind} ^a", Pattern("^a"), "X-Kind", False),
        (SERVER, "rewritecond", "%{HTTP_X_KIND} ^a", Pattern("^a"), "X-Kind", False),
        (SERVER, "rewritecond", "%{HTTP_HOST}%{REQUEST_URI} ^a", Pattern("^a"), "", False),
        (SERVER, "redirectmatch", "gone ^/a", Pattern("^/a"), "url", False),
        (SERVER, "redirectmatch", "301 \\.gif$ /b$1", Pattern("\\.gif$"), "url", True),
        (SERVER, "aliasmatch", "^/a(.*) /b$1", Pattern("^/a(.*)"), "url", True),
        (SERVER, "header", "always edit X-Kind ^a b", Pattern("^a"), "response field", True),
        (SERVER, "require", "expr %{HTTP_HOST} =~ m#^a/#i", Pattern("^a/", True), "http_host", False),
        (SERVER, "require", "expr \"req('X-Kind') !~ /a\\/b/\"", Pattern("a/b"), "X-Kind", False),
    ],
)
def test_lines(
    scope: LineScope, name: str, args: str, pattern: Pattern, subject: str, has_spans: bool
) -> None:
    (use,) = uses_of_line(ConfigLine(name, args, "", 1, scope), version22=False)
    assert (use.pattern, use.subject, use.has_spans) == (pattern, subject, has_spans)


def test_the_groups_of_a_condition_count_where_its_rule_names_them() -> None:
    scope = LineScope("server", "", "", 0)
    rows = [("rewritecond", "%{HTTP_HOST} ^(a)"), ("rewriterule", "^ /%1"), ("rewritecond", "%{HTTP_HOST} b")]
    scope.lines = [ConfigLine(name, args, "", number, scope) for number, (name, args) in enumerate(rows)]
    first, _, last = scope.lines
    assert uses_of_line(first, version22=False)[0].has_spans
    assert not uses_of_line(last, version22=False)[0].has_spans


@pytest.mark.parametrize(
    ("kind", "args", "subject"),
    [
        ("filesmatch", '"^a$"', "file"),
        ("files", '~ "^a$"', "file"),
        ("files", "*.[ab]", "file"),
        ("locationmatch", "^/a", "url"),
        ("location", "/*/a", "url"),
        ("directory", "/srv/*/a", "directory"),
    ],
)
def test_sections(kind: str, args: str, subject: str) -> None:
    use = use_of_scope(LineScope(kind, args, "", 1), V24)
    assert use is not None and use.subject == subject


def test_the_end_of_a_path_has_no_place_in_2_2() -> None:
    scope = LineScope("directorymatch", "/a$", "", 1)
    old, new = use_of_scope(scope, V22), use_of_scope(scope, V24)
    assert old is not None and new is not None
    assert new.pattern.holds("/srv/a") and not old.pattern.holds("/srv/a")


@pytest.mark.parametrize(("kind", "args"), [("location", "/a"), ("directory", "/srv"), ("limit", "GET")])
def test_sections_without_a_pattern(kind: str, args: str) -> None:
    assert use_of_scope(LineScope(kind, args, "", 1), V24) is None


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        ("if %{HTTP_HOST} =~ m#^a.*#", "if %{HTTP_HOST} =~ /^a/", True),
        ("if %{HTTP_HOST} =~ /[ab]/", "if %{HTTP_HOST} =~ /(a|b)/", True),
        ("if %{HTTP_HOST} =~ /a/", "if %{HTTP_HOST} !~ /a/", False),
        ("if %{HTTP_HOST} =~ /a/", "if %{HTTP_HOST} =~ /a/i", False),
        ("if %{HTTP_HOST} =~ /a/", "if %{SERVER_NAME} =~ /a.*/", False),
        ("if %{HTTP_HOST} =~ /a/", "if ! %{HTTP_HOST} =~ /a.*/", False),
        ("if %{HTTP_HOST} =~ /a/ && -f '/x'", "if %{HTTP_HOST} =~ /a.*/ && -f '/y'", False),
        ("if %{HTTP_HOST} =~ /(a)/ && $1 == 'a'", "if %{HTTP_HOST} =~ /(a.*)/ && $1 == 'a'", False),
        ("if %{HTTP_HOST} == 'a'", "if %{HTTP_HOST} == 'b'", False),
    ],
)
def test_conditions_of_equal_patterns_are_one(first: str, second: str, is_equal: bool) -> None:
    space = PatternSpace()
    variables = space.variable(Opaque(first)), space.variable(Opaque(second))
    assert (variables[0] == variables[1]) is is_equal
    assert space.atoms(variables[0]) == [Opaque(first)]
