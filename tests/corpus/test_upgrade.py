"""Every file and directory of the corpus goes through the upgrade: no crash, nothing touched but what was
edited, and a second time changes nothing.

A part of the larger set, if it is present; WHIMBREL_CASES=1 takes all of it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.corpus.configurations import roots, sample
from tests.support.samples import amount
from whimbrel.base.latin1 import from_system
from whimbrel.cli.options import ConfigArguments, sources
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.apply.backup_paths import read_by_includes
from whimbrel.upgrade.apply.transaction import undo, write
from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.model import NO_FIXPOINT, InputContext, Style, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree

LEAST = 30
EVERY = amount(20, 8)
"""Of a larger set each so many is taken."""
OPTION_SETS = [UpgradeOptions(), UpgradeOptions(style=Style.COMPAT), UpgradeOptions(also_22=True)]
IDS = ["native", "compat", "also-2.2"]
SERVER_LINES = ("LoadModule", "FileETag", "Options", "AllowOverride", "<IfModule mpm")


def checked(sources: Sources, upgrade_options: UpgradeOptions) -> UpgradeResult:
    """Upgrade them; a second one of its result, from memory, changes nothing, and no edit breaks what could
    be read before."""
    config_tree = read_config_tree(sources, upgrade_options)
    result = upgrade(config_tree)
    assert not [
        finding
        for finding in result.findings
        if finding.rule == NO_FIXPOINT or finding.message.startswith("after the upgrade")
    ]
    after = config_tree.reparse(result.files, config_tree)
    assert {
        path: file.document.bytes for path, file in after.files.items() if path in result.files
    } == result.files
    assert not upgrade(after).files
    for path, data in result.files.items():
        kept_around_edits(config_tree.files[path].document.bytes, data, result, path)
    return result


def kept_around_edits(old: bytes, new: bytes, result: UpgradeResult, path: str) -> None:
    """Every line that no edit touched is there, byte for byte, in its order."""
    before, after = old.split(b"\n"), new.split(b"\n")
    kept = [result.line_maps[path].unchanged_from(number) for number in range(1, len(after) + 1)]
    stayed = [number for number in kept if number]
    assert stayed == sorted(set(stayed))
    changed = sum(before[number - 1] != after[at] for at, number in enumerate(kept) if number)
    edits = [one for finding in result.findings for one in finding.edits if one.path == path]
    assert changed <= len(edits)


@pytest.mark.parametrize("number", range(len(OPTION_SETS)), ids=IDS)
def test_every_file_alone(number: int) -> None:
    """Each file under one set of options."""
    upgrade_options, found = OPTION_SETS[number], sample(EVERY)
    assert len(found) > LEAST
    for path in found[number :: len(OPTION_SETS)]:
        checked(Sources(fragments=(from_system(str(path)),)), upgrade_options)


def lines(name: str, data: bytes) -> list[bytes]:
    return [one.strip() for one in re.findall(rb"(?im)^[ \t]*" + name.encode() + rb"\b.*", data)]


def is_added(name: str, old: bytes, new: bytes) -> bool:
    """Return True if *new* has more lines of a directive, and others: a copied branch repeats lines, and an
    edit changes them."""
    before, after = lines(name, old), lines(name, new)
    return len(after) > len(before) and not set(after) <= set(before)


def test_a_fragment_gets_no_lines_for_servers() -> None:
    """Files as they are named on the command line: ports.conf, snippets, virtual hosts."""
    seen = 0
    for path in sample(EVERY + 1):
        found, _directory = sources(ConfigArguments([path]))
        if found.context is InputContext.SERVER:
            continue
        seen += 1
        config_tree = read_config_tree(found, UpgradeOptions())
        for name, data in upgrade(config_tree).files.items():
            old = config_tree.files[name].document.bytes
            added = [one for one in SERVER_LINES if is_added(one, old, data)]
            assert not added, path
    assert seen > 5


def test_written_and_undone_byte_for_byte(tmp_path: Path) -> None:
    for number, path in enumerate(sample(EVERY)[::2]):
        directory = tmp_path / str(number)
        directory.mkdir()
        copy = directory / path.name
        copy.write_bytes(path.read_bytes())
        config_tree = read_config_tree(Sources(fragments=(from_system(str(copy)),)), UpgradeOptions())
        changed = upgrade(config_tree).files
        if changed:
            write(changed, from_system(str(directory)), is_read=read_by_includes(config_tree))
            undo(from_system(str(directory)))
        assert [one.name for one in directory.iterdir()] == [path.name]
        assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("upgrade_options", OPTION_SETS, ids=IDS)
@pytest.mark.parametrize(("name", "root", "main"), roots(), ids=[name for name, _, _ in roots()])
def test_every_tree(
    name: str, root: Path, main: str, upgrade_options: UpgradeOptions, tmp_path: Path
) -> None:
    where = shutil.copytree(root, tmp_path / "root", symlinks=True)
    options = LoadOptions(server_root=from_system(str(where)), file=main)
    assert (
        from_system(str(where / main))
        in checked(Sources(options=options, is_relocated=True), upgrade_options).tree.files
    )
