"""htcacheclean: the same listing and the same victims as Debian's program."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.cached_site import CachedSite

from whimbrel.cli.htcacheclean import run
from whimbrel.utilities.options import Exit, UtilityProgram

HTCACHECLEAN = shutil.which("htcacheclean")
needs_httpd = pytest.mark.skipif(HTCACHECLEAN is None, reason="needs htcacheclean of apache2-utils")


def clean(*words: str) -> int:
    return run(UtilityProgram("htcacheclean", list(words), False))


def filled(root: Path, count: int = 5) -> Path:
    root.mkdir()
    site = CachedSite(root)
    site.now = time.time()  # nothing has expired: the oldest bodies go first
    for number in range(count):
        site.get(f"/{number}?q")
    for at, file in enumerate(sorted(site.files(".data"))):
        os.utime(file, (1_600_000_000 + at, 1_600_000_000 + at))
    return root / "cache"


@needs_httpd
def test_the_listing_is_httpds(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cache = filled(tmp_path / "a")
    for option in ("-a", "-A"):
        assert clean(option, "-p", str(cache)) == 0
        command = [HTCACHECLEAN or "", option, "-p", str(cache)]
        theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert sorted(capfd.readouterr().out.splitlines()) == sorted(theirs.splitlines())


@needs_httpd
def test_the_same_entries_are_purged(tmp_path: Path) -> None:
    cache = filled(tmp_path / "a")
    other = tmp_path / "other"
    shutil.copytree(cache, other)
    limit = str(sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) // 2)
    assert clean("-t", "-p", str(cache), "-l", limit) == 0
    subprocess.run([HTCACHECLEAN or "", "-t", "-p", str(other), "-l", limit], check=True)
    left = [sorted(str(file.relative_to(top)) for file in top.rglob("*.data")) for top in (cache, other)]
    assert left[0] == left[1] and 0 < len(left[0]) < 5


def test_one_url_is_deleted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cache = filled(tmp_path / "a", 2)
    assert clean("-p", str(cache), "http://localhost:80/0?q") == 0
    assert clean("-a", "-p", str(cache)) == 0
    assert capfd.readouterr().out == "http://localhost:80/1?q\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-a"], "Option -p must be specified"),
        (["-p", "/"], "At least one of option -l or -L must be greater than zero"),
        (["-p", "/", "-l", "1x"], "Invalid limit: 1x"),
        (["-p", "/", "-i", "-l", "1"], "Option -i cannot be used without -d"),
        (["-p", "/", "-d", "0", "-l", "1"], "Option -d must be greater than zero"),
        (["-p", "/", "-d", "5", "-v", "-l", "1"], "Option -d cannot be used with -v, -r, -L or -D"),
        (["-p", "/", "-A", "-a"], "The option 'a' cannot be specified more than once"),
        (["-p", "/no/such"], "Could not set filepath to '/no/such': No such file or directory"),
    ],
)
def test_messages_are_httpds(words: list[str], message: str) -> None:
    with pytest.raises(Exit) as caught:
        clean(*words)
    assert f"htcacheclean error: {message}\n" in str(caught.value.message)
