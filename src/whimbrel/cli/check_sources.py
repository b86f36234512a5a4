"""What `whimbrel check` looks at: configurations, loose files, and the single files that options name, all as one report."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from whimbrel.cli.check_files import judged
from whimbrel.cli.conf_options import BadUse
from whimbrel.cli.main_files import main_file
from whimbrel.octets import from_system
from whimbrel.report.entries import entry_of
from whimbrel.report.model import Report
from whimbrel.upgrade.checking import Checked, Selection, check_all, pieces
from whimbrel.upgrade.difference import shown_path
from whimbrel.upgrade.estate import Step, unwatched
from whimbrel.upgrade.model import Finding, Wishes
from whimbrel.upgrade.reading import Progress, Sources
from whimbrel.upgrade.rules import all_rules

MOST_LEVELS: Final = 3
"""How deep below a folder other servers' folders are looked for."""


def servers(conf: list[Path]) -> tuple[list[Path], list[Path]]:
    """The folders that hold a server's configuration, and what else was named.  One main file with its fragments stays together."""
    if len(conf) == 1 and conf[0].is_dir() and not _is_server(conf[0]):
        below = list(_below(conf[0], MOST_LEVELS))
        return (below, []) if below else ([], conf)
    whole = [path for path in conf if path.is_dir() and _is_server(path)]
    return whole, [path for path in conf if path not in whole]


def _is_server(folder: Path) -> bool:
    return main_file(folder) is not None


def _below(folder: Path, levels: int) -> Iterator[Path]:
    """Folders of servers below *folder*, none of them inside another; nothing where other configuration lies beside them."""
    found = []
    for entry in sorted(folder.iterdir()):
        if entry.is_file() and entry.name.endswith((".conf", ".htaccess")):
            return
        if entry.is_dir() and not entry.is_symlink():
            inner = [entry] if _is_server(entry) else list(_below(entry, levels - 1)) if levels else []
            if not inner and _has_configuration(entry):
                return
            found += inner
    yield from found


def _has_configuration(folder: Path) -> bool:
    return any(name.endswith((".conf", ".htaccess")) for _where, _folders, names in os.walk(folder) for name in names)


def run(
    parts: list[tuple[Sources, str]],
    wanted: Selection,
    jobs: int,
    progress: Progress,
    step: Step = unwatched,
    options: Wishes | None = None,
) -> Report:
    """Look at everything; raises BadUse where not one file can be read."""
    report = Report(titles={rule.number: rule.title for rule in all_rules()})
    jobs_to_do = [(piece, folder) for sources, folder in parts for piece in pieces(sources)]
    unread: list[Finding] = []
    gc.disable()  # an estate is a million objects that stay, which the collector would look at again and again
    every = check_all([piece for piece, _ in jobs_to_do], wanted, jobs, progress, step, options)
    for (_piece, folder), checked in zip(jobs_to_do, every, strict=True):
        base = folder if len(parts) == 1 else from_system(os.getcwd())
        report.add(as_report(checked, base))
        unread += [finding for finding in checked.findings if not checked.files]
    if not report.files:
        raise BadUse("; ".join(f"{finding.place}: {finding.message}" for finding in unread) or "no files")
    return report


def as_report(checked: Checked, folder: str) -> Report:
    """*checked* as it is shown to somebody who asked for *folder*."""
    entries = [
        entry_of(finding, folder, checked.texts.get((finding.place.path, finding.place.line), ""))
        for finding in checked.findings
    ]
    return Report(
        [shown_path(path, folder) for path in checked.files],
        entries,
        sum(checked.files.values()),
        inputs=list(checked.inputs),
    )


# single files --------------------------------------------------------------------------------------
def of_files(given: dict[str, Path]) -> Report:
    """What is wrong with the files that the options *given* name; raises BadUse where one isn't there."""
    report = Report()
    for path, findings in judged(given):
        report.files.append(path)
        report.entries += [entry_of(finding) for finding in findings]
    return report
