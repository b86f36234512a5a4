"""Wheel and sdist: their files, their metadata, and the commands in a new environment."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from tests.docs.console import Console, steps
from tests.meta.tree import PACKAGE, ROOT, tracked
from tests.packaging.build import Distributions, build
from tests.support.samples import amount

WALK = (
    ("whimbrel", "echo ")
    if amount(0, 1)
    else ("whimbrel example", "whimbrel check", "whimbrel explain C17", "whimbrel upgrade")
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def metadata(wheel: Path) -> Message:
    """Return the METADATA of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def package_files() -> set[str]:
    """Return the files of the package that git knows."""
    return {str(path.relative_to(PACKAGE.parent)) for path in tracked() if path.is_relative_to(PACKAGE)}


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    if not tracked():
        pytest.skip("no git here: the files of the package are not known")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        contents = {name: archive.read(name) for name in names}
    assert package_files() <= names
    assert names <= {str(path.relative_to(PACKAGE.parent)) for path in PACKAGE.rglob("*")}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", "~", ".log"))]
    assert not [name for name, data in contents.items() if data != (PACKAGE.parent / name).read_bytes()]


def test_the_sdist_builds_the_package(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "CHANGELOG.md", "LICENSE"} <= names
    assert {f"src/{name}" for name in package_files()} <= names
    assert not [name for name in names if name.startswith(("tests/", ".github/", "bench/"))]


def test_two_builds_are_equal(distributions: Distributions, tmp_path: Path) -> None:
    again = build(tmp_path)
    assert again.wheel.read_bytes() == distributions.wheel.read_bytes()
    assert again.sdist.read_bytes() == distributions.sdist.read_bytes()


def test_the_description_has_no_relative_link(wheel: Path) -> None:
    text = metadata(wheel).get_payload()
    assert isinstance(text, str) and text.startswith("# Whimbrel")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    relative = re.findall(r"\]\((?!https?:|#)([^)\s]+)\)", (ROOT / "README.md").read_text())
    assert relative and all(link.startswith(("https://", "http://", "#")) for link in links)
    version = metadata(wheel)["Version"]
    for path in relative:
        assert (ROOT / path.partition("#")[0]).exists(), path
        assert any(link.endswith(f"/v{version}/{path}") for link in links), path


def test_the_metadata_leads_to_the_project(wheel: Path) -> None:
    urls = dict(value.split(", ", 1) for value in metadata(wheel).get_all("Project-URL", []))
    assert set(urls) == {"Homepage", "Repository", "Documentation", "Changelog", "Issues"}
    assert all(url.startswith("https://") for url in urls.values())
    uvloop = [value for value in metadata(wheel).get_all("Requires-Dist", []) if value.startswith("uvloop")]
    assert uvloop == ["uvloop; sys_platform != 'win32'"] or uvloop == ['uvloop; sys_platform != "win32"']


def test_the_page_of_packages_names_every_extra() -> None:
    text = (ROOT / "docs/packages.md").read_text()
    line = re.search(r"Each optional part has an extra: (.*?)\.\n", text, re.S)
    assert line is not None
    extras = set(PROJECT["optional-dependencies"]) - {"all", "dev", "docs", "fuzz", "test"}
    assert re.findall(r"`([\w-]+)`", line[1]) == sorted(extras)


def test_one_extra_has_all_others() -> None:
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    (whole,) = extras["all"]
    named = re.fullmatch(r"whimbrel\[([a-z0-9,-]+)\]", whole)
    assert named is not None
    assert set(named[1].split(",")) == set(extras) - {"all", "dev", "docs", "fuzz", "ldap", "test"}


def run(command: Path | str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program without the variables that lead Python to this checkout."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run([str(command), *words], cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the scripts of a new environment with the wheel.

    Its dependencies are those of this one, found by a path file, so that no network is needed; the wheel
    itself comes before them.
    """
    root = tmp_path_factory.mktemp("installed")
    venv.create(root)
    words = ["--python", str(root / "bin/python"), "install", "--quiet", "--no-index", "--no-deps"]
    found = run(sys.executable, "-m", "pip", *words, "--no-compile", str(wheel), cwd=root)
    assert found.returncode == 0, found.stderr
    site = next(root.glob("lib/python3*/site-packages"))
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    where = run(root / "bin/python", "-c", "import whimbrel; print(whimbrel.__file__)", cwd=root)
    assert where.stdout.startswith(str(site)), where
    return root / "bin"


def test_the_commands_of_a_new_environment(scripts: Path, wheel: Path, tmp_path: Path) -> None:
    for name in PROJECT["scripts"]:
        assert (scripts / name).is_file(), name
    by_module = run(scripts / "python", "-m", "whimbrel", "--help", cwd=tmp_path)
    by_script = run(scripts / "whimbrel", "--help", cwd=tmp_path)
    assert by_module.returncode == by_script.returncode == 0, by_script.stderr
    assert by_module.stdout == by_script.stdout and "  upgrade " in by_script.stdout
    version = run(scripts / "whimbrel", "--version", cwd=tmp_path).stdout
    assert version == f"whimbrel {metadata(wheel)['Version']}\n"


def test_the_walk_of_a_new_environment(scripts: Path, tmp_path: Path) -> None:
    """What the page for new users says, with the catalogue, the documents and the site of the wheel.

    Commands of one kind once, and all of them in a nightly run; tests/docs runs them in this checkout.
    """
    page = [step for step in steps("ten-minutes.md") if step.kind == "command"]
    walk = page[: next(n for n, step in enumerate(page) if "by-hand" in step.text)]
    with Console(tmp_path, scripts) as console:
        for step in walk:
            if step.text.startswith(WALK):
                console.check_step(step)
    tested = run(scripts / "whimbrel-httpd", "-d", str(tmp_path / "site-2.4"), "-t", cwd=tmp_path)
    assert tested.returncode == 0 and "Syntax OK" in tested.stderr, tested.stderr
    assert any(step.text.startswith("whimbrel verify site site-2.4") for step in walk)
