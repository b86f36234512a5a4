"""Lines that neither version reads.  The messages are httpd's."""

from __future__ import annotations

import pytest

pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")

from whimbrel.lsp.line_contexts import FileKind
from whimbrel.lsp.reading_problems import MAX_PROBLEMS, reading_problems
from whimbrel.syntax.tree import parse

MAIN, HTACCESS, FRAGMENT = FileKind.MAIN, FileKind.HTACCESS, FileKind.FRAGMENT


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("<Directory /x>\nListen 80\n</Directory>\n", MAIN, "Listen not allowed here"),
        ("DocumentRoot /x\n", HTACCESS, "DocumentRoot not allowed here"),
        ("AllowOverride None\n", HTACCESS, "AllowOverride not allowed here"),
        (
            "<VirtualHost *>\nPidFile x\n</VirtualHost>\n",
            MAIN,
            "PidFile cannot occur within <VirtualHost> section",
        ),
        ("Require valid-user\n", MAIN, "Require not allowed here"),
        ("Timeout\n", MAIN, "Timeout takes one argument, Timeout duration (sec)"),
        ("ExtendedStatus maybe\n", MAIN, "ExtendedStatus must be On or Off"),
        ("</Directory>\n", MAIN, "a closing tag without its section"),
    ],
)
def test_what_no_version_reads_is_found(text: str, kind: FileKind, message: str) -> None:
    assert [problem.message for problem in reading_problems(parse(text.encode()), kind)] == [message]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Require valid-user\nListen 80\n", FRAGMENT),
        ("Order allow,deny\n", HTACCESS),
        ("<IfModule x.c>\nOptions None\n</IfModule>\n", HTACCESS),
        ("MaxClients 150\nMaxRequestWorkers 150\n", MAIN),
        ("Timeout ${SECONDS}\n", MAIN),
        ("<Macro x $a>\n$a\nTimeout\n</Macro>\n", MAIN),
        ("<Perl>\nmy $x = 1;\n</Perl>\n", MAIN),
        ("PassengerEnabled on\n", MAIN),
        ("WhimbrelIgnoreModule mod_security2.c\n", MAIN),
        ("<Proxy *>\nProxySet timeout=3\n</Proxy>\n", MAIN),
        ("<RequireAny>\nRequire all granted\n</RequireAny>\n", HTACCESS),
        ("Listen {{ port }}\nTimoeut 3\n", MAIN),
    ],
)
def test_what_some_version_may_read_is_no_problem(text: str, kind: FileKind) -> None:
    assert list(reading_problems(parse(text.encode()), kind)) == []


def test_a_misspelled_name_has_its_spelling_and_others_are_uncertain() -> None:
    close, other = reading_problems(parse(b"Optoins None\nAcmeWidget on\n"), MAIN)
    assert (close.name, close.is_certain) == ("Options", True)
    assert (other.name, other.is_certain) == ("", False)


@pytest.mark.parametrize(
    "data", [b"\x7fELF\0\1\2\3" * 40, b"\xff\xfeL\0i\0s\0", b"int main() {\n return 0;\n}\n;\n};\n"]
)
def test_a_text_that_is_no_configuration_is_one_problem(data: bytes) -> None:
    assert [problem.node for problem in reading_problems(parse(data), MAIN)] == [None]


def test_the_number_of_problems_has_a_bound() -> None:
    data = b"Listen 80\n" * 300 + b"Timeout\n" * (MAX_PROBLEMS + 1)
    assert len(list(reading_problems(parse(data), MAIN))) == MAX_PROBLEMS
