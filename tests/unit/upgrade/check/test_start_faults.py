"""The line at which both versions end their start; the messages are those of apache2 -t 2.4.71."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from tests.unit.upgrade.config_trees import laid

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.check.start_faults import StartFault, start_fault
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.reading import Sources, read_config_tree

MAIN = "conf/httpd.conf"


def fault_of(root: Path, text: str) -> tuple[StartFault | None, int]:
    """Return the fault of a server, and how often its lines were walked to find it."""
    laid(root, {MAIN: f"Listen 8080\n{text}"})
    options = LoadOptions(server_root=str(root), file=MAIN)
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()), [])
    with patch.object(
        ConfigTree, "all_statements", autospec=True, side_effect=ConfigTree.all_statements
    ) as walk:
        return start_fault(result, options), walk.call_count


def test_an_include_of_a_file_that_is_not_here_ends_the_start(tmp_path: Path) -> None:
    fault, _ = fault_of(tmp_path, "Include conf/absent.conf\n")
    assert fault is not None and (fault.place.line, fault.why.split()[0]) == (2, "conf/absent.conf")


def test_directories_that_are_not_here_end_no_start(tmp_path: Path) -> None:
    """apache2 warns of each (AH00112); a thousand of them cost one walk of the lines."""
    hosts = [f"<VirtualHost *:8080>\nDocumentRoot {tmp_path}/{n}\n</VirtualHost>\n" for n in range(20)]
    fault, walks = fault_of(tmp_path, "".join(hosts))
    assert fault is None
    assert walks <= 1
