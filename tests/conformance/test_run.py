"""The command lines of both runners: selection, figures, exit codes, help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance import run, upgrade_run
from tests.conformance.cases import PACKED
from tests.conformance.judge import HTTPD
from tests.conformance.program import APACHE

ONE = [str(PACKED / "config-args.jsonl.xz"), "--only", "config-args-000[56]$", "--jobs", "1"]


def test_a_run_that_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures, details = tmp_path / "figures.json", tmp_path / "details.jsonl"
    code = run.main(
        ["--program", str(HTTPD), *ONE, "--floor", "100", "--json", str(figures), "--details", str(details)]
    )
    output = capsys.readouterr().out
    assert code == 0, output + details.read_text()
    assert output.splitlines()[-1] == "agreement 100.00 % of 2 answers"
    assert json.loads(figures.read_text())["families"]["ALL"]["full"] == 2
    assert details.read_text() == ""


def test_a_program_that_answers_wrongly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    details = tmp_path / "details.jsonl"
    assert run.main(["--program", "/bin/true", *ONE, "--floor", "1", "--details", str(details)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "agreement 0.00 % of 2 answers"
    assert len(details.read_text().splitlines()) == 2


def test_a_program_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--program", "/no/such/program", *ONE, "--floor", "1"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "agreement 0.00 % of 2 answers"


def test_an_exemption_that_is_not_needed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "EXCEPT.tsv"
    table.write_text("# a comment\nconfig-args-0005\ta reason\n")
    assert run.main(["--program", str(HTTPD), *ONE, "--except", str(table), "--json", "-"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["exempt"], figures["unneeded"], figures["families"]["ALL"]["cases"]) == (
        ["config-args-0005"],
        ["config-args-0005"],
        1,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--program", "x", "--apache"],
        ["--program", "x", "no-such-file"],
        ["--program", "x", "--every", "0"],
        ["--program", "x", ONE[0], "--only", "none$"],
    ],
)
def test_wrong_command_lines(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run.main(arguments)
    assert stopped.value.code == 2


@pytest.mark.parametrize("runner", [run, upgrade_run])
def test_every_option_has_a_default_and_an_example(runner: object) -> None:
    parser = run.arguments(["--apache"])[0] if runner is run else upgrade_run.arguments(["--upgrade", "x"])[0]
    for action in parser._actions:
        if action.dest not in ("help", "apache"):
            assert action.help and "default" in action.help and "example: " in action.help, action.dest


@pytest.mark.skipif(not APACHE.exists(), reason="needs apache2")
def test_the_recorded_server_agrees_with_its_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run.main(
            [
                "--apache",
                "--only",
                "core-path-000[1-3]$|config-args-000[1-9]$",
                "--jobs",
                "1",
                "--floor",
                "100",
            ]
        )
        == 0
    )
    assert "agreement 100.00 %" in capsys.readouterr().out


@pytest.mark.skipif(not APACHE.exists(), reason="needs apache2")
def test_a_configuration_that_is_not_upgraded_is_a_defect(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    recording = str(PACKED / "authz-single.jsonl.xz")
    options = ["--only", "authz-single-0001$", "--jobs", "1", "--json", "-"]
    arguments = ["--upgrade", "/bin/true", recording, *options]
    assert upgrade_run.main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["defects"] == 1
    assert upgrade_run.main([*arguments, "--floor", "1"]) == 1
