"""README, Makefile, lock files, commands and paths in documents are consistent."""

from __future__ import annotations

import re
import tomllib

from tests.meta.tree import PACKAGE, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DOCUMENTS = tuple(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))
PIN = re.compile(r"([a-z0-9-]+)==[\w.]+(?: ; [^\\]+)? \\")


def bare_name(requirement: str) -> str:
    """Return ``libpass`` of ``libpass[bcrypt]>=1``, in the spelling of lock files."""
    return re.split(r"[\[<>=!~ ;]", requirement)[0].lower().replace("_", "-")


def pinned(name: str) -> set[str]:
    """Return the distributions that a lock file pins; every other line of it must be a hash."""
    lines = (ROOT / name).read_text().splitlines()
    pins = [m for m in map(PIN.fullmatch, lines) if m]
    hashes = [line for line in lines if re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line)]
    assert len(pins) + len(hashes) == len(lines), f"{name} holds other lines than pins and hashes"
    return {m[1] for m in pins}


def test_locks_pin_what_the_project_names() -> None:
    run, dev = pinned("requirements.lock"), pinned("requirements-dev.lock")
    assert {bare_name(r) for r in PROJECT["dependencies"]} <= run <= dev
    assert {bare_name(r) for r in PROJECT["optional-dependencies"]["dev"]} <= dev


def test_the_locks_agree() -> None:
    versions = [
        set(re.findall(r"^\S+==\S+", (ROOT / name).read_text(), re.M))
        for name in ("requirements.lock", "requirements-dev.lock")
    ]
    assert versions[0] <= versions[1]


def test_readme_begins_with_the_two_commands() -> None:
    first = (ROOT / "README.md").read_text().splitlines()[:20]
    assert any("make serve" in line for line in first) and any("make test" in line for line in first)


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"make ([a-z-]+)", (ROOT / "README.md").read_text())) <= targets


def test_commands_are_declared() -> None:
    own = ("httpd", "htpasswd", "htdbm", "htdigest", "httxt2dbm", "rotatelogs", "logresolve", "htcacheclean")
    assert PROJECT["scripts"] == {"whimbrel": "whimbrel.cli.entry:main"} | {
        f"whimbrel-{name}": f"whimbrel.cli.{name}:main" for name in own
    }


def test_licence_is_the_declared_one() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text()


def test_every_path_in_the_documents_exists() -> None:
    """A path is relative to src/whimbrel, its engine, tests, or the repository."""
    missing = []
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", *DOCUMENTS):
        text = re.sub(r"^(`{3,}).*?^\1$", "", (ROOT / name).read_text(), flags=re.M | re.S)
        for path in re.findall(r"`([\w./-]+/[\w.-]*(?:\.(?:py|tsv|md)|/))`", text):
            places = (PACKAGE / path, PACKAGE / "engine" / path, ROOT / path, ROOT / "tests" / path)
            if not any(place.exists() for place in places) and not path.startswith("mod_"):
                missing.append(f"{name}: {path}")
    assert missing == []


def test_the_index_names_every_document() -> None:
    index = (ROOT / "docs/README.md").read_text()
    missing = [name for name in DOCUMENTS if f"({name.removeprefix('docs/')})" not in index]
    assert missing == ["docs/README.md"]


def test_the_architecture_is_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_bytes()) <= 15_000
