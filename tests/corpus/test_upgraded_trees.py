"""Whole configuration directories of real 2.2 servers, upgraded and asked of a real httpd 2.4 with -t.

What stands in the way on this machine alone is taken out line by line: files, directories, users and modules
that were on the other one. Whatever else httpd refuses is a defect of the upgrade.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.corpus.configurations import roots
from tests.corpus.httpd_check import (
    APACHE,
    BUILT_IN,
    LINE,
    MODULES,
    comment_out_culprit,
    copy_tree,
    is_of_this_machine,
    needs_apache,
    run_check,
)
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Style, UpgradeOptions
from whimbrel.upgrade.source.built_in_modules import is_windows
from whimbrel.upgrade.source.reading import Sources, read_config_tree

OPTION_SETS = [UpgradeOptions(), UpgradeOptions(style=Style.COMPAT), UpgradeOptions(also_22=True)]
IDS = ["native", "compat", "also-2.2"]
STEPS = 200
ENABLED = (
    "alias auth_basic authn_file authz_default authz_groupfile authz_host authz_user autoindex cgid deflate "
    "dir env mime negotiation reqtimeout setenvif status"
).split()
"""The modules that the package of apache2 2.2 enables."""
CHECKED = re.compile(
    r"(?m)^(?:AH00112: Warning|AH00558|\(2\)No such file or directory: AH02291|"
    r"AH00014: Configuration check failed).*\n"
)
"""What httpd says once it has read everything and misses directories."""
UNSET = re.compile(r"(?m)^\[core:warn\] AH00111:.*\n")
USERS = re.compile(rb"(?im)^([ \t]*(?:User|Group)[ \t]+)\S+")


def laid_out(root: Path, main: str, to: Path) -> Path:
    """Copy a tree: ServerRoot is the copy, users are local, and links stored as texts become links; a tree
    that has lost its links to modules gets those of Debian's package.
    """
    where = copy_tree(root, main, to)
    available = where / "mods-available"
    enabled = where / "mods-enabled"
    if available.is_dir() and not enabled.exists():
        enabled.mkdir()
        for path in available.iterdir():
            if path.stem in ENABLED:
                (enabled / path.name).symlink_to(f"../mods-available/{path.name}")
    for path in list(where.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        target = (
            path.parent / data.decode("latin-1").strip() if len(data) < 200 and b"\0" not in data else path
        )
        if data.strip() and len(data.split()) == 1 and b"/" in data and target.is_file() and target != path:
            path.unlink()
            path.symlink_to(data.decode("latin-1").strip())
            continue
        data = USERS.sub(rb"\1daemon", data)
        path.write_bytes(
            re.sub(
                rb"(?im)^([ \t]*ServerRoot[ \t]+).*?(\r?)$",
                lambda found: found[1] + str(where).encode() + found[2],
                data,
            )
        )
    return where


def of_this_machine(text: str) -> bool:
    """Return True if what httpd says is about what is not here: files, users, modules, variables of the
    environment."""
    number, path = LINE.findall(text)[-1]
    return is_of_this_machine(text, Path(path).read_bytes().split(b"\n")[int(number) - 1])


@needs_apache
@pytest.mark.parametrize("upgrade_options", OPTION_SETS, ids=IDS)
@pytest.mark.parametrize(("name", "root", "main"), roots(), ids=[name for name, _, _ in roots()])
def test_an_upgraded_tree_starts(
    name: str, root: Path, main: str, upgrade_options: UpgradeOptions, tmp_path: Path
) -> None:
    where = laid_out(root, main, tmp_path)
    options = LoadOptions(server_root=from_system(str(where)), file=main)
    config_tree = read_config_tree(Sources(options=options), upgrade_options)
    mpm = (
        ["-C", f"LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so"]
        if is_windows(config_tree)
        else []
    )  # compiled in there
    for path, data in upgrade(config_tree).files.items():
        Path(to_bytes(path).decode()).resolve().write_bytes(data)
    for path in where.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.write_bytes(BUILT_IN.sub(b"#", path.read_bytes()))
    for _ in range(STEPS):
        status, text = run_check([str(APACHE), *mpm], where, main)
        text = UNSET.sub("", text)
        if status == 0 or ("AH02291" in text and not CHECKED.sub("", text)):
            return
        assert LINE.search(text), text
        assert of_this_machine(text), text
        assert comment_out_culprit(text, where), text
    raise AssertionError(f"not started after {STEPS} lines were taken out")
