"""The nightly run: shares of the time, verdicts, and the page in three formats."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.fuzz.target import names
from tests.nightly import samples
from tests.nightly.page import Page, Row
from tests.nightly.parts import PARTS, Command, Part, fuzz, measure
from tests.nightly.run import figures_of, main, run
from tests.support.samples import FULL, pairs, some


def program(code: str) -> Command:
    """Return the command of a program."""
    return (sys.executable, "-c", code)


def test_a_run_of_parts_of_all_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = (
        Part("good", 1, lambda seconds, seed: program(f"print('good holds {seed} cases')")),
        Part("bad", 2, lambda seconds, seed: program("print('2 <faults>'); raise SystemExit(1)")),
        Part("alien", 1, lambda seconds, seed: program("print('no apache2'); raise SystemExit(2)"), (2,)),
        Part("none", 1, lambda seconds, seed: ()),
    )
    page = tmp_path / "page"
    words = ["--minutes", "0.1", "--seed", "7", "--directory", str(tmp_path / "build")]
    status = main([*words, "--markdown", f"{page}.md", "--html", f"{page}.html"], parts)
    text = capsys.readouterr().out
    assert status == 1
    (directory,) = (tmp_path / "build").iterdir()
    rows = json.loads((directory / "rows.json").read_text())
    assert [row["verdict"] for row in rows] == ["green", "red", "skipped", "skipped"]
    assert rows[0]["figures"] == f"good holds {rows[0]['seed']} cases"
    assert (directory / "page.txt").read_text() == text
    assert "1 red" in text and "seed 7" in text
    assert Path(f"{page}.md").read_text().count("\n| ") == 1 + len(parts)
    found = Cells()
    found.feed(Path(f"{page}.html").read_text())
    assert found.rows == 1 + len(parts)
    assert "2 <faults>" in found.text


class Cells(HTMLParser):
    """Counts rows of a table, and collects the text."""

    rows = 0
    text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.rows += tag == "tr"

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_same_seed_gives_each_part_the_same_seed(tmp_path: Path) -> None:
    parts = [Part(name, 1, lambda seconds, seed: ()) for name in "ab"]
    first, again, other = (run(parts, 0.1, seed, tmp_path) for seed in (7, 7, 8))
    assert [row.seed for row in first.rows] == [row.seed for row in again.rows]
    assert [row.seed for row in first.rows] != [row.seed for row in other.rows]
    assert first.rows[0].seed != first.rows[1].seed


def test_a_part_gets_its_share_of_what_is_left(tmp_path: Path) -> None:
    seconds: list[float] = []

    def note(time: float, seed: int) -> Command:
        seconds.append(time)
        return ()

    run([Part("a", 3, note), Part("b", 1, note)], 1, 1, tmp_path)
    assert seconds == pytest.approx([45, 60], abs=2)  # the first has used nothing


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "moon"])
    assert "no part: moon" in capsys.readouterr().err


def test_fuzz_takes_as_many_targets_as_the_time_allows() -> None:
    assert len(fuzz(30, 1)) == 5 + 1
    command = fuzz(1e6, 1)
    assert list(command[5:]) == names()
    assert int(command[4]) * len(names()) < 1e6


def test_a_measure_is_scaled_to_its_time() -> None:
    assert measure("soak", 1800, 3)[2:] == ("tests.hostile.run", "soak", "--scale", "0.5000", "--seed", "3")


def test_the_shares_are_of_a_hundred() -> None:
    assert sum(part.share for part in PARTS) == 100
    assert len({part.name for part in PARTS}) == len(PARTS)


def test_figures_are_the_last_line_with_a_number() -> None:
    assert figures_of("1 site\n 5 sites,  0 differences\nreasons:\n") == "5 sites, 0 differences"
    assert figures_of("") == "no output"


def test_long_figures_are_shortened_and_commands_are_quoted() -> None:
    row = Row("a", "green", 1.0, 1, "9" * 1000, ("make", "faults", "FAULTS=--only a b"))
    page = Page("2026-01-02", "abc", 1, 1.0, (row,))
    assert len(row.shown_figures) == 400
    assert "all green" in page.title
    assert "make faults 'FAULTS=--only a b'" in page.text()


def test_what_make_test_samples_is_found() -> None:
    names = samples.sampled()
    assert {"tests/conformance/test_in_process.py", "tests/upgrade/test_marks.py"} <= set(names)
    assert all((samples.ROOT / name).is_file() for name in names)


def test_samples_have_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds, places = "abcdefg", "xyz"
    monkeypatch.delenv(FULL, raising=False)
    assert some(kinds, 3) == ["a", "c", "e"] and some("ab", 3) == ["a", "b"]
    few = pairs(kinds, places)
    assert (
        len(few) == 7 and {kind for kind, _ in few} == {*kinds} and {place for _, place in few} == {*places}
    )
    monkeypatch.setenv(FULL, "1")
    assert some(kinds, 3) == [*kinds]
    assert len(set(pairs(kinds, places))) == 21


def test_sampled_tests_run_with_all_amounts_until_the_time_is_over(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "test_good.py", tmp_path / "test_bad.py"
    condition = "os.environ['WHIMBREL_FULL'] and os.environ['WHIMBREL_SEED'] == '7'"
    check = f"import os\n\n\ndef test_it():\n    assert {condition}\n"
    good.write_text(check)
    bad.write_text(check.replace("'7'", "'8'"))
    words = ["--seed", "7", "--jobs", "0", str(good), str(bad)]
    assert samples.main(words) == 1
    out = capfd.readouterr().out
    assert f"failed: WHIMBREL_FULL=1 WHIMBREL_SEED=7 pytest {bad}\n" in out
    assert out.endswith("samples: 2 of 2 files, 1 failed\n")
    assert samples.main(["--seconds", "0", *words]) == 0
    assert capfd.readouterr().out == "samples: 0 of 2 files, 0 failed\n"
