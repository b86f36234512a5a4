"""JSON of the page: UTF-8 where the bytes are, types and lengths checked."""

from __future__ import annotations

import json

import pytest

from whimbrel.studio import documents
from whimbrel.studio.documents import Refused, decoded, encoded, from_page, number_in, text_in


def test_bytes_of_utf8_are_shown_as_such() -> None:
    assert json.loads(encoded({"a": from_page("ü→")})) == {"a": "ü→"}


def test_other_bytes_are_shown_as_latin1() -> None:
    assert json.loads(encoded({"a": "\xfc", "b": "\u2192"})) == {"a": "ü", "b": "→"}


def test_a_document_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_DOCUMENT", 10)
    with pytest.raises(Refused, match="choose a smaller part"):
        encoded({"a": "x" * 20})


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        decoded(body)


def test_values_of_other_types_are_refused() -> None:
    for found in ({"a": 1}, {"a": "x" * 9000}):
        with pytest.raises(Refused):
            text_in(found, "a")
    for number in (-1, True, "1", 1.5):
        with pytest.raises(Refused):
            number_in({"a": number}, "a")
