"""Hooks of pre-commit, the GitHub action and the GitLab template: their scripts run with the real command."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.meta.tree import ROOT
from tests.support.samples import some
from whimbrel.cli import main

yaml = pytest.importorskip("yaml", reason="no PyYAML here: the files of the CI kit are not read")

BAD = "MaxClients 5\n"
GOOD = "KeepAlive On\n"


def loaded(name: str) -> Any:
    """Return a YAML file of the repository."""
    return yaml.safe_load((ROOT / name).read_text())


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a directory with the program `whimbrel` of this environment, and a pip that does nothing."""
    directory = tmp_path / "whimbrel" / "bin"
    directory.mkdir(parents=True)
    (directory / "whimbrel").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m whimbrel "$@"\n')
    (directory / "pip").write_text("#!/bin/sh\n")
    for path in directory.iterdir():
        path.chmod(0o755)
    return directory


def bash(script: str, directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step as the CI systems do: bash, ended by the first command that fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(words, cwd=directory, env=environment, capture_output=True, text=True)


def step(action: dict[str, Any], name: str) -> str:
    """Return the script of a step."""
    return next(str(one["run"]) for one in action["runs"]["steps"] if one.get("name") == name)


@pytest.mark.parametrize(("text", "status"), [(BAD, "1"), (GOOD, "0"), (None, "2")])
def test_the_steps_of_the_action(tmp_path: Path, programs: Path, text: str | None, status: str) -> None:
    action = loaded("action.yml")
    if text is not None:
        (tmp_path / "a.conf").write_text(text)
    output = tmp_path / "output"
    found = bash(
        step(action, "Check"),
        tmp_path,
        RUNNER_TEMP=str(tmp_path),
        GITHUB_OUTPUT=str(output),
        CHECKED="a.conf",
        ARGUMENTS="--ignore C52 --summary",
    )
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    assert outputs["exit-code"] == status and found.returncode == (2 if text is None else 0), found.stderr
    if text is not None:
        results = json.loads(Path(outputs["sarif"]).read_text())["runs"][0]["results"]
        assert bool(results) is (status == "1")
        assert ("::" in found.stdout) is (status == "1")
    assert bash(step(action, "Result"), tmp_path, STATUS=status).returncode == int(status)


def test_what_the_action_passes_on_exists() -> None:
    action = loaded("action.yml")
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(action["inputs"])
    ids = {one["id"] for one in action["runs"]["steps"] if "id" in one}
    assert set(re.findall(r"steps\.([a-z]+)\.outputs", text)) == ids
    for one in action["runs"]["steps"]:  # no text of a caller becomes a part of a script
        assert "${{" not in one.get("run", "")


@pytest.mark.parametrize(("text", "status"), some([(BAD, 1), (GOOD, 0)], 1))
def test_the_script_of_gitlab(tmp_path: Path, programs: Path, text: str, status: int) -> None:
    job = loaded("packaging/ci/gitlab.yml")["whimbrel"]
    (tmp_path / "a.conf").write_text(text)
    variables = {name: str(value) for name, value in job["variables"].items()}
    variables |= {"WHIMBREL_PATH": "a.conf", "PATH": f"{programs}:{os.environ['PATH']}"}
    found = bash("\n".join(job["script"]), tmp_path, **variables)
    assert found.returncode == status, found.stderr
    assert "<testsuite" in (tmp_path / job["artifacts"]["reports"]["junit"]).read_text()
    for name in job["artifacts"]["paths"]:
        assert json.loads((tmp_path / name).read_text())["version"] == "2.1.0"


def test_the_hooks_run_on_the_files_that_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hooks = {hook["id"]: hook for hook in loaded(".pre-commit-hooks.yaml")}
    assert set(hooks) == {"whimbrel-check", "whimbrel-fmt"}
    for hook in hooks.values():
        pattern = re.compile(hook["files"])
        assert all(map(pattern.search, ("a.conf", "sites/b.conf", ".htaccess", "htdocs/x/.htaccess")))
        assert not any(map(pattern.search, ("a.conf.bak", "x.htaccess.txt", "conf")))
    (tmp_path / "a.conf").write_text("maxclients 5\n")
    formatting = shlex.split(hooks["whimbrel-fmt"]["entry"])
    assert CliRunner().invoke(main.app, [*formatting[1:], "a.conf"]).exit_code == 0
    assert (tmp_path / "a.conf").read_text() == BAD
    checking = shlex.split(hooks["whimbrel-check"]["entry"])
    assert CliRunner().invoke(main.app, [*checking[1:], "a.conf"]).exit_code == 1
    (tmp_path / "a.conf").write_text(GOOD)
    assert CliRunner().invoke(main.app, [*checking[1:], "a.conf"]).exit_code == 0


def test_the_release_workflow_publishes_what_it_has_built() -> None:
    jobs = loaded(".github/workflows/release.yml")["jobs"]
    assert jobs["publish"]["needs"] == "build" and jobs["notes"]["needs"] == "publish"
    assert (
        jobs["publish"]["permissions"] == {"id-token": "write"}
        and jobs["publish"]["environment"] == "release"
    )
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()


def test_the_tests_run_on_every_version_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: 3."
    named = [name.rpartition(" ")[2] for name in project["classifiers"] if name.startswith(prefix)]
    workflow = loaded(".github/workflows/ci.yml")
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"


@pytest.mark.parametrize("name", ["ci", "release"])
def test_the_workflows_call_what_exists(name: str) -> None:
    text = (ROOT / f".github/workflows/{name}.yml").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"(?:run: |^ +)make ([a-z-]+)", text, re.M)) <= targets
    for path in re.findall(r"(?<![\w/.])(?:tests/[a-z]+|tools/\w+|\.ci/run|packaging/\S+)", text):
        assert (ROOT / path).exists(), path
    for job in loaded(f".github/workflows/{name}.yml")["jobs"].values():
        for one in job["steps"]:
            if one.get("uses", "").startswith("actions/checkout@"):
                assert one["with"]["persist-credentials"] is False
            assert "${{ github.event" not in one.get("run", "")
