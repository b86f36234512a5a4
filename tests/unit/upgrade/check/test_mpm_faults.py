"""Servers without an MPM, and with two: found where apache2 refuses the text, with the line to change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.corpus.httpd_check import APACHE, needs_apache
from tests.unit.upgrade.config_trees import laid

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.check import CheckResult, check, parse_selection
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.reading import Sources

DEBIAN = "/usr/lib/apache2/modules"
TEXT = """ServerRoot "ROOT"
MPM
LoadModule authz_core_module DIRECTORY/mod_authz_core.so
LoadModule dir_module DIRECTORY/mod_dir.so
Listen 127.0.0.1:8080
ServerName a
"""
EVENT = "LoadModule mpm_event_module DIRECTORY/mod_mpm_event.so"
WORKER = "LoadModule mpm_worker_module DIRECTORY/mod_mpm_worker.so"
NONE = "AH00534: Configuration error: No MPM loaded."
SEVERAL = "AH00534: Configuration error: More than one MPM loaded."
CASES = [
    (f"<IfDefine EV>\n{EVENT}\n</IfDefine>", (), NONE, 3),
    (f"<IfDefine EV>\n{EVENT}\n</IfDefine>", ("EV",), "", 0),
    (f"<IfDefine EV>\n{EVENT}\n</IfDefine>\n<IfDefine !EV>\n{WORKER}\n</IfDefine>", (), "", 0),
    (f"<IfVersion < 2.4>\n{EVENT}\n</IfVersion>", (), NONE, 2),
    (f"{EVENT}\n{WORKER}", (), SEVERAL, 3),
    (f"<IfModule !mpm_event_module>\n{EVENT}\n</IfModule>", (), "", 0),
    (f"<IfModule mpm_event_module>\n{WORKER}\n</IfModule>\n{EVENT}", (), "", 0),
    ("# none", (), NONE, 2),
]


def text_of(mpm: str, directory: str) -> str:
    return TEXT.replace("MPM", mpm).replace("DIRECTORY", directory)


def checked(root: Path, text: str, defines: tuple[str, ...]) -> CheckResult:
    laid(root, {"conf/httpd.conf": text})
    options = LoadOptions(server_root=str(root), defines=defines)
    return check(Sources(options=options), parse_selection("", ""))


def about_mpm(result: CheckResult) -> list[Finding]:
    return [one for one in result.findings if "AH00534" in one.message]


@pytest.mark.parametrize("directory", ["modules", DEBIAN])
@pytest.mark.parametrize(("mpm", "defines", "message", "line"), CASES)
def test_the_line_is_named(
    tmp_path: Path, mpm: str, defines: tuple[str, ...], message: str, line: int, directory: str
) -> None:
    found = about_mpm(checked(tmp_path, text_of(mpm, directory), defines))
    assert len(found) == bool(message)
    for one in found:
        assert message.rpartition(": ")[2].rstrip(".") in one.message
        assert (one.risk, one.needs_review or bool(one.edits)) == (Risk.BREAKS, True)
        assert "LoadModule" in one.advice or "keep one of these lines" in one.advice
        if "C05" not in one.rule:
            assert one.place.line == line


@needs_apache
@pytest.mark.parametrize(("mpm", "defines", "message", "_line"), CASES)
def test_apache2_says_the_same(
    tmp_path: Path, mpm: str, defines: tuple[str, ...], message: str, _line: int
) -> None:
    laid(tmp_path, {"conf/httpd.conf": text_of(mpm, DEBIAN), "htdocs/a": "", "logs/a": ""})
    command = [APACHE, "-t", "-d", str(tmp_path), "-f", "conf/httpd.conf", *(f"-D{name}" for name in defines)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    wanted = message.replace("AH00534: ", "AH00534: apache2: ") or "Syntax OK"
    assert wanted in done.stderr


def test_a_text_of_24_gets_the_mpm_of_24(tmp_path: Path) -> None:
    (found,) = about_mpm(checked(tmp_path, text_of("# none", "modules"), ()))
    assert found.advice.startswith(
        "load it unless `httpd -l` lists an MPM: `LoadModule mpm_event_module modules/mod_mpm_event.so`, at "
    )
