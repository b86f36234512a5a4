"""The build that -V, -l and -M name, and the hint of -t."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whimbrel.cli.httpd import run

MPM = "LoadModule mpm_event_module modules/mod_mpm_event.so\n"


def site(root: Path, text: str, more: str = "") -> list[str]:
    """Write a server root; return the options that name it."""
    for name in ("conf", "logs"):
        (root / name).mkdir()
    (root / "conf/httpd.conf").write_text(f"ServerName a\nListen 127.0.0.1:8080\n{text}")
    (root / "conf/more.conf").write_text(more)
    return ["whimbrel-httpd", "-d", str(root)]


def test_settings_name_the_build_that_an_included_file_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*site(tmp_path, "Include conf/more.conf\n", MPM), "-V"]) == 0
    out = capsys.readouterr().out
    assert "Server Build:   shared (LoadModule mpm_event_module: the MPM is a shared module)\n" in out
    assert f' -D HTTPD_ROOT="{tmp_path}"\n' in out


def test_listed_modules_of_a_text_without_an_mpm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*site(tmp_path, ""), "-l"]) == 0
    assert capsys.readouterr().out.split()[3:] == ["core.c", "mod_so.c", "http_core.c", "event.c"]


def test_loaded_modules_and_the_build(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*site(tmp_path, MPM), "-M"]) == 0
    found = capfd.readouterr()
    assert " mpm_event_module (shared)\n" in found.out and "build" not in found.out
    assert "build: shared: LoadModule mpm_event_module" in found.err


def test_a_document_names_build_and_layout(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*site(tmp_path, "# mods-enabled\n" + MPM), "-t", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["build"]["name"], document["build"]["layout"]) == ("debian", "Debian's packages")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (MPM + "User nobody\n", "hint: add: LoadModule unixd_module modules/mod_unixd.so (build: shared: "),
        (
            "# /etc/httpd\n",
            "hint: add: LoadModule mpm_event_module modules/mod_mpm_event.so (build: shared: ",
        ),
    ],
)
def test_a_missing_line_is_a_hint(
    text: str, hint: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = site(tmp_path, text)
    assert run([*words, "-t"]) == 1
    assert hint in capfd.readouterr().err
    assert run([*words, "--builtin", "shared", "-t"]) == 1
    assert "hint:" not in capfd.readouterr().err


def test_22_is_derived_from_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*site(tmp_path, "# /etc/sysconfig/httpd\n"), "--dialect", "2.2", "-V"]) == 0
    assert "Server Build:   auto (Red Hat's packages)\n" in capsys.readouterr().out
