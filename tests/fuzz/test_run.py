"""The fuzzer itself: it reports what raises and what is slow, and goes on."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path

import pytest

from tests.fuzz import run, target
from tests.fuzz.fuzzer import Findings, fuzz


class Broken:
    """A target that raises for a letter, and takes long for another one."""

    COVERED = ()
    TOKENS = (b"x", b"s")

    def seeds(self) -> list[bytes]:
        return [b"aa", b"bbbb"]

    def run(self, data: bytes) -> None:
        if b"x" in data:
            raise KeyError("x")
        if b"s" in data:
            end = time.process_time() + 0.02
            while time.process_time() < end:
                pass


def test_a_slow_input_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "FIXED", 0.01)
    target.check_input(Broken(), b"a")
    with pytest.raises(target.TooSlow):
        target.check_input(Broken(), b"s")


def test_changes_are_the_same_for_one_seed() -> None:
    broken = Broken()
    first = list(islice(target.mutations(broken, broken.seeds(), 5), 50))
    assert first == list(islice(target.mutations(broken, broken.seeds(), 5), 50))
    assert first != list(islice(target.mutations(broken, broken.seeds(), 6), 50))


def test_the_shortest_input_of_a_place_is_kept(tmp_path: Path) -> None:
    findings = Findings(tmp_path / "findings")
    for data in (b"axa", b"x", b"xxxx"):
        try:
            Broken().run(data)
        except KeyError as problem:
            findings.add(data, problem)
    (text,) = (tmp_path / "findings").glob("*.txt")
    assert text.with_suffix("").read_bytes() == b"x"
    assert "KeyError" in text.read_text()


def test_earlier_findings_are_tried_again(tmp_path: Path) -> None:
    earlier = Findings(tmp_path / "findings")
    with pytest.raises(KeyError) as caught:
        Broken().run(b"x")
    earlier.add(b"x", caught.value)
    again = Findings(tmp_path / "findings")
    assert again.take_earlier() == [b"x"]
    assert list((tmp_path / "findings").iterdir()) == []


def test_without_atheris_seeds_are_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.fuzzer.atheris", None)
    monkeypatch.setattr(target, "load", lambda name: Broken())
    fuzz("broken", 0.3, tmp_path)
    assert len(list((tmp_path / "findings").glob("*.txt"))) == 1


def test_unknown_targets_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--list"]) == 0
    assert "head" in capsys.readouterr().out.split()
    with pytest.raises(SystemExit):
        run.main(["nothing"])
    assert "no target: nothing" in capsys.readouterr().err
