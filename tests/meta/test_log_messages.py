"""Log lines of src have the codes and the texts of httpd 2.4.71: its programs are the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.meta.log_messages import PROGRAMS, codes, fits, lines, main, recorded
from tests.meta.tree import assert_none

ELSEWHERE = {
    "AH00164": "the text is the name of a module of messages",
    "AH00937": "the text comes from the caller",
    "AH00980": "the text beside the code is an attribute of AJP",
    "AH01075": "the text is a parameter",
    "AH01477": "the text is completed by a template",
    "AH01599": "the text is a list of what a media type lacks",
    "AH01637": "the text beside the code is the reason in a longer one",
    "AH02032": "the text is a template",
    "AH02196": "the compiler stores two overlapping parts of the text",
    "AH02330": "the text is completed by a template",
    "AH02470": "the text beside the code is a field",
    "AH02524": "what hides the password is a value here",
    "AH02536": "values of any size are encoded in httpd",
    "AH02646": "the text beside the code is an attribute of AJP",
    "AH02830": "the text beside the code is an attribute of AJP",
    "AH10038": "the end of a text whose begin is a value",
    "AH10041": "the text is two values of httpd's",
    "AH10101": "the text is a parameter",
}
"""Codes whose text is not beside them."""
NOT_IN_2_4_71 = {
    "AH01775": "a nonce of another length: read_credentials refuses it before",
    "AH02420": "explain knows it from logs of other releases",
    "AH02042": "a handshake that the client begins: OpenSSL refuses it without a line",
}


@pytest.mark.parametrize(
    ("text", "form", "is_equal"),
    [
        ("user \x01 not found", "user %s not found", True),
        ("TRACE with body", "%s with body", True),
        ("100% of \x01", "100%% of %d", True),
        ("\x01 denied because of \x01", "access to %s denied because of rights", True),
        ("no user \x01", "user %s not found", False),
        ("unable to stat(\x01)", "unable to open(%s)", False),
    ],
)
def test_texts_and_formats(text: str, form: str, is_equal: bool) -> None:
    assert fits(text, form) is is_equal


def test_every_code_is_one_of_httpd() -> None:
    assert_none(sorted(codes() - recorded().keys() - NOT_IN_2_4_71.keys()))


def test_every_text_is_that_of_its_code() -> None:
    formats = recorded()
    skipped = ELSEWHERE.keys() | NOT_IN_2_4_71.keys()
    found = [line for line in lines() if line.code not in skipped]
    assert len(found) > 900
    assert_none(f"{one.place}: {one.code} {one.texts}" for one in found if not one.agrees(formats[one.code]))


def test_exceptions_are_needed() -> None:
    formats = recorded()
    needed = {one.code for one in lines() if not one.agrees(formats.get(one.code, set()))}
    assert set(ELSEWHERE) <= needed
    assert not NOT_IN_2_4_71.keys() & formats.keys()


@pytest.mark.skipif(not Path(PROGRAMS[0]).exists(), reason="no apache2 on this machine")
def test_the_table_is_that_of_the_installed_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.meta import log_messages

    written = tmp_path / "log_messages.tsv"
    kept = log_messages.TABLE.read_text()
    monkeypatch.setattr(log_messages, "TABLE", written)
    main()
    assert written.read_text() == kept
