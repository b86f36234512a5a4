"""The scope of knowledge of a configuration that was loaded, or that failed to load, on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from whimbrel.base.counts import and_more, count_noun, word_for
from whimbrel.base.errors import (
    ForeignModule,
    ForeignResource,
    MissingDirectory,
    MissingResource,
    MissingTypes,
    ProgramNotRun,
    SourceLocation,
    UndecidedVariables,
)
from whimbrel.config.configuration import Configuration
from whimbrel.config.skipped_branches import SkippedBranch
from whimbrel.directives.node import Node
from whimbrel.upgrade.knowledge.lines import (
    WITHOUT_ANSWERS,
    NamedLine,
    missing_user_files,
    undefined_variables,
)
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind

NOT_TRUE: Final = " is not true here"
"""What the item about a branch says of its condition."""
MAX_NAMES: Final = 3
"""Hosts, and files, that the item about a branch names."""
NO_START: Final = "no answer depends on it, but no server starts here without it"
NO_START_24: Final = "no answer depends on it, but 2.4 does not start here with it; 2.2 only warns"
NO_START_ANSWERS: Final = "answers depend on it, and no server starts here without it"
UNDECIDED_EFFECT: Final = "its effect is not decided"
OF_TYPES: Final = "Content-Type depends on it, and no server starts here without it"
"""What follows from a missing file of types, and from a line that was left out, such as that of a log in a
directory that is missing."""
STARTS: Final = (NO_START, NO_START_24, NO_START_ANSWERS, OF_TYPES)
"""What follows from lines without which no server starts on this machine."""


def scope_of(configuration: Configuration, missing: Iterable[MissingResource]) -> KnowledgeScope:
    """Return the scope of *configuration*, from whose text *missing* was left out.

    Missing directories are not part of it: the caller knows whether a .htaccess file would be read there.
    """
    lines = list(_lines(configuration.tree))
    items = [
        *(item_of(problem) for problem in missing if not isinstance(problem, MissingDirectory)),
        *_without_behaviour(configuration),
        *undefined_variables(lines),
        *missing_user_files(
            lines, configuration.root, configuration.stand_ins, matters=True, disk=configuration.disk
        ),
        *_stand_ins(configuration),
        # one version reads what is meant for it alone
        *skipped_items(one for one in configuration.skipped if not _is_of_version(one)),
    ]
    files = dict.fromkeys(included.path for included in configuration.includes)
    return KnowledgeScope(tuple(files), tuple(dict.fromkeys(items)))


def scope_of_missing(missing: Iterable[MissingResource]) -> KnowledgeScope:
    """Return the scope of a configuration that does not load, from whose text *missing* was left out."""
    return KnowledgeScope(items=tuple(dict.fromkeys(map(item_of, missing))))


def item_of(problem: MissingResource) -> UnknownItem:
    """Return the item about a line that was left out."""
    without = NO_START_24 if problem.is_accepted_by_22 else NO_START
    consequence = "" if problem.matters else without
    if isinstance(problem, MissingTypes):
        consequence = OF_TYPES
    if isinstance(problem, ProgramNotRun):
        consequence = "what it would print is not decided"
        return UnknownItem(UnknownKind.PROGRAM_NOT_RUN, problem.place, problem.reason, consequence)
    if isinstance(problem, UndecidedVariables):
        return UnknownItem(
            UnknownKind.UNDEFINED_VARIABLE, problem.place, problem.reason, matters=problem.matters
        )
    if isinstance(problem, ForeignModule):
        owner = problem.product or "a third party"
        subject = f"{problem.file}: a module of {owner} that is not here"
        return UnknownItem(UnknownKind.LEFT_OUT, problem.place, subject, UNDECIDED_EFFECT)
    if isinstance(problem, ForeignResource):
        consequence = UNDECIDED_EFFECT
    return UnknownItem(
        UnknownKind.LEFT_OUT, problem.place, problem.reason, consequence, matters=problem.matters
    )


def _stand_ins(configuration: Configuration) -> Iterator[UnknownItem]:
    for path, file in configuration.stand_ins.items():
        if file.name.lower() not in WITHOUT_ANSWERS:
            yield UnknownItem(
                UnknownKind.STAND_IN,
                file.line,
                f"{path} is missing",
                f"{file.place} was read in its place",
                f"copy {file.place}",
                matters=False,
            )


def skipped_items(branches: Iterable[SkippedBranch]) -> Iterator[UnknownItem]:
    """Yield an item for each condition that is not true: of <IfDefine> sections, and of others with hosts or
    files in them, since most <IfModule> sections have the settings of a module that is not used.
    """
    by_condition: dict[str, list[SkippedBranch]] = {}
    for branch in branches:
        if branch.hosts or branch.files or branch.defined_name:
            by_condition.setdefault(branch.condition, []).append(branch)
    for condition, found in by_condition.items():
        first = next((one for one in found if one.hosts), next((one for one in found if one.files), found[0]))
        hosts = list(dict.fromkeys(host for one in found for host in one.hosts))
        files = list(dict.fromkeys(file for one in found for file in one.files))
        parts = [
            f"{word_for(len(hosts), 'virtual host', 'virtual hosts')} {_listed(hosts)}" if hosts else "",
            _listed(files) if files else "",
            f"{count_noun(len(found), 'section')} in all" if len(found) > 1 else "",
        ]
        what = ", ".join(filter(None, parts))
        subject = f"{condition}{NOT_TRUE}{': ' if what else ''}{what}"
        yield UnknownItem(UnknownKind.NOT_READ, first.place, subject, advice=_advice(found), matters=False)


def _is_of_version(branch: SkippedBranch) -> bool:
    return branch.condition.lower().startswith("<ifversion")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + and_more(max(0, len(names) - MAX_NAMES))


def _advice(branches: Sequence[SkippedBranch]) -> str:
    """Return what makes the condition of all *branches* true, "" for none."""
    name = branches[0].defined_name
    if not name:
        return ""
    is_of_lines = all(branch.is_of_lines for branch in branches)
    if name[:1] == "!":
        return f"a Define line sets {name[1:]}" if is_of_lines else f"leave out -D {name[1:]}"
    return f"an UnDefine line removes {name}" if is_of_lines else f"add -D {name}"


def _without_behaviour(configuration: Configuration) -> Iterator[UnknownItem]:
    for node, module in configuration.unimplemented:
        place: SourceLocation = node.place
        yield UnknownItem(
            UnknownKind.NO_BEHAVIOUR, place, f"{node.name} ({module}) has no behaviour here", "not decided"
        )


def _lines(nodes: Iterable[Node]) -> Iterator[NamedLine]:
    waiting = list(reversed(list(nodes)))
    while waiting:
        node = waiting.pop()
        yield NamedLine(node.name.lower(), node.args, node.place)
        waiting.extend(reversed(node.children))
