"""Open documents: changes of text and ranges, URIs, files that vanish or are none."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")

from lsprotocol.types import (
    Position,
    Range,
    TextDocumentContentChangePartial,
    TextDocumentContentChangeWholeDocument,
)

from whimbrel.lsp import documents
from whimbrel.lsp.documents import DocumentStore, path_of, uri_of

URI = "file:///etc/a.conf"


def test_a_uri_is_a_path_of_bytes() -> None:
    assert path_of("file:///a%20b/%C3%A4.conf") == "/a b/\xc3\xa4.conf"
    assert path_of("file://host/a.conf?x#y") == "/a.conf"
    assert path_of(uri_of("/a b/\xc3\xa4#.conf")) == "/a b/\xc3\xa4#.conf"
    assert path_of("untitled:Untitled-1") == "/untitled:/Untitled-1"


def test_changes_are_applied_in_order_wherever_they_point() -> None:
    store = DocumentStore()
    store.open(URI, "one\ntwo\n", 1)
    middle = Range(Position(0, 1), Position(1, 1))
    outside = Range(Position(9, 9), Position(7, 4))
    document = store.change(
        URI,
        [TextDocumentContentChangePartial(middle, "X"), TextDocumentContentChangePartial(outside, "end")],
        2,
    )
    assert document.data == b"oXwo\nend"
    assert store.change(URI, [TextDocumentContentChangeWholeDocument("all")], 3).data == b"all"
    assert store.overlay() == {"/etc/a.conf": b"all"}


def test_half_of_a_surrogate_pair_is_kept() -> None:
    document = DocumentStore().open(URI, "# \ud83d\n", 1)
    assert document.data == b"# \xed\xa0\xbd\n"
    assert document.lines.position(5) == Position(0, 3)


@pytest.mark.parametrize("name", ["gone.conf", "directory", "zero\0byte"])
def test_a_file_that_cannot_be_read_is_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / "directory").mkdir()
    assert DocumentStore().get(uri_of(f"{tmp_path}/{name}")).data == b""


def test_a_text_that_is_too_large_counts_as_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_BYTES", 10)
    document = DocumentStore().open(URI, "Timeout 300\n", 1)
    assert (document.data, document.is_too_large) == (b"", True)


def test_a_link_to_an_open_file_is_that_document(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text("old\n")
    (tmp_path / "link.conf").symlink_to("a.conf")
    store = DocumentStore()
    store.open(uri_of(f"{tmp_path}/a.conf"), "new\n", 4)
    assert store.at(f"{tmp_path}/link.conf").data == b"new\n"
