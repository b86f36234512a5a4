"""Templates: no edit guesses what a mark stands for, and what could not be edited is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.samples import amount
from tests.unit.upgrade.config_trees import fragments

from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.source.templates import _MARKED, TEMPLATE, has_mark, marked_lines

LANGUAGES = {
    "jinja": ("{{ value }}", "{% if x %}", "{% endif %}"),
    "erb": ("<%= @value %>", "<% if @x -%>", "<% end -%>"),
    "puppet": ("<%= $value %>", "<% $list.each |$n| { -%>", "<% } -%>"),
    "ansible": ("{{ item.value | default('') }}", "{% for a in b %}", "{% endfor %}"),
    "sed": ("@VALUE@", "# @IF@", "# @END@"),
    "sed with percents": ("%value%", "", ""),
    "sed with bars": ("__VALUE__", "", ""),
}
LINES = [
    "Order {}",
    "Order deny,allow",
    "Allow from {}",
    "Deny from all",
    "KeepAlive {}",
    "KeepAliveTimeout {}",
    "ServerTokens {}",
    "MaxClients {}",
    "LockFile {}",
    "NameVirtualHost {}:80",
    "RewriteLog {}",
    "RewriteLogLevel {}",
    "DefaultType {}",
    "SSLProtocol {} SSLv2",
    "Options {} +Indexes",
    "Require {}",
    "SSLMutex file:{}",
    "FilterProvider a b {} c",
    "CacheEnable mem {}",
    "ErrorLog |{}",
    "RewriteRule ^/a/(.*) {}/$1?q=$1",
]


def judged(text: str, tmp_path: Path) -> UpgradeResult:
    """Upgrade *text* as a fragment; lines with marks stay, their names aside, and a second time changes
    nothing.
    """
    found = fragments(tmp_path, {"a.conf": text})
    result = upgrade(found)
    new = result.files.get(f"{tmp_path}/a.conf", text.encode()).decode()
    assert marks(new) == marks(text)
    assert not upgrade(found.reparse(result.files, found)).files
    return result


def marks(text: str) -> list[str]:
    return [line.strip().partition(" ")[2] for line in text.split("\n") if has_mark(line.encode())]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_edit_guesses(language: str, tmp_path: Path) -> None:
    value, before, after = LANGUAGES[language]
    lines = [line.format(value) for line in LINES]
    section = [
        "<Directory /x>",
        "Order deny,allow",
        "Deny from all",
        before,
        f"Allow from {value}",
        after,
        "</Directory>",
    ]
    result = judged("\n".join([*section, *lines]) + "\n", tmp_path)
    reported = {finding.place.line for finding in result.findings if finding.needs_review}
    assert 1 in reported or 2 in reported, "the section that was left is reported"
    assert any("template marks" in finding.message for finding in result.findings)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    language=st.sampled_from(sorted(LANGUAGES)),
    lines=st.lists(
        st.sampled_from(
            [
                *LINES,
                "<Directory /{}>",
                "</Directory>",
                "<IfModule mod_x.c>",
                "</IfModule>",
                "BEFORE",
                "AFTER",
                "Require all granted",
                "<VirtualHost {}:80>",
                "</VirtualHost>",
                "<IfDefine {}>",
                "</IfDefine>",
                "Satisfy any",
                "<Limit GET",
                "Order allow,deny",
            ]
        ),
        max_size=14,
    ),
)
def test_random_templates(language: str, lines: list[str], tmp_path: Path) -> None:
    value, before, after = LANGUAGES[language]
    text = "\n".join(line.format(value).replace("BEFORE", before).replace("AFTER", after) for line in lines)
    result = judged(f"{text}\n", tmp_path)
    assert all(finding.place.path == f"{tmp_path}/a.conf" for finding in result.findings)


def test_lines_in_comments_are_no_marks() -> None:
    assert marked_lines(b"# {{ a }}\nListen {{ a }}\n") == [2]


@pytest.mark.parametrize(
    ("line", "is_marked"),
    [
        (b'SecRule ARGS "(?i:[%n%s]{2,})" "deny"', False),
        (b'SecRule ARGS "(?:<%|<\\?|{{)" "setvar:tx.a=+%{tx.b}"', False),
        (b"<%= scope.lookupvar('x') %>", True),
        (b"  <% if @x", True),
        (b"ServerName <%= @name %>", True),
        (b"ServerName {{ name }}", True),
        (b"Listen [% port %]", True),
        (b"{% if x %}", True),
    ],
)
def test_an_open_bracket_in_a_pattern_is_no_mark(line: bytes, is_marked: bool) -> None:
    """Patterns of ModSecurity have the brackets of template languages as text."""
    assert bool(marked_lines(b"Listen 80\n" + line + b"\n")) is is_marked


@settings(max_examples=amount(100, 300), deadline=None)
@given(st.text(alphabet="<%{}[]@$#\\_:(). aAbBsZ09\n-", max_size=40))
def test_bytes_of_a_text_do_not_hide_a_mark(text: str) -> None:
    """The search of the whole text, which the test of bytes saves, finds no mark where that finds none."""
    lines = enumerate(text.split("\n"), 1)
    expected = [n for n, line in lines if not line.lstrip().startswith("#") and _MARKED.search(line)]
    assert marked_lines(text.encode()) == (expected if TEMPLATE.search(text) else [])
