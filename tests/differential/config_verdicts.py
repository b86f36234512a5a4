"""Configurations judged by `apache2 -t`: exit code and text without times and process numbers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.differential.servers import APACHE
from whimbrel.base.dialect import V24
from whimbrel.config.check import check
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL

_CLOCK = re.compile(r"^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [^\]]*\] ", re.M)
_PROCESS = re.compile(r"\[pid \d+:tid \d+\] ")


def write(root: Path, number: int, block: str) -> Path:
    """Write one configuration with its modules; return the path of its file."""
    lines, names = block.strip("\n").split("\n"), ["mpm_event", "authz_core", "authn_core"]
    if lines[0].startswith("M:"):
        names += lines.pop(0)[2:].split()
    loaded = [f"LoadModule {name}_module {APACHE.module_dir}/mod_{name}.so" for name in names]
    path = root / f"{number}.conf"
    path.write_text("\n".join(["ServerName a", *loaded, *lines, ""]).replace("@", str(root)))
    return path


def verdict_of_apache(root: Path, path: Path) -> tuple[int, str]:
    """Return exit code and text of apache2 -t."""
    argv = [*APACHE.argv, "-d", str(root), "-f", path.name, "-t"]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=60)
    text = (done.stdout + done.stderr).decode("latin-1").rstrip("\n")
    return done.returncode, _PROCESS.sub("", _CLOCK.sub("", text))


def assert_verdicts(root: Path, blocks: Iterable[str]) -> None:
    """Refuse a configuration of *blocks* that apache2 and Whimbrel judge differently."""
    for name in ("logs", "htdocs"):
        (root / name).mkdir()
    blocks = list(blocks)
    paths = [write(root, number, block) for number, block in enumerate(blocks)]
    with ThreadPoolExecutor(2) as pool:
        expected = list(pool.map(lambda path: verdict_of_apache(root, path), paths))
    for block, path, wanted in zip(blocks, paths, expected, strict=True):
        options = LoadOptions(server_root=str(root), file=path.name, build="debian")
        assert check(options, ALL, V24) == wanted, block
