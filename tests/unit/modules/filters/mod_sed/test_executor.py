"""The executor of sed scripts: answers that apache2 gave."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.sed_scripts import DOCUMENTS, INSERTED, RecordedScript, sed_scripts

from whimbrel.modules.filters.mod_sed.executor import MAX_SPACE, Executor, RunError
from whimbrel.modules.filters.mod_sed.parser import Parser

SCRIPTS = sed_scripts()


def run(root: Path, script: RecordedScript, pieces: list[str]) -> str | int:
    """Return the output of *script* for *pieces*, or 500."""
    parser = Parser()
    for line in script.lines:
        parser.add(line.replace("${NL}", "\n").replace("@/", f"{root}/"))
    out: list[str] = []
    executor = Executor(parser.script(), out.append, lambda text: None, lambda: None)
    try:
        for piece in pieces:
            executor.feed(piece)
        executor.end()
    except RunError:
        return 500
    finally:
        executor.close()
    return "".join(out)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: "; ".join(script.lines)[:60])
def test_a_script_has_the_output_of_httpd(tmp_path: Path, script: RecordedScript) -> None:
    (tmp_path / "ins.txt").write_text(INSERTED)
    got = {name: run(tmp_path, script, [text]) for name, text in DOCUMENTS.items()}
    assert got == script.answers


@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_pieces_have_no_effect_on_the_output(tmp_path: Path, size: int) -> None:
    (tmp_path / "ins.txt").write_text(INSERTED)
    text = DOCUMENTS["a.txt"]
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    for script in SCRIPTS:
        assert run(tmp_path, script, pieces) == script.answers["a.txt"], script.lines


def test_a_script_without_an_end_is_stopped(tmp_path: Path) -> None:
    endless = RecordedScript((":a", "ba"), {})
    assert run(tmp_path, endless, ["x\n"]) == 500


@pytest.mark.parametrize(
    "lines", [(r"s/\(\)/xx/g",), (r"s/\(\)/x/2",), (":a", "G;h", "ba"), (":a", "H;g", "ba")]
)
def test_spaces_that_grow_without_an_end_are_bounded(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert run(tmp_path, RecordedScript(lines, {}), ["some text\n"]) == 500


def executor_of(line: str, out: list[str]) -> Executor:
    """Return the executor of a script of one line."""
    parser = Parser()
    parser.add(line)
    return Executor(parser.script(), out.append, lambda text: None, lambda: None)


def test_cost_of_a_long_line_does_not_depend_on_its_pieces() -> None:
    def seconds(size: int) -> float:
        out: list[str] = []
        executor = executor_of("s/b/c/", out)
        begin = time.process_time()
        for _ in range(MAX_SPACE // size - 1):
            executor.feed("a" * size)
        executor.feed("b\n")
        executor.end()
        assert "".join(out).endswith("ac\n")
        return time.process_time() - begin

    assert seconds(1024) < 20 * seconds(1 << 20) + 1.0  # copies of the line for each piece take 30 seconds


def test_line_in_small_pieces_has_the_same_bound() -> None:
    executor = executor_of("p", [])
    with pytest.raises(RunError):
        for _ in range(MAX_SPACE // 65536 + 1):
            executor.feed("a" * 65536)
