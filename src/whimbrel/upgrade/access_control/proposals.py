"""Candidate replacements of one section: native Require lines, lines of mod_access_compat, repetitions by
directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from whimbrel.access.layers import AccessLine
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.model import SectionKind
from whimbrel.upgrade.access_control import compat, native
from whimbrel.upgrade.access_control.chain_decisions import ChainDecisions, is_refused
from whimbrel.upgrade.access_control.effective import RECORD, has_directive
from whimbrel.upgrade.access_control.guards import FORMS
from whimbrel.upgrade.access_control.placements import Placements
from whimbrel.upgrade.access_control.replacement import (
    Lines,
    Repetition,
    Replacement,
    can_hold,
    can_repeat,
    directory_of,
    group_by_directory,
    holders,
    with_replacement,
)
from whimbrel.upgrade.access_control.sections import AccessSection, Chain

_MAX_REPLACEMENTS: Final = 60
_NEUTRAL: Final = (AccessLine("order", "deny,allow"),)
_OPPOSITES: Final = {"limit": "limitexcept", "limitexcept": "limit"}
_ALL: Final = AccessLine("satisfy", "All")
_OF_SSL: Final = frozenset({"sslrequire", "sslrequiressl"})


class Proposals:
    """The candidate replacements of each section, the likeliest first.

    *has_alias*: the text has a place for the container of `native.ALIAS`.
    """

    def __init__(self, decisions: ChainDecisions, placements: Placements, *, has_alias: bool = True) -> None:
        self.decisions = decisions
        self._placements = placements
        self._has_alias = has_alias
        self._proposed: dict[tuple[object, ...], tuple[Lines, ...]] = {}

    def replacements_of(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement], base: Lines | None
    ) -> Iterator[Replacement]:
        """Yield candidates for the lines of the section; *replacements* are those of its outer sections."""
        seen: set[Lines] = set()
        for control in self._candidates(section, replacements, base):
            if control not in seen:
                seen.add(control)
                yield Replacement(control)
            if len(seen) == _MAX_REPLACEMENTS:
                break

    def repeated(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement]
    ) -> Iterator[Replacement]:
        """Yield the section with repetitions: those that all requests need, then those of certain requests.

        httpd reads a repetition whatever the conditions around the directory's own section are, so sections
        under conditions have none.
        """
        ends = self.decisions.chains_by_end.get(section, [])
        if (
            section in self.decisions.failing_sections
            or not can_repeat(section)
            or section not in self.decisions.lines
            or any(chain.given for chain in ends)
        ):
            return
        named = [chain for chain in ends if not chain.is_prefix]
        certain = [chain for chain in ends if chain.is_certain]
        for chains in (named, certain) if 0 < len(certain) < len(named) else (certain or ends,):
            yield from self._repeated(section, replacements, chains)

    def varied(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement], chain: Chain
    ) -> Iterator[Replacement]:
        """Yield the present replacement of the section with an Order that admits every client, and with other
        repetitions in the directories of *chain*, which leads to an inner section."""
        present = replacements[section]
        repeats = tuple(replace(repeat, control=_neutral(repeat.control)) for repeat in present.repeats)
        yield Replacement(_neutral(present.control), present.repeats)
        yield Replacement(_neutral(present.control), repeats)
        if not can_repeat(section) or chain.given:
            return
        at = chain.sections.index(section) + 1
        lines_22 = [self.decisions.lines[unit] for unit in chain.sections[:at]]
        forms = (*self._forms(native.propose, lines_22), *self._forms(compat.propose, lines_22))
        texts = dict.fromkeys((self.decisions.control_lines[section], *map(_neutral, forms), *forms))
        for holder in reversed(holders(section, chain)):
            if not can_hold(holder, section):
                continue
            others = [repeat for repeat in present.repeats if repeat.holder is not holder]
            for lines in texts:
                if not self._is_admitted(holder, lines):
                    continue
                for added in self._placements.repetitions(section, holder, [chain], lines):
                    inner_last = sorted((*others, *added), key=lambda one: len(directory_of(one.holder)))
                    candidate = Replacement(present.control, tuple(inner_last))
                    if self._is_right(section, candidate, replacements, (), added):
                        yield candidate

    def complete(self, chain: Chain) -> Iterator[Lines]:
        """Yield texts for the whole decision of *chain*, for a place that is merged behind its sections."""
        lines_22 = [self.decisions.lines[unit] for unit in chain.sections]
        forms = self._forms(native.propose, lines_22)
        yield from forms
        yield from ((*_NEUTRAL, *lines) for lines in forms)
        yield from ((*_NEUTRAL, _ALL, *lines) for lines in forms)
        yield from self._forms(compat.propose, lines_22)

    def _candidates(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement], base: Lines | None
    ) -> Iterator[Lines]:
        """Yield candidates for the lines of the section.

        *base* is None if the lines shall express the whole decision, otherwise the lines to add where no
        Require is in force.
        """
        own_lines = self.decisions.control_lines[section]
        if section in self.decisions.failing_sections:
            yield own_lines
            return
        if section in self.decisions.guards:
            yield from FORMS
        chains = self._chains_of(section)
        forced = base is not None
        if (
            base
            and not has_directive(own_lines, {"require", "satisfy"})
            and not any(
                has_directive(replacements[u].control, {"require"}) for u in self.decisions.outer[section]
            )
        ):
            yield (*own_lines, *base)
        if base and has_directive(base, {"satisfy"}) and not has_directive(own_lines, {"satisfy"}):
            yield from ((*own_lines, others) for others in _for_other_methods(own_lines, base))
        if (
            not own_lines
            or not has_directive(own_lines, RECORD | {"satisfy"})
            or (forced and not has_directive(own_lines, {"satisfy"}))
        ):
            yield own_lines
        sources = [self._compat(section, chains), self._native(section, chains, replacements)]
        for source in sources if forced else reversed(sources):
            for lines in source:
                if self._is_admitted(section, lines):
                    yield lines
        yield own_lines

    def _chains_of(self, section: AccessSection) -> list[list[Lines]]:
        ends = self.decisions.chains_by_end[section]
        return [
            [self.decisions.lines[u] for u in chain.sections]
            for chain in [c for c in ends if c.is_certain] or ends
        ][:6] or [[self.decisions.lines[section]]]

    def _is_admitted(self, section: AccessSection, lines: Lines) -> bool:
        if not section.in_htaccess:
            return True
        holder = section.outer or section
        while holder.kind is not SectionKind.HTACCESS and holder.outer is not None:
            holder = holder.outer
        return not any(is_refused(lines, override) for override in self.decisions.overrides.get(holder, ()))

    def _native(
        self,
        section: AccessSection,
        chains: list[list[Lines]],
        replacements: dict[AccessSection, Replacement],
    ) -> Iterator[Lines]:
        outer = {u for chain in self.decisions.chains_by_end[section] for u in chain.sections[:-1]}
        barrier = any(has_directive(replacements[u].control, RECORD | {"satisfy"}) for u in outer)
        proposals = list(
            dict.fromkeys(lines for chain in chains for lines in self._forms(native.propose, chain))
        )
        yield from proposals
        if barrier:
            yield from ((*_NEUTRAL, *lines) for lines in proposals)
        # AuthMerging And refuses each client that an outer section refuses, whatever Order decides here
        if outer and self.decisions.area not in outer:
            own_lines = [self.decisions.lines[section]]
            for word in ("And", "Or"):
                for lines in self._forms(native.propose, own_lines, self._surroundings(chains[0]))[:3]:
                    yield (AccessLine("authmerging", word), *lines)

    def _compat(self, section: AccessSection, chains: list[list[Lines]]) -> Iterator[Lines]:
        for chain in chains[:3]:
            yield from self._forms(compat.propose, chain)

    def _forms(
        self,
        make: Callable[[Sequence[Lines], native.AuthzContext], Iterable[Lines]],
        chain: list[Lines],
        authz_context: native.AuthzContext | None = None,
    ) -> tuple[Lines, ...]:
        """Return the proposals of *make* for a chain of these lines, computed once for equal chains."""
        authz_context = authz_context or self._surroundings(chain)
        key = (make, authz_context, *chain)
        if key not in self._proposed:
            self._proposed[key] = tuple(
                lines
                for lines in make(chain, authz_context)
                if self._has_alias or not native.needs_alias(lines)
            )
        return self._proposed[key]

    def _surroundings(self, chain: list[Lines]) -> native.AuthzContext:
        return native.AuthzContext(
            self.decisions.modules_22,
            any(has_directive(lines, {"authgroupfile"}) for lines in chain),
            any(has_directive(lines, {"authdbmgroupfile"}) for lines in chain),
        )

    def _repeated(
        self,
        section: AccessSection,
        replacements: dict[AccessSection, Replacement],
        requests: Sequence[Chain],
    ) -> Iterator[Replacement]:
        """Yield the section with a separate decision for each directory in which it decides differently."""
        groups = group_by_directory(section, requests)
        if len(groups) < 2:
            return
        replacement: Replacement | None = None
        for holder, chains in groups:
            candidate = self._for_group(section, holder, chains, replacement, replacements)
            if candidate is None:
                return
            replacement = candidate
        if replacement is not None and replacement.repeats:
            yield replacement

    def _for_group(
        self,
        section: AccessSection,
        holder: AccessSection | None,
        chains: list[Chain],
        replacement: Replacement | None,
        replacements: dict[AccessSection, Replacement],
    ) -> Replacement | None:
        """Return *replacement* if it is right for *chains* too, else *replacement* with a repetition that is
        right for them."""
        if replacement is not None and self._is_right(section, replacement, replacements, chains):
            return replacement
        for control in self._texts_of_group(chains, is_repetition=replacement is not None):
            for lines in dict.fromkeys((control, _neutral(control))):
                if replacement is None:
                    repetitions: list[tuple[Repetition, ...]] = [()]
                elif holder is None or not can_hold(holder, section) or not self._is_admitted(holder, lines):
                    return None
                else:
                    repetitions = list(self._placements.repetitions(section, holder, chains, lines))
                for added in repetitions:
                    candidate = (
                        Replacement(lines)
                        if replacement is None
                        else Replacement(replacement.control, (*replacement.repeats, *added))
                    )
                    if self._is_right(section, candidate, replacements, chains, added):
                        return candidate
        return None

    def _texts_of_group(self, chains: list[Chain], *, is_repetition: bool) -> Iterator[Lines]:
        """Yield texts for the decision of *chains*: native ones; for a repetition that conditions of mod_ssl
        decide with, also those of mod_access_compat, which alone joins both by Satisfy Any.
        """
        makers = [native.propose]
        units = {unit for chain in chains for unit in chain.sections}
        if is_repetition and any(has_directive(self.decisions.lines[unit], _OF_SSL) for unit in units):
            makers.append(compat.propose)
        seen: set[Lines] = set()
        for make in makers:
            for chain in chains:
                for lines in self._forms(make, [self.decisions.lines[u] for u in chain.sections]):
                    if lines not in seen:
                        seen.add(lines)
                        yield lines

    def _is_right(
        self,
        section: AccessSection,
        replacement: Replacement,
        replacements: dict[AccessSection, Replacement],
        chains: Iterable[Chain],
        added: Sequence[Repetition] = (),
    ) -> bool:
        """Return True if all *chains*, and all requests that the repetitions *added* affect, decide as
        before."""
        with with_replacement(replacements, section, replacement):
            return not any(
                self.decisions.differs(chain, replacements)[0] for chain in chains
            ) and self._placements.is_right(section, added, replacements)


def _neutral(lines: Lines) -> Lines:
    """Return the lines with an Order that admits every client, unless they have Order, Allow, Deny or Satisfy
    already."""
    return lines if not lines or has_directive(lines, RECORD | {"satisfy"}) else (*_NEUTRAL, *lines)


def _for_other_methods(own_lines: Lines, base: Lines) -> Iterator[AccessLine]:
    """Yield a container with *base* for the methods that no Require of *own_lines* is about, if all Require
    lines are about the same methods.
    """
    requiring = [line for line in own_lines if has_directive((line,), {"require"})]
    limits = {(line.name, line.args.strip()) for line in requiring}
    if len(limits) == 1 and (opposite := _OPPOSITES.get(requiring[0].name)):
        yield AccessLine(opposite, requiring[0].args, None, base)


def in_container(lines: Lines) -> Lines:
    """Return the lines with their Require lines in a container."""
    requires = tuple(line for line in lines if line.name == "require")
    contained: list[AccessLine] = []
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            contained.append(AccessLine(line.name, line.args, line.place, in_container(line.children)))
        elif line.name != "require":
            contained.append(line)
        elif line is requires[0]:
            contained.append(AccessLine("requireany", "", None, requires))
    return tuple(contained)
