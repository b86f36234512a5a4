"""Repositories of git: clone, push in chunks and clone again over HTTP."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from tests.support.php import own

BACKEND = Path("/usr/lib/git-core/git-http-backend")
NOISE = random.Random(1).randbytes(4_000_000)  # git cannot make it smaller


def git(*words: str, directory: Path) -> str:
    """Return the output of git in *directory*."""
    command = ["git", "-c", "user.name=k", "-c", "user.email=k@x", *words]
    return subprocess.run(
        command, cwd=directory, check=True, capture_output=True, text=True, timeout=30
    ).stdout


def make_repository(base: Path) -> None:
    """Make the bare repository repositories/waders.git in *base*, that HTTP may push to."""
    bare = base / "repositories/waders.git"
    git("init", "--bare", "-b", "main", str(bare), directory=base)
    git("config", "http.receivepack", "true", directory=bare)
    own(base / "repositories")


def push_and_clone(url: str, base: Path) -> bytes:
    """Clone *url*, push a commit of `NOISE` in chunks, and return what a second clone has of it."""
    work = base / "work"
    git("clone", url, str(work), directory=base)
    (work / "large").write_bytes(bytes(range(256)) * 4000)
    (work / "noise").write_bytes(NOISE)
    git("add", ".", directory=work)
    git("commit", "-m", "waders", directory=work)
    git("-c", "http.postBuffer=65536", "push", "origin", "HEAD:main", directory=work)
    git("clone", url, str(base / "again"), directory=base)
    return (base / "again/noise").read_bytes()
