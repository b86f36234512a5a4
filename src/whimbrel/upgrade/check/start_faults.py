"""The line at which every version of httpd ends its start, and which no edit of an upgrade mends."""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple

from whimbrel.base.dialect import V22
from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_bytes
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.check.loading import load
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import LOAD_ERROR, READ_ERROR, Finding
from whimbrel.upgrade.source.built_in_modules import as_its_build
from whimbrel.upgrade.source.config_tree import ConfigTree, Role

_PLACE: Final = re.compile(r"^(?:\S+: )?(?:Syntax error on line \d+ of [^:]+:\s*)*")


def without_place(text: str) -> str:
    """Return httpd's message *text* without the program and the place, which may be of a rewritten text."""
    return _PLACE.sub("", text).strip()


class StartFault(NamedTuple):
    """The line at which every version ends its start, and the reason.

    *is_damage*: the line is a damaged tag, behind which the text is read as the contents of other sections.
    """

    place: SourceLocation
    why: str
    is_damage: bool = False

    def where(self, directory: str) -> str:
        """Return the place relative to *directory*."""
        return f"{display_path(self.place.path, directory)}:{self.place.line}"


def start_fault(result: UpgradeResult, options: LoadOptions | None) -> StartFault | None:
    """Return the line at which both versions end their start whatever *result* changes, None for none.

    It is a damaged tag, an Include of a file that the server's own tree lacks, or a line that 2.2 refuses as
    2.4 does. *options* are those of the server, None without one.
    """
    if options is None:
        return None
    findings = [finding for finding in result.findings if _is_of_server(result.tree, finding)]
    end = result.end_of_start
    if end is not None:
        damage = (one for one in findings if one.rule == READ_ERROR and one.place == end)
        why = next((one.message for one in damage), "it is damaged")
        return StartFault(end, why.partition(": ")[0], is_damage=True)
    unread = [one for one in findings if _is_missing_file(one, options)]
    includes = _includes(result.tree) if unread else frozenset()
    missing = next((one for one in unread if (one.place.path, one.place.line) in includes), None)
    if missing is not None:
        return StartFault(missing.place, _shown(missing.message, options))
    refused = {
        (one.place.path, one.place.line) for one in findings if one.rule == LOAD_ERROR and not one.edits
    }
    problem = load(as_its_build(options, result.tree.built_in), V22)[1] if refused else None
    if problem is None or problem.place is None:
        return None
    if (problem.place.path, problem.place.line) not in refused:
        return None
    return StartFault(problem.place, without_place(problem.text))


def _is_of_server(tree: ConfigTree, finding: Finding) -> bool:
    """Return True if the finding is about a file that the server reads when it starts."""
    file = tree.files.get(finding.place.path)
    return file is not None and file.role is Role.MAIN and finding.place.path not in tree.lone_paths


def _is_missing_file(finding: Finding, options: LoadOptions) -> bool:
    """Return True if the finding is about a file that the tree of the server lacks; a file elsewhere may be
    on the server's machine alone.
    """
    path = finding.message.partition(" cannot be read: ")[0]
    if finding.rule != READ_ERROR or not path.startswith(f"{options.server_root.rstrip('/')}/"):
        return False
    return "${" not in path and not os.path.lexists(to_bytes(path))


def _includes(tree: ConfigTree) -> frozenset[tuple[str, int]]:
    """Return the paths and line numbers of the Include lines that 2.2 reads."""
    lines = (line for line in tree.all_statements() if line.name == "include" and line.in_22)
    return frozenset((line.file.path, line.node.number) for line in lines)


def _shown(message: str, options: LoadOptions) -> str:
    """Return *message* with the path as the server root has it."""
    return message.removeprefix(f"{options.server_root.rstrip('/')}/")
