"""ErrorDocument: the texts are recorded from 2.4.71 and 2.2.34."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.site import Site

from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.modules.core.error_document import DocumentTemplate

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"


def document(tmp_path: Path, argument: str, dialect: Dialect = V24) -> object:
    """Return the document of a 404."""
    return (
        Site(tmp_path, f"ErrorDocument 404 {argument}\n")
        .load(dialect)
        .main.defaults.record(CoreDirConfig)
        .error_documents[404]
    )


@pytest.mark.parametrize(
    ("argument", "new", "old"),
    [
        ("a", "a", "a"),
        ('"a \\"b\\" c"', 'a "b" c', 'a "b" c'),
        ('"a \\\\ b"', "a  b", "a \\ b"),
        ('"a\\tb"', "a\tb", "a\\tb"),
        ('"a\\nb"', "a\nb", "a\\nb"),
        ('"\\$x"', "$x", "\\$x"),
        ('"\\x41"', "x41", "\\x41"),
        ('"50%%"', "50%%", "50%%"),
        ('"$x"', "$x", "$x"),
        ('"100% of"', "100% of", "100% of"),
    ],
)
def test_text(tmp_path: Path, argument: str, new: str, old: str) -> None:
    assert document(tmp_path, argument) == '"' + new
    assert document(tmp_path, argument, V22) == '"' + old


def test_urls_and_default(tmp_path: Path) -> None:
    assert document(tmp_path, "/e.html") == "/e.html"
    assert document(tmp_path, "http://h/") == "http://h/"
    assert document(tmp_path, "Default") is None


def test_variables_wait_for_the_request(tmp_path: Path) -> None:
    assert isinstance(document(tmp_path, '"%{REQUEST_URI}"'), DocumentTemplate)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ErrorDocument 418 x", "Unsupported HTTP response code 418"),
        ("ErrorDocument 4O4 x", "Unsupported HTTP response code 4O4"),
        (
            'ErrorDocument 404 "%{bad"',
            "Cannot parse expression in ErrorDocument: syntax error, unexpected T_ERROR, expecting "
            "T_VAR_END or ':': Unterminated string or variable",
        ),
        (
            'ErrorDocument 404 "%{"',
            "Cannot parse expression in ErrorDocument: syntax error, unexpected T_ERROR, expecting T_ID: "
            "Unterminated string or variable",
        ),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


@pytest.mark.parametrize(
    ("status", "new", "old"),
    [(429, True, False), (418, False, True), (425, False, True), (451, True, False), (506, True, True)],
)
def test_known_statuses(tmp_path: Path, status: int, new: bool, old: bool) -> None:
    site = Site(tmp_path, f"ErrorDocument {status} /x\n")
    assert (site.check() == "Syntax OK", site.check("2.2") == "Syntax OK") == (new, old)


def test_a_url_for_401_is_ignored_with_a_notice(tmp_path: Path) -> None:
    text = Site(tmp_path, "ErrorDocument 401 http://h/\n").check()
    assert text.splitlines()[0].endswith(
        "AH00113: @/conf/httpd.conf:1 cannot use a full URL in a 401 ErrorDocument directive --- ignoring!"
    )
