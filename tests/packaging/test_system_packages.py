"""The .deb and .rpm packages: what their descriptions name exists, and agrees with the code."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.package_files import write

from tests.meta.tree import ROOT
from whimbrel.base.product import REPOSITORY
from whimbrel.cli.main import COMMANDS
from whimbrel.cli.utility_table import UTILITIES

PACKAGING = ROOT / "packaging"
A2ENMOD = Path("/usr/sbin/a2enmod")
SHELLS = {"bash": "-n", "zsh": "-n", "fish": "--no-execute"}


def contents(name: str) -> dict[str, str]:
    """Return the destinations of a package with their sources."""
    text = (PACKAGING / name).read_text()
    return {dst: src for src, dst in re.findall(r"\{src: ([^,}]+), dst: ([^,}]+)", text)}


@pytest.mark.parametrize("name", ["nfpm.yaml", "nfpm-compat.yaml"])
def test_every_file_of_a_package_exists(name: str) -> None:
    found = contents(name)
    assert found
    for destination, source in found.items():
        if source.startswith("packaging/") or source == "LICENSE":
            assert (ROOT / source).is_file(), source
        elif not source.startswith("build/") and not source.startswith("/opt/whimbrel/bin/"):
            assert str(Path(destination).parent / source) in found, destination
    for script in re.findall(r"(?:install|remove): (packaging\S+)", (PACKAGING / name).read_text()):
        subprocess.run(["sh", "-n", ROOT / script], check=True)


def test_addresses_of_the_project_have_one_constant() -> None:
    """Where a file cannot read the constant, it has the same address."""
    names = ["pyproject.toml", "packaging/ci/gitlab.yml", "docs/ci.md", ".github/ISSUE_TEMPLATE/config.yml"]
    for name in names:
        found = re.findall(r"https://github\.com/[\w.-]+/whimbrel\b", (ROOT / name).read_text())
        assert set(found) == {REPOSITORY}, name
    for name in ("nfpm.yaml", "nfpm-compat.yaml"):
        assert "homepage: ${HOMEPAGE}\n" in (PACKAGING / name).read_text()


def test_the_names_of_apache2_are_complete() -> None:
    names = {Path(path).name for path in contents("nfpm-compat.yaml") if path.startswith("/usr/sbin/")}
    enabling = {f"a2{action}{kind}" for action in ("en", "dis") for kind in ("mod", "site", "conf")}
    assert names == {"apache2", "httpd", "apachectl", "apache2ctl"} | enabling


def test_units_and_log_rotation_name_the_paths_of_the_configuration() -> None:
    main = (PACKAGING / "system/whimbrel.conf").read_text()
    pid_file = re.findall(r"^PidFile (\S+)", main, re.M)[0]
    (log_directory,) = {str(Path(path).parent) for path in re.findall(r"^\w+Log (/\S+)", main, re.M)}
    rotation = (PACKAGING / "system/whimbrel.logrotate").read_text()
    assert pid_file in rotation and rotation.startswith(f"{log_directory}/*.log ")
    unit = (PACKAGING / "system/whimbrel.service").read_text()
    assert f"RuntimeDirectory={Path(pid_file).parent.name}\n" in unit
    assert "Type=notify" in unit and "systemd_module" in main
    assert "/etc/whimbrel/whimbrel.conf" in contents("nfpm.yaml") and "/etc/whimbrel/whimbrel.conf" in unit


def test_the_configuration_is_valid(tmp_path: Path) -> None:
    text = (PACKAGING / "system/whimbrel.conf").read_text().replace("/etc/whimbrel", str(tmp_path))
    for directory in ("/var/log/whimbrel", "/var/www/html", "/run/whimbrel"):
        text = text.replace(directory, str(tmp_path))
    (tmp_path / "mime.types").write_text("text/html html\n")
    (tmp_path / "whimbrel.conf").write_text(text.replace("/etc/mime.types", str(tmp_path / "mime.types")))
    program = [sys.executable, "-c", "from whimbrel.cli.httpd import main; main()"]
    words = [*program, "-f", str(tmp_path / "whimbrel.conf"), "--strict", "-t"]
    found = subprocess.run(words, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "Syntax OK\n")


@pytest.mark.parametrize("name", ["system/whimbrel.service", "compat/apache2.service"])
def test_systemd_accepts_the_units(name: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze here")
    text = re.sub(r"(Exec\w+)=/usr/sbin/\S+", r"\1=/bin/true", (PACKAGING / name).read_text())
    unit = tmp_path / Path(name).name
    unit.write_text(text)
    found = subprocess.run([program, "verify", "--man=no", str(unit)], capture_output=True, text=True)
    assert [line for line in found.stderr.splitlines() if unit.name in line] == []


@pytest.mark.parametrize("name", ["system/whimbrel.logrotate", "compat/apache2.logrotate"])
def test_logrotate_accepts_the_files(name: str, tmp_path: Path) -> None:
    program = shutil.which("logrotate") or "/usr/sbin/logrotate"
    if not Path(program).exists():
        pytest.skip("no logrotate here")
    text = re.sub(r"/var/log/\w+", str(tmp_path), (PACKAGING / name).read_text())
    (tmp_path / "rotated.log").write_text("x\n")
    (tmp_path / "conf").write_text(text)
    (tmp_path / "conf").chmod(0o644)
    words = [program, "--debug", "--state", str(tmp_path / "state"), str(tmp_path / "conf")]
    found = subprocess.run(words, capture_output=True, text=True)
    assert found.returncode == 0 and "error" not in found.stderr.lower(), found.stderr


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return share/ of the package."""
    directory = tmp_path_factory.mktemp("share")
    write(directory)
    return directory


def test_every_command_has_a_page(share: Path) -> None:
    pages = {
        path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes()).decode()
        for path in share.rglob("*.gz")
    }
    assert set(pages) == {"whimbrel.1", "whimbrel-httpd.8"} | {
        f"whimbrel-{name}.1" for name in (*COMMANDS, *UTILITIES)
    }
    assert "\\-\\-format" in pages["whimbrel-check.1"] and ".SH EXIT CODES" in pages["whimbrel-check.1"]
    assert all(f"whimbrel\\-{name}" in pages["whimbrel.1"].replace("\\-test", "-test") for name in COMMANDS)
    for name, text in pages.items():
        assert text.startswith(".TH ") and ".SH NAME" in text and ".SH SYNOPSIS" in text, name
        requests = {line.split()[0] for line in text.splitlines() if line.startswith(".")}
        assert requests <= {".TH", ".SH", ".B", ".BR", ".TP", ".PP", ".nf", ".fi"}, name


@pytest.mark.parametrize("shell", SHELLS)
def test_the_completions_are_programs_of_their_shells(share: Path, shell: str) -> None:
    (path,) = [
        path
        for path in share.rglob("*whimbrel*")
        if path.is_file() and shell in str(path) and path.suffix != ".gz"
    ]
    assert "_WHIMBREL_COMPLETE=complete_" in path.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here: its completion is not read")
    found = subprocess.run([shell, SHELLS[shell], str(path)], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("whimbrel che", ["check"]),
        ("whimbrel check --form", ["--format"]),
        ("whimbrel check --format sar", ["sarif"]),
    ],
)
def test_words_are_completed(words: str, expected: list[str]) -> None:
    environment = {
        **os.environ,
        "_WHIMBREL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    found = subprocess.run(
        [sys.executable, "-m", "whimbrel"], env=environment, capture_output=True, text=True
    )
    assert found.stdout.split() == expected, found.stderr


ACTIONS = (
    "a2enmod ssl",
    "a2enmod ssl",
    "a2enmod nonsense",
    "a2dismod nonsense",
    "a2dismod socache_shmcb",
    "a2dismod ssl",
    "a2dismod ssl",
    "a2dismod socache_shmcb",
    "a2dismod authz_core",
    "a2dismod -f authz_core",
    "a2enmod mpm_prefork",
    "a2enmod rewrite headers",
    "a2ensite default-ssl",
    "a2dissite 000-default",
    "a2dissite 000-default",
    "a2enconf charset",
    "a2disconf nothing",
)


def test_a2enmod_makes_the_links_of_debians(tmp_path: Path) -> None:
    """The same actions one after the other, by Debian's program and by the one of the package."""
    if not A2ENMOD.exists() or not Path("/etc/apache2/mods-available").is_dir():
        pytest.skip("no a2enmod of Debian here")
    for side in ("debian", "whimbrel"):
        shutil.copytree("/etc/apache2", tmp_path / side, symlinks=True)
    for line in ACTIONS:
        name, *words = line.split()
        link = tmp_path / name
        if not link.exists():
            link.symlink_to(PACKAGING / "compat/a2enmod")
        found = []
        for side, program in (("debian", A2ENMOD.parent / name), ("whimbrel", link)):
            root = tmp_path / side
            environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "APACHE_CONFDIR": str(root)}
            status = subprocess.run([program, *words], env=environment, capture_output=True).returncode
            links = {str(path.relative_to(root)): os.readlink(path) for path in root.glob("*-enabled/*")}
            found.append((status, links))
        assert found[0] == found[1], line
