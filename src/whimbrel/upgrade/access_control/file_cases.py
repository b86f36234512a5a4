"""Cases of a section by the names of files, or by directory: <If> sections where no one text is right.

A <Location> follows <Files> sections, and has one text for files that they name and for all others. Under 2.2
their Order, Require and Satisfy merge field by field; where no text of 2.4 does that for both, the files that
they name get the whole decision in an <If>, which 2.4 merges behind all other sections. So does a directory
with a section or .htaccess file of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.access.decision import AccessVerdict
from whimbrel.access.file_conditions import covers_outer, file_condition
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.access_control.chain_decisions import ChainDecisions
from whimbrel.upgrade.access_control.placements import Placements
from whimbrel.upgrade.access_control.proposals import Proposals
from whimbrel.upgrade.access_control.replacement import (
    FILES,
    FileCase,
    Lines,
    Replacement,
    directory_of,
    group_by_directory,
    with_replacement,
)
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.access_control.variants import outer_sections

_MAX_CASES: Final = 4
"""The maximum number of cases of one section: more would hide what it decides."""
_MAX_CHAINS: Final = 400
"""The maximum number of chains of a section that gets cases."""

Files = tuple[AccessSection, ...]


def with_case(present: Replacement, case: FileCase) -> Replacement:
    """Return *present* with *case* behind those that it narrows: of several, 2.4 takes the last."""
    cases = sorted((*present.cases, case), key=_narrowness)
    return replace(present, cases=tuple(cases))


def _narrowness(case: FileCase) -> tuple[int, int]:
    return len(case.files), 0 if case.holder is None else directory_of(case.holder).count("/")


class FileCases:
    """The cases that can be written for the sections of one `ChainDecisions`."""

    def __init__(self, decisions: ChainDecisions, proposals: Proposals, placements: Placements) -> None:
        self._decisions = decisions
        self._placements = placements
        self._proposals = proposals

    def add(
        self,
        section: AccessSection,
        plain: Replacement,
        replacements: dict[AccessSection, Replacement],
    ) -> Replacement | None:
        """Return *plain*, a text of *section*, with cases that make all its certain chains right.

        None: that takes no case, or is not possible.

        An uncertain chain that *plain* makes right stays so.
        """
        ends = self._decisions.chains_by_end.get(section, [])
        if not self._can_have_cases(section) or any(chain.given for chain in ends) or len(ends) > _MAX_CHAINS:
            return None
        wrong = set(self._wrong(ends, section, plain, replacements))
        added = plain
        for files, chains in self._groups(section, ends):
            if not self._needs_case(section, chains, added, replacements, wrong):
                continue
            certain = [chain for chain in chains if chain.is_certain]
            more = (
                self._with_case(section, files, chains, added, replacements)
                or self._by_directory(section, files, chains, added, replacements, wrong)
                or (self._with_case(section, files, certain, added, replacements) if certain else None)
            )
            if more is None:
                return None
            added = more
        return added if added.cases else None

    def _by_directory(
        self,
        section: AccessSection,
        files: Files,
        chains: list[Chain],
        present: Replacement,
        replacements: dict[AccessSection, Replacement],
        wrong: set[Chain],
    ) -> Replacement | None:
        """Return *present* with a case for each directory that needs one, deep ones behind those around them.

        None: that is not possible.
        """
        added = present
        for holder, among in group_by_directory(section, chains):
            if self._needs_case(section, among, added, replacements, wrong):
                more = self._with_case(section, files, among, added, replacements, holder)
                if more is None:
                    return None
                added = more
        return added

    def _needs_case(
        self,
        section: AccessSection,
        chains: list[Chain],
        present: Replacement,
        replacements: dict[AccessSection, Replacement],
        wrong: set[Chain],
    ) -> bool:
        """Return True if a certain chain is not right with *present*, or an uncertain one not of *wrong*."""
        failing = self._wrong(chains, section, present, replacements)
        return any(chain.is_certain or chain not in wrong for chain in failing)

    def in_outer(
        self, chain: Chain, replacements: dict[AccessSection, Replacement]
    ) -> Iterator[tuple[AccessSection, Replacement]]:
        """Yield outer sections of *chain*, each with a case that makes it right and no other chain wrong.

        So are chains told apart that end alike, by a section that precedes the <Files> sections.
        """
        files = tuple(unit for unit in chain.sections if unit.kind in FILES)
        if file_condition(files) is None:
            return
        for holder in reversed(chain.sections[:-1]):
            present = replacements[holder] if holder in replacements else None
            if (
                present is None
                or holder.kind in FILES
                or len(present.cases) == _MAX_CASES
                or not self._can_have_cases(holder)
                or not all(self._is_exact(one, holder) for one in files)
            ):
                continue
            affected = [other for other in self._decisions.chains if {holder, *files} <= set(other.sections)]
            if len(affected) > _MAX_CHAINS or any(other.given for other in affected):
                continue
            before = self._opening(affected, holder, present, replacements)
            for case in self._cases_of(chain, holder, files):
                added = with_case(present, case)
                after = self._opening(affected, holder, added, replacements)
                # an <If> has the whole decision: it must be right wherever it applies
                if any(case.applies(other) for other in after):
                    continue
                if all(other in before and before[other] >= opens for other, opens in after.items()):
                    yield holder, added

    def _cases_of(self, chain: Chain, section: AccessSection, files: Files) -> Iterator[FileCase]:
        """Yield cases of *section* for the decision of *chain*: those of its innermost directories first, as
        other requests with the same <Files> sections may have another decision; last one for all of them."""
        inner = chain.sections[chain.sections.index(section) + 1 :]
        narrow = [
            one
            for one in reversed(inner)
            if directory_of(one)
            and file_condition(files, directory_of(one)) is not None
            and self._applies_throughout(one, section)
        ]
        for lines in self._texts([chain]):
            for holder in (*narrow, None):
                yield FileCase(files, lines, holder)

    def _can_have_cases(self, section: AccessSection) -> bool:
        decisions = self._decisions
        return not (
            section.statement is None
            or section.in_htaccess
            or section.is_proxy
            or section.choices
            or section.loses_lines
            or section in decisions.failing_sections
            or section in decisions.written
        )

    def _groups(self, section: AccessSection, chains: Iterable[Chain]) -> list[tuple[Files, list[Chain]]]:
        """Return the chains by their <Files> sections, few ones first."""
        groups: dict[Files, list[Chain]] = {}
        for chain in chains:
            files = tuple(unit for unit in chain.sections if unit.kind in FILES and unit is not section)
            groups.setdefault(files, []).append(chain)
        return [(files, groups[files]) for files in sorted(groups, key=len)]

    def _with_case(
        self,
        section: AccessSection,
        files: Files,
        chains: list[Chain],
        present: Replacement,
        replacements: dict[AccessSection, Replacement],
        holder: AccessSection | None = None,
    ) -> Replacement | None:
        """Return *present* with a case that makes all *chains* right; None: there is none.

        *holder*: the case is about the directory of this section or file alone.
        """
        if len(present.cases) == _MAX_CASES:
            return None
        directory = "" if holder is None else directory_of(holder)
        if file_condition(files, directory) is None or not all(self._is_exact(one, section) for one in files):
            return None
        if holder is not None and not self._applies_throughout(holder, section):
            return None
        for lines in self._texts(chains):
            tried = replace(present, cases=(*present.cases, FileCase(files, lines, holder)))
            if next(self._wrong(chains, section, tried, replacements), None) is None:
                return tried
        return None

    def _texts(self, chains: Iterable[Chain]) -> Iterator[Lines]:
        """Yield the texts for the whole decision of each chain, each once."""
        seen: set[Lines] = set()
        for chain in chains:
            for lines in self._proposals.complete(chain):
                if lines not in seen:
                    seen.add(lines)
                    yield lines

    def _is_exact(self, files: AccessSection, section: AccessSection) -> bool:
        """Return True if the condition on *files* holds exactly where they apply together with *section*."""
        around = (files, *outer_sections(files))
        if any(unit.conditions or unit.server not in (None, section.server) for unit in around):
            return False
        return covers_outer(files)

    def _applies_throughout(self, holder: AccessSection, section: AccessSection) -> bool:
        """Return True if *holder* applies to all requests of its directory to which *section* applies.

        A section of one virtual host does not where *section* applies in others too.
        """
        if holder.conditions or holder.server not in (None, section.server):
            return False
        return all(
            holder in chain.sections
            for _server, chain in self._placements.requests(holder)
            if section in chain.sections
        )

    def _wrong(
        self,
        chains: Iterable[Chain],
        section: AccessSection,
        replacement: Replacement,
        replacements: dict[AccessSection, Replacement],
    ) -> Iterator[Chain]:
        """Yield those of *chains* that *replacement* decides otherwise than 2.2."""
        with with_replacement(replacements, section, replacement):
            yield from (chain for chain in chains if self._decisions.differs(chain, replacements)[0])

    def _opening(
        self,
        chains: Iterable[Chain],
        section: AccessSection,
        replacement: Replacement,
        replacements: dict[AccessSection, Replacement],
    ) -> dict[Chain, bool]:
        """Return those of *chains* that *replacement* decides otherwise than 2.2, and whether it admits a
        client that 2.2 refuses."""
        found: dict[Chain, bool] = {}
        with with_replacement(replacements, section, replacement):
            for chain in chains:
                differs, example = self._decisions.differs(chain, replacements)
                if differs:
                    found[chain] = example is None or example.after is AccessVerdict.GRANTED
        return found
