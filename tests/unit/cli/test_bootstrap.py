"""-t, --strict and -L of a configuration. Expected: "Syntax OK" and -L are httpd's, on its streams."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whimbrel.cli.httpd import run

PREAMBLE = "LoadModule mpm_event_module m/mod_mpm_event.so\nServerName a\n"
# of 2.2: every module of 2.4 has behaviour
WITHOUT = "LoadModule example_module m/mod_example.so\n<Location />\nExample\n</Location>\n"


def call(root: Path, text: str, *words: str) -> int:
    """Run whimbrel-httpd with *words* on a server root with this configuration."""
    (root / "logs").mkdir(exist_ok=True)
    is_22 = text == WITHOUT
    (root / "httpd.conf").write_text(("ServerName a\n" if is_22 else PREAMBLE) + text)
    return run(
        [
            "whimbrel-httpd",
            "--builtin",
            "debian",
            *(("--dialect", "2.2") if is_22 else ()),
            "-d",
            str(root),
            "-f",
            "httpd.conf",
            *words,
        ]
    )


@pytest.mark.parametrize(
    ("text", "words", "status", "lines"),
    [
        ("", ["-t", "--strict"], 0, ["Syntax OK"]),
        (WITHOUT, ["-t"], 0, ["Syntax OK", "Example (mod_example.c)"]),
        (WITHOUT, ["-t", "--strict"], 1, ["Syntax OK", "Example (mod_example.c)"]),
        (WITHOUT, ["-S", "--strict"], 1, ["Syntax OK", "Example (mod_example.c)"]),
    ],
)
def test_directives_without_behaviour(
    text: str,
    words: list[str],
    status: int,
    lines: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert call(tmp_path, text, *words) == status
    printed = capfd.readouterr().err.splitlines()
    assert len(printed) == len(lines)
    assert all(part in line for part, line in zip(lines, printed, strict=True))


@pytest.mark.parametrize(("words", "status"), [(["-t"], 0), (["-t", "--strict"], 1)])
def test_json(words: list[str], status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(tmp_path, WITHOUT, *words, "--json") == status
    document = json.loads(capfd.readouterr().out)
    assert document["ok"]
    assert [row["directive"] for row in document["without_behaviour"]] == ["Example"]


def test_the_list_of_directives_is_that_of_the_loaded_modules(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Asked of apache2: -L reads the whole configuration, and fails where -t does."""
    assert call(tmp_path, "LoadModule env_module m/mod_env.so\n", "-L") == 0
    out, err = capfd.readouterr()
    sources = {line.rpartition("(")[2][:-1] for line in out.splitlines() if line.endswith(".c)")}
    assert {"core.c", "mod_so.c", "mod_log_config.c", "mod_env.c"} <= sources
    assert "mod_alias.c" not in sources
    assert err == ""
    assert call(tmp_path, "Nosuch\n", "-L") == 1
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ServerName a\n".encode("utf-16"), "the text is UTF-16, which httpd does not read; convert it: "),
        (b"\xef\xbb\xbfServerName a\nListen 1\n", "the file begins with a byte order mark"),
        (b"Listen 80\rServerName a\rListen 81\r", "lines end with carriage returns alone"),
    ],
)
def test_a_text_of_another_encoding_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: bytes, reason: str
) -> None:
    """Not the module that no line of it can load."""
    (tmp_path / "httpd.conf").write_bytes(text)
    assert run(["whimbrel-httpd", "-d", str(tmp_path), "-f", "httpd.conf", "-t"]) == 1
    hints = [line for line in capfd.readouterr().err.splitlines() if line.startswith("hint: ")]
    assert len(hints) == 1 and hints[0].startswith(f"hint: {tmp_path}/httpd.conf:1: {reason}"), hints


def test_a_recursion_has_its_reason_after_the_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """httpd's message ends at 8192 characters, before the reason; ours follows."""
    assert call(tmp_path, f"Include {tmp_path}/httpd.conf\n", "-t") == 1
    *_warnings, first, hint = capfd.readouterr().err.splitlines()
    assert len(first) > 8000 and "maximum include depth" not in first
    assert hint.startswith("hint: whimbrel-httpd: Syntax error on line 3 of ")
    assert "maximum include depth" in hint
