"""-L from the catalogue, compared with the servers' output."""

from __future__ import annotations

import json
import lzma
import re
import subprocess
from pathlib import Path

import pytest

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.listing import contexts, listing

CASES = Path(__file__).parents[2] / "conformance" / "cases"
APACHE, MODULES = Path("/usr/sbin/apache2"), Path("/usr/lib/apache2/modules")
ENTRY = re.compile(r"^<?\w+ \((\S+\.c)\)$", re.MULTILINE)


def printed_sources(text: str) -> list[str]:
    """Return the source files in the order of their first appearance in a -L listing."""
    return list(dict.fromkeys(ENTRY.findall(text)))


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_recorded_listings(version: str) -> None:
    with lzma.open(CASES / "config-dumps.jsonl.xz", "rt", encoding="utf-8") as file:
        answers = [
            c["answers"][version]["text"]
            for c in map(json.loads, file)
            if c["args"] == ["-L"] and version in c["answers"]
        ]
    full = [a.removesuffix("Syntax OK").rstrip("\n") + "\n" for a in answers if ENTRY.match(a)]
    assert full
    for text in full:
        assert listing(catalogue(version), printed_sources(text)) == text


@pytest.mark.skipif(not (APACHE.exists() and MODULES.is_dir()), reason="Debian's apache2 is not installed")
def test_the_installed_server_with_every_module(tmp_path: Path) -> None:
    first = ("mod_proxy.so", "mod_session.so", "mod_cache.so", "mod_dav.so")
    ours = {
        m.file: m
        for m in catalogue("2.4").modules
        if not m.is_static and (m.kind != "mpm" or m.file == "mod_mpm_event")
    }
    files = sorted(
        (p for p in MODULES.glob("*.so") if p.stem in ours), key=lambda p: (p.name not in first, p.name)
    )
    load = "".join(f"LoadModule {ours[p.stem].identifier} {p}\n" for p in files)
    (tmp_path / "logs").mkdir()
    (tmp_path / "httpd.conf").write_text(
        f"{load}ServerRoot {tmp_path}\nDefaultRuntimeDir {tmp_path}\nListen 127.0.0.1:9\nServerName a\n"
    )
    run = subprocess.run(
        [APACHE, "-f", tmp_path / "httpd.conf", "-L"], capture_output=True, check=False, timeout=60
    )
    text = run.stdout.decode("latin-1")
    assert len(printed_sources(text)) > 80, run.stderr
    assert listing(catalogue("2.4"), printed_sources(text)) == text


def test_contexts_of_a_module_without_folder_settings() -> None:
    assert contexts(192, "2.4", has_dir_config=False) == "anywhere [no per-dir config]"
    assert (
        contexts(128, "2.4", has_dir_config=False) == "only outside <Directory>, <Files>, <Location>, or <If>"
    )
