"""Configuration files as trees: no exception, every byte in the tree; formatting twice is formatting once."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz import seeds as recorded
from whimbrel.cli.fmt import spelled
from whimbrel.syntax.format import NotTheSame, formatted
from whimbrel.syntax.lines import V22_LINES, V24_LINES
from whimbrel.syntax.spans import args_range, name_range
from whimbrel.syntax.tree import Close, Directive, Section, parse
from whimbrel.syntax.words import getword, getword_braced, tokenize_argv

COVERED = ("syntax/tree.py", "syntax/lines.py", "syntax/words.py", "syntax/format.py", "syntax/spans.py")
TOKENS = (
    b"<If>",
    b"</If>\n",
    b"<Directory ",
    b">\n",
    b"\\\n",
    b"\\\r\n",
    b"\n",
    b'"',
    b"'",
    b"#",
    b"{",
    b"}",
    b"\\",
    b"<",
    b"</",
)


def seeds() -> Sequence[bytes]:
    return [
        *recorded.few(recorded.texts("config-lang", "config-mixed", "core-rewrite", "config-vhost")),
        b'<Macro m $a>\nUse n $a\n</Macro>\n<Perl>\nx{\n</Perl>\n  a "b \\" c" \\\n  d\n',
        b"<Directory />\n<Files x>\n</Directory>\n</Files>\n",
        b"<IfModule x\n</IfModule\n<>\n</>\nRewriteRule {a} {b} \\",
    ]


def run(data: bytes) -> None:
    for rules in (V22_LINES, V24_LINES):
        document = parse(data, rules)
        assert b"".join(data[start:end] for start, end in document.ranges()) == data
        for node in document.walk():
            if isinstance(node, Directive | Section | Close):
                for start, end in (name_range(document, node), args_range(document, node)):
                    assert node.start <= start <= end <= node.end
            if isinstance(node, Directive | Section):
                _check_words(node.args)
    try:
        once = formatted(data, spelled)
    except NotTheSame:
        return
    assert formatted(once, spelled) == once


def _check_words(text: str) -> None:
    at = 0
    while at < len(text):
        _word, end = getword(text, at)
        assert end > at
        at = end
    getword_braced(text)
    tokenize_argv(text)
