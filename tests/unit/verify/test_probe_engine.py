"""A tool that asks what a server would answer changes no file of its site, whatever the method."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.base.programs import without_programs
from whimbrel.cli import replay
from whimbrel.config.options import LoadOptions
from whimbrel.explain.cause import cause_of
from whimbrel.explain.explanation import explain_probe
from whimbrel.verify.dry_engine import DryEngine
from whimbrel.verify.loading import load_side
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

MODULES = (
    "mpm_event",
    "authz_core",
    "dav",
    "dav_fs",
    "dir",
    "mime",
    "cache",
    "cache_disk",
    "unixd",
    "log_config",
)
CONF = """Listen 80
ServerName q
DocumentRoot "@ROOT@/htdocs"
TypesConfig "@ROOT@/mime.types"
DavLockDB "@ROOT@/var/locks"
CacheRoot "@ROOT@/var/cache"
CacheEnable disk /
CacheIgnoreNoLastMod On
CacheDefaultExpire 3600
LogFormat "%h %l %u %t \\"%r\\" %>s %b" common
CustomLog "@ROOT@/var/access_log" common
ErrorLog "@ROOT@/var/error_log"
<Directory "@ROOT@/htdocs">
    Require all granted
    Dav On
</Directory>
"""
DESTINATION = (("Destination", "http://q/other.txt"),)
PROBES = (
    *(Probe("/f.txt", method, host="q") for method in ("GET", "DELETE", "PUT", "PROPFIND", "UNLOCK")),
    Probe("/new.txt", "PUT", host="q"),
    Probe("/new", "MKCOL", host="q"),
    Probe("/f.txt", "COPY", host="q", fields=DESTINATION),
    Probe("/f.txt", "MOVE", host="q", fields=DESTINATION),
    Probe("/d/", "DELETE", host="q"),
    Probe("/new.txt", "LOCK", host="q", fields=(("Depth", "0"),)),
    Probe("/f.txt", "PROPPATCH", host="q"),
)
CHANGING = tuple(probe for probe in PROBES if probe.method not in ("GET", "PROPFIND"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("htdocs/d", "var/cache"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "htdocs/f.txt").write_text("text\n")
    (tmp_path / "htdocs/d/inner").write_text("text\n")
    (tmp_path / "mime.types").write_text("text/plain txt\n")
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in MODULES)
    (tmp_path / "httpd.conf").write_text(loads + CONF.replace("@ROOT@", str(tmp_path)))
    return tmp_path


def state_of(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return all files and directories with their times of change and contents."""
    found = {}
    for directory, _names, files in os.walk(root):
        for path in (directory, *(os.path.join(directory, name) for name in files)):
            data = Path(path).read_bytes() if os.path.isfile(path) else b""
            found[path] = (os.stat(path).st_mtime_ns, data)
    return found


def side_of(root: Path) -> Side:
    return load_side(LoadOptions(server_root=str(root), file=str(root / "httpd.conf")), "2.4")


def test_explain_changes_nothing(root: Path) -> None:
    side = side_of(root)
    before = state_of(root)
    for probe in PROBES:
        found = explain_probe(side, probe)
        assert state_of(root) == before, probe
        if probe in CHANGING:
            assert found.status is None, probe
            assert cause_of(found).sentence == f"mod_dav would run {probe.method}, which explain does not do"


def test_probes_change_nothing(root: Path) -> None:
    side = side_of(root)
    before = state_of(root)
    dry = DryEngine(side.loaded, side.runtime)
    for probe in PROBES:
        side.answer(probe, with_lines=True)
        assert state_of(root) == before, probe
        answered = dry.answer_with_body(probe, 1000)
        assert state_of(root) == before, probe
        assert (answered.not_run == "mod_dav") == (probe in CHANGING), probe


def test_a_replay_changes_nothing(root: Path) -> None:
    log = root / "log"
    form = '192.0.2.1 - - [29/Nov/2026:14:59:25 +0000] "{} {} HTTP/1.1" 200 4\n'
    log.write_text("".join(form.format(probe.method, probe.target) for probe in PROBES))
    before = state_of(root)
    conf = str(root / "httpd.conf")
    sides = ("--old", conf, "--old-dialect", "2.4", "--new", conf, "--jobs", "1")
    with without_programs():
        found = CliRunner().invoke(replay.app, [str(log), *sides])
        alone = CliRunner().invoke(replay.app, [str(log), "--new", conf, "--jobs", "1"])
    assert found.exit_code in (0, 3), found.output
    assert state_of(root) == before
    assert f"{len(PROBES)} requests" in found.output
    assert state_of(root) == before and "201" not in alone.output and "204" not in alone.output


def test_a_lock_database_of_httpd_is_no_fault(root: Path) -> None:
    """apache2 answers 404: it can read its own file, whatever library wrote it."""
    (root / "var/locks").write_bytes(b"\x13\x57\x9a\xce" * 100)
    found = explain_probe(side_of(root), Probe("/none", "PROPFIND", host="q"))
    assert found.status == 404


def test_a_directory_that_is_assumed_and_what_lies_in_it(root: Path) -> None:
    """Its outer directories are assumed as far as they do not exist."""
    probing = side_of(root).probing
    here = str(root / "htdocs")
    probing.assume_directory(f"{here}/none/new/")
    places = ("none", "none/", "none/new", "none/new/", "none/new/a.html", "none/other/x")
    assert all(probing.is_assumed(f"{here}/{place}") for place in places)
    assert not any(probing.is_assumed(place) for place in (here, f"{here}/", f"{here}/nonesuch", "/", ""))
