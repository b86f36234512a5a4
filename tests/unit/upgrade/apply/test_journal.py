"""A journal with values of other types is refused in one line, and nothing is restored from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from whimbrel.upgrade.apply.journal import JOURNAL, Journal, WriteError
from whimbrel.upgrade.apply.left_decisions import LeftDecision
from whimbrel.upgrade.apply.state_directory import StateDirectory
from whimbrel.upgrade.apply.transaction import undo, write

LEFT = LeftDecision(
    "C17", "a.conf", 1, "m", "a", "changes answers", "d?", ("yes",), ("Require",), ("x",), True
)
WRONG: tuple[object, ...] = (None, 5, [], {}, [[]], "\u20ac", "x\0y", True)


def places(value: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of each value within the JSON *value*."""
    yield above
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*above, key))


def replaced(value: object, place: tuple[str | int, ...], other: object) -> object:
    """Return the JSON *value* with *other* at *place*."""
    if not place:
        return other
    copy = value.copy() if isinstance(value, dict | list) else {}
    copy[place[0]] = replaced(copy[place[0]], place[1:], other)  # type: ignore[index]
    return copy


def test_values_of_other_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.conf").write_bytes(b"old\n")
    write({f"{tree}/a.conf": b"new\n"}, str(tree), read={f"{tree}/a.conf": b"old\n"}, left=[LEFT])
    directory = StateDirectory(str(tree))
    file = Path(directory.path) / JOURNAL
    document = json.loads(file.read_text())
    refused = 0
    for place in places(document):
        for other in WRONG:
            file.write_text(json.dumps(replaced(document, place, other)))
            try:
                Journal.load(directory)
            except WriteError:
                refused += 1
                with pytest.raises(WriteError):
                    undo(str(tree))
                assert (tree / "a.conf").read_bytes() == b"new\n"
    assert refused > 200


def test_text_that_is_no_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    directory = StateDirectory(str(tmp_path))
    directory_path = Path(directory.path)
    directory_path.mkdir(parents=True, mode=0o700)
    for text in ("", "[" * 100_000, '{"version":', "\0", "null"):
        (directory_path / JOURNAL).write_text(text)
        (directory_path / JOURNAL).chmod(0o600)
        with pytest.raises(WriteError):
            Journal.load(directory)
