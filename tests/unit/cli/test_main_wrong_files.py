"""Wrong files given to every command: one sentence with file, line and remedy, the right exit code, and no
wrong file changed.

The lines that are named are those at which httpd stops, or where the damage is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import warm_command
from tests.support.samples import pairs, some
from tests.support.wrong_files import KINDS, PLACES, Site, site

from whimbrel.api import ConfigurationError, load
from whimbrel.cli.main import app


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """A function that runs a command here and returns its exit code and all its output."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "500")

    def run_command(*words: object) -> tuple[int, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            app(list(map(str, words)), prog_name="whimbrel")
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out + err

    return run_command


def assert_told(text: str, found: Site, kind: str) -> None:
    """The sentence, with path, line and remedy; once for each of two sides at most."""
    wrong = KINDS[kind]
    assert "Traceback" not in text
    places = f"{found.wrong.name}:{found.line}:", f"line {found.line}:"  # fmt names the file first
    lines = [line for line in text.splitlines() if any(place in line for place in places)]
    at_end = f"{found.wrong.name}:{found.line}"  # the column of places of an explanation
    lines += [line for line in text.splitlines() if line.endswith(at_end)]
    frame = re.compile(rf"(?:\S*/)?{re.escape(at_end)}  \S.*")
    frames = [block for block in text.split("\n\n") if frame.match(block)]
    assert any(wrong.said in unit for unit in (*lines, *frames)), text
    assert wrong.remedy in " ".join(text.split()), text  # lines may be wrapped


def line_after(found: Site, before: bytes) -> int:
    """Return the number that the wrong line of the text *before* has in the present text of its file."""
    lines = before.splitlines()
    after = found.wrong.read_bytes().splitlines()
    wrong = lines[found.line - 1] if found.line <= len(lines) else b""
    return after.index(wrong) + 1 if wrong and after.count(wrong) == 1 else found.line


@pytest.mark.parametrize(("kind", "place"), pairs([*KINDS], PLACES))
def test_check_and_upgrade(
    tmp_path: Path, kind: str, place: str, run: Callable[..., tuple[int, str]]
) -> None:
    for is_lone in (False, True) if place == "htaccess" else (False,):
        found = site(tmp_path / f"srv{is_lone}", kind, place)
        before = found.wrong.read_bytes()
        conf = found.wrong if is_lone else found.main
        code, text = run("check", conf)
        assert_told(text, found, kind)
        assert code == 1
        for words in ((), ("--out", tmp_path / f"out-{conf.name}"), ("--write",)):
            code, text = run("upgrade", *words, conf)
            assert_told(text, found._replace(line=line_after(found, before)), kind)
            assert code in ((1, 3) if not words else (3,)), text  # 1: the diff of another file
            if not KINDS[kind].is_editable:
                assert found.wrong.read_bytes() == before


@pytest.mark.parametrize(("kind", "place"), pairs([*KINDS], PLACES))
def test_verify_explain_and_replay(
    tmp_path: Path, kind: str, place: str, run: Callable[..., tuple[int, str]]
) -> None:
    found = site(tmp_path / "srv", kind, place)
    log = tmp_path / "log"
    log.write_text('192.0.2.7 - - [10/Oct/2024:13:55:36 +0000] "GET /index.html HTTP/1.0" 500 1 "-" "-"\n')
    is_read = place == "htaccess"  # by requests; what httpd does not start with is the result
    commands: dict[tuple[object, ...], int] = {
        ("verify", "--old-dialect", "2.4", found.main): 3 if is_read else 2,
        ("explain", "-f", found.main, "/index.html"): 3 if is_read else 1,
        ("replay", "-j", "1", "--old-dialect", "2.4", "--old", found.main, "--new", found.main, log): (
            3 if is_read else 1
        ),
    }
    for words, expected in commands.items():
        code, text = run(*words)
        assert code == expected, text
        assert_told(text, found, kind)


@pytest.mark.parametrize("kind", some([*KINDS], 4))
def test_rewrite_test_and_the_api(tmp_path: Path, kind: str, run: Callable[..., tuple[int, str]]) -> None:
    cases = tmp_path / "cases"
    cases.write_text("/index.html 200\n")
    for place in ("main", "include"):
        found = site(tmp_path / place, kind, place)
        before = found.wrong.read_bytes()
        code, text = run("rewrite-test", found.main, cases)
        assert code == 2, text
        assert_told(text, found, kind)
        with pytest.raises(ConfigurationError) as refused:
            load(found.main).get("/index.html")
        assert_told(str(refused.value), found, kind)
        findings = load(found.main).check().findings
        assert any(
            KINDS[kind].said in one.message and (one.file, one.line) == (str(found.wrong), found.line)
            for one in findings
        )
        load(found.main).upgrade(verify=False)
        assert found.wrong.read_bytes() == before


@pytest.mark.parametrize("kind", some([*KINDS], 4))
def test_serve_ends_with_the_message_of_httpd(tmp_path: Path, kind: str) -> None:
    """It names the file, and a line at which httpd stops."""
    found = site(tmp_path / "srv", kind, "include")
    before = found.wrong.read_bytes()
    done = warm_command.run(["serve", str(found.main)], cwd=tmp_path)
    text = done.stderr.decode("latin-1")
    assert done.returncode == 1 and "Traceback" not in text
    assert re.search(rf"yntax error on line \d+ of {re.escape(str(found.wrong))}:", text), text
    assert found.wrong.read_bytes() == before


@pytest.mark.parametrize(("kind", "place"), pairs([*KINDS], PLACES))
def test_fmt(tmp_path: Path, kind: str, place: str, run: Callable[..., tuple[int, str]]) -> None:
    found = site(tmp_path / place, kind, place)
    before = found.wrong.read_bytes()
    for option in ((), ("--check",), ("--diff",)):
        code, text = run("fmt", *option, found.wrong)
        assert (code, text.count("\n")) == (2, 1)
        assert_told(text, found, kind)
        assert found.wrong.read_bytes() == before
    assert sorted(path.name for path in found.wrong.parent.iterdir() if "~" in path.name) == []


@pytest.mark.parametrize("kind", ["elf", "unclosed", "misspelled"])
def test_the_server_prints_what_httpd_prints(tmp_path: Path, kind: str) -> None:
    """`-t` has httpd's messages to the letter: the wrong file and its line."""
    found = site(tmp_path / "srv", kind, "include")
    words = ["whimbrel-httpd", "-t", "-f", str(found.main)]
    done = warm_command.run(words, cwd=tmp_path, entry=warm_command.httpd)
    text = done.stderr.decode("latin-1")
    assert done.returncode == 1 and "Traceback" not in text
    assert f"line {found.line} of {found.wrong}" in text


@pytest.mark.parametrize("kind", ["elf", "utf-16", "bom", "nul", "erb", "tpl", "nginx"])
def test_the_server_adds_what_is_wrong_with_the_file(tmp_path: Path, kind: str) -> None:
    found = site(tmp_path / "srv", kind, "main")
    words = ["whimbrel-httpd", "-t", "-f", str(found.main)]
    done = warm_command.run(words, cwd=tmp_path, entry=warm_command.httpd)
    text = done.stderr.decode("latin-1")
    assert done.returncode == 1
    hints = "\n".join(line for line in text.split("\n") if line.startswith("hint: "))
    assert KINDS[kind].said in hints and KINDS[kind].remedy in hints, text
