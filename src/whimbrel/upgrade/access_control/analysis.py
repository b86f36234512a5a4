"""Analysis of the access control of one configuration tree; all rules about access share one result."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.access.chains import Bounds, ServedRequests
from whimbrel.access.decision import AccessVerdict, Counterexample
from whimbrel.access.sections import absolute_path
from whimbrel.base.dialect import V22, V24
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.config.model import SectionKind
from whimbrel.upgrade.access_control import native
from whimbrel.upgrade.access_control.chain_decisions import ChainDecisions
from whimbrel.upgrade.access_control.conditional_edits import of_conditional
from whimbrel.upgrade.access_control.edits import rendered, section_edits
from whimbrel.upgrade.access_control.effective import RECORD, flatten_directives, has_directive
from whimbrel.upgrade.access_control.fragment_context import is_loose, password_area, surrounded
from whimbrel.upgrade.access_control.host_chains import HostChains, Hosts, chain_of
from whimbrel.upgrade.access_control.module_orders import is_order_known
from whimbrel.upgrade.access_control.native import ALIAS, ERROR_500
from whimbrel.upgrade.access_control.placements import Placements
from whimbrel.upgrade.access_control.replacement import (
    FILES,
    FileCase,
    Repetition,
    Replacement,
    directory_of,
)
from whimbrel.upgrade.access_control.sections import (
    AccessSection,
    Chain,
    Inventory,
    find_sections,
    may_be_strict,
    to_access_lines,
)
from whimbrel.upgrade.access_control.shared_lines import disagreeing
from whimbrel.upgrade.access_control.solver import FailingChain, SectionPlan, Solver
from whimbrel.upgrade.access_control.unchanged_sections import (
    CARRIED,
    SHARED,
    SPLIT,
    Left,
    left,
    written,
)
from whimbrel.upgrade.access_control.variants import Variants
from whimbrel.upgrade.access_control.vhost_equivalence import (
    EquivalentHost,
    VhostEquivalence,
    password_file_exists,
)
from whimbrel.upgrade.model import FileEdit, Finding, InputContext, Style
from whimbrel.upgrade.source.access_compat import access_compat
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import was_24_config

_SHOWN: Final = 8
"""Lines that a message quotes."""
_WIDTH: Final = 200
"""Characters of a line that a message quotes."""


@dataclass(slots=True, eq=False)
class AccessAnalysis:
    """The sections, their chains, and the plan for each section.

    Attributes:
        inventory: all sections.
        host_chains: the chains of all hosts.
        chains: the chains of the variants that are solved; equivalent hosts share the chains of the first
            one.
        decisions: the decisions of these chains under both versions.
        plans: the plan of each section; sections without lines about access have none.
        bounds: the bounds that the search for chains exceeded.
        variants: the variants of each section, which the solver solves.
        left: the sections that keep their text, each with the reason.
        solved: the plan of each variant.
        is_first: no edit of access control has been applied yet.
        equivalents: the section of the first host, and the equivalent host, by section.
        placements: the places of repetitions.
        obstacles: the sections for which Require alone was given up, each with a chain in which it fails.
        models: findings about sections of first hosts whose words are true of equal sections of the others.
    """

    inventory: Inventory
    host_chains: HostChains
    chains: list[Chain]
    decisions: ChainDecisions
    plans: dict[AccessSection, SectionPlan]
    bounds: Bounds
    variants: Variants
    left: Left
    solved: dict[AccessSection, SectionPlan]
    is_first: bool
    equivalents: dict[AccessSection, tuple[AccessSection, EquivalentHost]]
    placements: Placements
    obstacles: dict[AccessSection, FailingChain]
    models: dict[AccessSection, Finding] = field(default_factory=dict)
    _replacements: dict[AccessSection, Replacement] = field(default_factory=dict)
    _ranks: dict[AccessSection, int] = field(default_factory=dict)
    _undecided: dict[AccessSection, Chain | None] = field(default_factory=dict)
    _examples: dict[AccessSection, Counterexample | None] = field(default_factory=dict)

    def edits(
        self, tree: ConfigTree, section: AccessSection, replacement: Replacement | None = None
    ) -> tuple[FileEdit, ...]:
        """Return the edits that give the section its planned text, or *replacement*."""
        if section in self.decisions.failing_sections:
            return ()
        if section.choices or section.loses_lines:
            if replacement is None and not section.loses_lines and self._is_unchanged(section):
                return ()
            return of_conditional(
                section,
                replacement or self.plans[section].replacement,
                self.decisions.removed_names,
                also_22=tree.options.also_22,
                rank=self._rank(section),
            )
        return section_edits(
            section,
            replacement or self.plans[section].replacement,
            self.decisions.unchanged_lines[section],
            self.decisions.removed_names,
            also_22=tree.options.also_22,
            rank=self._rank(section),
        )

    def _rank(self, section: AccessSection) -> int:
        """Return the place of a section in the order in which chains have them, from 1."""
        if not self._ranks:
            ordered = sorted(self.inventory.sections, key=_merge_key)
            self._ranks.update((one, number) for number, one in enumerate(ordered, 1))
        return self._ranks[section]

    def _is_unchanged(self, unit: AccessSection) -> bool:
        """Return True if the section keeps its own lines under each combination of its conditions."""
        first = self.equivalents.get(unit, (unit,))[0]
        control_lines = self.decisions.control_lines
        gone = any(line.name in self.decisions.removed_names for line in self.decisions.lines[unit])
        return not gone and all(
            self.solved[variant].replacement == Replacement(control_lines[variant])
            for variant in self.variants.of[first].values()
            if variant in self.solved
        )

    def chains_ending_at(self, section: AccessSection) -> list[Chain]:
        """Return the chains that end with the section, for each combination of its conditions."""
        first, equivalent = self.equivalents.get(section, (section, None))
        first_chains = [
            chain
            for variant in self.variants.of[first].values()
            for chain in self.decisions.chains_by_end.get(variant, ())
        ]
        return first_chains if equivalent is None else [chain_of(equivalent, chain) for chain in first_chains]

    def difference(self, section: AccessSection, replacement: Replacement) -> Counterexample | None:
        """Return a client that *replacement* treats differently than 2.2 did; for equivalent hosts, a client
        of the first one."""
        first = self.equivalents.get(section, (section,))[0]
        if first not in self._examples:
            replacements = ChainMap(
                dict.fromkeys(self.variants.of[first].values(), replacement), self.variant_forms
            )
            self._examples[first] = next(
                (
                    example
                    for chain in self.chains_ending_at(section)
                    if (example := self.decisions.differs(chain, replacements)[1]) is not None
                ),
                None,
            )
        return self._examples[first]

    def replaced(self, section: AccessSection) -> AccessSection | None:
        """Return the outer section whose Order, Allow and Deny those of the section replaced in 2.2, with the
        result that more clients were admitted; None if there is none."""
        first = self.equivalents.get(section, (section,))[0]
        cache = self.decisions.cache
        for chain in self.chains_ending_at(first):
            *outer, last = chain.sections
            lists = [unit for unit in outer if has_directive(self.decisions.lines[unit], RECORD)]
            with_section = self.decisions.before_22(chain)
            if not lists or last is not first or with_section is None:
                continue
            without = cache.decision(
                V22.name, [self.decisions.layer_of(unit, self.decisions.lines[unit]) for unit in outer]
            )
            if without is None:
                continue
            example = cache.difference(without, with_section)
            if example is not None and example.after == AccessVerdict.GRANTED:
                return lists[-1]
        return None

    def undecided(self, section: AccessSection) -> Chain | None:
        """Return a chain that ends with the section and whose decision by 2.2 is unknown."""
        first, equivalent = self.equivalents.get(section, (section, None))
        if first not in self._undecided:
            self._undecided[first] = next(
                (chain for chain in self.chains_ending_at(first) if self.decisions.before_22(chain) is None),
                None,
            )
        chain = self._undecided[first]
        return chain if chain is None or equivalent is None else chain_of(equivalent, chain)

    def served_by_22(self, unit: AccessSection) -> tuple[Chain, str] | None:
        """Return a chain that ends with a guard, and a client that 2.2 admitted there."""
        decisions = self.decisions.cache
        for chain in self.chains_ending_at(unit):
            before = self.decisions.before_22(chain)
            if (
                before is not None
                and (example := decisions.difference(before, decisions.forbidden(V24.name))) is not None
            ):
                return chain, str(example)
        return None

    def lone_reason(self, unit: AccessSection) -> str:
        """Return the lines of 2.4 that decide as the section's own lines did, for messages."""
        form = next(
            iter(
                native.propose([self.decisions.lines[unit]], native.AuthzContext(self.decisions.modules_22))
            ),
            (),
        )
        if not form:
            return "Require"
        lines = [_cut(line.strip()) for line in rendered(form, unit)]
        shown = ", ".join(f"`{line}`" for line in lines[:_SHOWN])
        return shown if len(lines) <= _SHOWN else f"{shown}, ... ({len(lines)} lines)"

    def example_place(self, section: AccessSection) -> SourceLocation | None:
        """Return the place of the section that the example client belongs to, if it is one of an equivalent
        host with other names."""
        first, equivalent = self.equivalents.get(section, (section, None))
        return first.place if equivalent is not None and not equivalent.has_same_names else None

    @property
    def replacements(self) -> dict[AccessSection, Replacement]:
        """The replacement of each section."""
        if not self._replacements:
            self._replacements.update(
                (section_known, written.replacement) for section_known, written in self.plans.items()
            )
        return self._replacements

    @property
    def variant_forms(self) -> dict[AccessSection, Replacement]:
        """The replacement of each variant of a section."""
        return {unit: written.replacement for unit, written in self.solved.items()}

    def alias_edits(self) -> tuple[FileEdit, ...]:
        """Return the edit that inserts the container for `native.ALIAS` before the first section, if a
        section needs it."""
        users = [
            section
            for section, plan in self.plans.items()
            if any(
                directive.args == ERROR_500.text
                for lines in plan.replacement.texts
                for directive in flatten_directives(lines)
            )
        ]
        if not users:
            return ()
        text = [f"<AuthzProviderAlias {ALIAS.args}>", "</AuthzProviderAlias>"]
        first = _first_section(self.inventory)
        return (first.insert_before(text),) if first is not None else ()


def _merge_key(section: AccessSection) -> tuple[int, bool]:
    """Return the key of the order of sections of one kind: those in a directory follow those outside, and
    those of a virtual host follow those of all servers."""
    outer = section.outer
    depth = 0 if outer is None else 1 + max(outer.components, outer.directory.count("/"))
    return depth, section.server is not None


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH].rpartition(' ')[0]} ..."


def outermost(statement: Statement) -> Statement:
    """Return the outermost section around the statement."""
    while statement.parent is not None and statement.parent.is_section:
        statement = statement.parent
    return statement


def _first_section(inventory: Inventory) -> Statement | None:
    """Return the outermost statement around the first section about access outside of .htaccess files."""
    return min(
        map(outermost, _sections_of_servers(inventory)),
        key=lambda statement: statement.node.start,
        default=None,
    )


def _sections_of_servers(inventory: Inventory) -> Iterator[Statement]:
    """Yield the sections about access outside of .htaccess files."""
    for unit in inventory.sections:
        if unit.statement is not None and not unit.in_htaccess:
            yield unit.statement


def _readable(tree: ConfigTree) -> Callable[[str], bool | None]:
    """Return a function that tests whether a password or group file exists.

    Its result is None, unknown, for a fragment, and if none of the files that the text names exists.
    """
    lines = tree.named("authuserfile", "authgroupfile", "authdbmuserfile", "authdbmgroupfile")
    if tree.context is not InputContext.SERVER or not any(
        password_file_exists(absolute_path(tree.text_root, line.words()[0]), tree.disk)
        for line in lines
        if line.words()
    ):
        return lambda _path: None
    disk = tree.disk

    def is_readable(path: str) -> bool | None:
        return password_file_exists(path, disk) if disk.is_directory(path.rpartition("/")[0] or "/") else None

    return is_readable


UPGRADED: Final = "access control is carried"
"""Key in `persistent_cache`: edits of access control were applied, and the tree was read again after them."""


def persistent_cache(tree: ConfigTree) -> dict[object, object]:
    """Return the cache that outlives edits."""
    persistent = tree.cache.setdefault("persistent", {})
    assert isinstance(persistent, dict)
    return persistent


def analyze_access(tree: ConfigTree) -> AccessAnalysis:
    """Return the analysis of *tree*, computed once."""
    cached = tree.cache.get("access control")
    if isinstance(cached, AccessAnalysis):
        return cached
    inventory = find_sections(tree)
    bounds = Bounds(disk=tree.disk)
    equivalents = {}
    if UPGRADED not in persistent_cache(tree):  # behind the edits no section gets a text
        equivalents = VhostEquivalence(tree, inventory, bounds).equivalents()
    carried = {server: host for server, host in equivalents.items() if host.is_upgraded}
    twins = {server: host for server, host in equivalents.items() if server not in carried}
    analysis = _settled(tree, inventory, HostChains(tree, inventory, bounds, twins, carried))
    if analysis is None:
        analysis = _settled(tree, inventory, HostChains(tree, inventory, bounds.renewed(), {}, {}))
        assert analysis is not None
    tree.cache["access control"] = analysis
    return analysis


def _settled(tree: ConfigTree, inventory: Inventory, chains: HostChains) -> AccessAnalysis | None:
    """Analyze all sections; None if an equivalent host needs an analysis of its own.

    A section that has different decisions under its conditions, and no common text, is split by condition; if
    that fails too, it keeps its text.
    """
    like = _by_section(chains.twins)
    carried = _by_section(chains.carried)
    first_of = {section: first for section, (first, _) in (*like.items(), *carried.items())}
    everything = UPGRADED in persistent_cache(tree)
    split: set[AccessSection] = set()
    failed: Left = {}
    both = set() if everything else written(inventory.sections) - first_of.keys()
    while True:
        if everything:
            staying = dict.fromkeys(inventory.sections, "")
        else:
            staying = left(tree, inventory.sections, chains.of_first, first_of, failed, both)
        if any(section.lines and section not in staying for section in carried):
            return _settled(
                tree, inventory, HostChains(tree, inventory, chains.bounds.renewed(), chains.twins, {})
            )
        analysis = _analyze(tree, inventory, chains, staying, split, like, both)
        unlike = _unlike(analysis, both)
        if unlike:
            both -= unlike
            continue
        wrong = dict.fromkeys(_divided(analysis) & split, SPLIT)
        more = _divided(analysis) - split
        if not (wrong or more):
            if not _join_twins(analysis, chains.twins):
                return None
            wrong = {first_of.get(unit, unit): SHARED for unit in _disagreeing(tree, analysis)}
            wrong.update(dict.fromkeys(_half_written(tree, analysis), CARRIED))
        if not (more or wrong.keys() - failed.keys()):
            _check_repetitions(analysis)
            return analysis
        failed |= wrong
        split |= more


def _by_section(hosts: Hosts) -> dict[AccessSection, tuple[AccessSection, EquivalentHost]]:
    """Return the section of the first host, and the equivalent host, by section of the latter."""
    return {section: (first, host) for host in hosts.values() for first, section in host.sections.items()}


def _unlike(analysis: AccessAnalysis, both: set[AccessSection]) -> set[AccessSection]:
    """Return the sections of *both* whose branch for 2.4 takes part in a chain that gets no right text."""
    base = analysis.variants.base
    failing = (chain for plan in analysis.solved.values() for chain, _ in (*plan.failing, *plan.possible))
    return {base.get(unit, unit) for chain in failing for unit in chain.sections} & both


def _disagreeing(tree: ConfigTree, analysis: AccessAnalysis) -> set[AccessSection]:
    return disagreeing(analysis.inventory.sections, analysis.plans, lambda unit: analysis.edits(tree, unit))


def _half_written(tree: ConfigTree, analysis: AccessAnalysis) -> Iterator[AccessSection]:
    """Yield the sections of a file without its server whose text for 2.4 would keep a part of their lists.

    A list in a section around them stays, and has to be undone in them: 2.4 then needs mod_access_compat for
    both, so that nothing is won by a text of both versions.
    """
    lists = RECORD | {"satisfy"}
    for unit, plan in analysis.plans.items():
        control = plan.replacement.control
        if unit in analysis.decisions.unordered:
            continue
        if is_loose(tree, unit) and tree.options.style is not Style.COMPAT and has_directive(control, lists):
            before = {line for line in flatten_directives(unit.access_lines) if line.name in lists}
            after = {line for line in flatten_directives(control) if line.name in lists}
            if before - after:
                yield unit


def _divided(analysis: AccessAnalysis) -> set[AccessSection]:
    """Return the sections whose conditions change the decision and for which no common text was found."""
    base = analysis.variants.base
    return {
        base[variant]
        for variant, written in analysis.solved.items()
        if variant not in analysis.decisions.unordered
        and any(chain.given for chain, _ in written.failing)
        and variant in base
    }


def _analyze(
    tree: ConfigTree,
    inventory: Inventory,
    host_chains: HostChains,
    staying: Left,
    split: set[AccessSection],
    first_by_section: dict[AccessSection, tuple[AccessSection, EquivalentHost]],
    both: set[AccessSection],
) -> AccessAnalysis:
    units = [
        section
        for section in inventory.sections
        if section not in staying and section not in first_by_section
    ]
    # a chain without sections that may change decides nothing here
    chains = host_chains.of_first if units else []
    variants = Variants(
        units, [chain for chain in chains if staying.keys().isdisjoint(chain.sections)], split
    )
    area = password_area()
    known = [*inventory.sections, *(unit for unit in variants.units if variants.base[unit] is not unit), area]
    decisions = ChainDecisions(
        known,
        [area, *variants.units],
        variants.chains if tree.options.no_outer_password else surrounded(tree, variants.chains, area),
        tree.server_modules or tree.modules,
        tree.text_root,
        _readable(tree),
        area=area,
        written={
            unit: variants.base[unit].access_lines_24
            for unit in variants.units
            if variants.base[unit] in both
        },
        aliases=to_access_lines(tree.named("<authnprovideralias", "<authzprovideralias")),
        # the server that runs merges Order and Satisfy as mod_access_compat does
        is_of_24=was_24_config(tree) and bool(access_compat(tree).is_loaded),
        may_be_strict=may_be_strict(tree),
        is_order_known=is_order_known(tree),
    )
    placements = Placements(decisions, ServedRequests(tree.text_root, inventory, host_chains.bounds))
    solver = Solver(
        decisions,
        placements,
        compat_first=tree.options.style is Style.COMPAT,
        has_alias=tree.context is InputContext.SERVER and any(_sections_of_servers(inventory)),
        has_cases=_has_cases(tree),
        report_progress=tree.report_progress,
    )
    solved = solver.solve()
    plans = {unit: _joined(variants, unit, solved) for unit in units if unit.lines and unit not in both}
    return AccessAnalysis(
        inventory,
        host_chains,
        variants.chains,
        decisions,
        plans,
        host_chains.bounds,
        variants,
        {**staying, **dict.fromkeys(both - staying.keys(), CARRIED)},
        solved,
        UPGRADED not in persistent_cache(tree),
        first_by_section,
        placements,
        {variants.base.get(unit, unit): one for unit, one in solver.obstacles.items()},
    )


def _has_cases(tree: ConfigTree) -> bool:
    """Return True if the text can have <If> sections: a whole server, for 2.4 alone.

    Their conditions need paths that begin with a slash.
    """
    options = tree.options
    return (
        tree.context is InputContext.SERVER
        and options.style is not Style.COMPAT
        and not options.also_22
        and tree.text_root.startswith("/")
    )


def _check_repetitions(analysis: AccessAnalysis) -> None:
    """Add the requests that repetitions decide otherwise than 2.2 to the plans of their sections."""
    for section, plan in analysis.plans.items():
        if plan.replacement.repeats:
            known = {chain.sections for chain, _ in plan.failing}
            for chain, example in analysis.placements.wrong(section, analysis.replacements):
                if chain.sections not in known:
                    known.add(chain.sections)
                    plan.failing.append((chain, example))


def _joined(variants: Variants, unit: AccessSection, solved: dict[AccessSection, SectionPlan]) -> SectionPlan:
    if variants.is_plain(unit):
        return solved[unit]
    nothing = SectionPlan(Replacement(()))
    parts = [solved.get(variant, nothing) for variant in variants.of[unit].values()]
    form = variants.joined(unit, lambda variant: solved.get(variant, nothing).replacement)
    return SectionPlan(
        form,
        [entry for part in parts for entry in part.failing],
        [entry for part in parts for entry in part.possible],
    )


def _join_twins(analysis: AccessAnalysis, twins: Hosts) -> bool:
    """Give equivalent hosts the plans of the first one; return False if the plans do not fit another host."""
    groups: dict[Statement, list[EquivalentHost]] = {}
    written = analysis.plans
    for equivalent in twins.values():
        groups.setdefault(equivalent.first, []).append(equivalent)
    for unit, plan in written.items():
        repeats = plan.replacement.repeats if groups else ()
        if any(repeat.server is not None for repeat in repeats):
            return False  # each host has repetitions of its own
        if repeats and (unit.in_htaccess or any(repeat.holder.in_htaccess for repeat in repeats)):
            return False  # a .htaccess file belongs to one host
        if unit.server is None and any(repeat.holder.server in groups for repeat in repeats):
            if unit.kind not in FILES and unit.kind is not SectionKind.DIRECTORY_MATCH:
                return False  # URLs do not distinguish hosts
            everywhere = tuple(more for repeat in repeats for more in _for_all(repeat, unit, groups))
            written[unit] = SectionPlan(
                replace(plan.replacement, repeats=everywhere), plan.failing, plan.possible
            )
    for equivalent_section, (first, equivalent) in analysis.equivalents.items():
        if first in written:
            written[equivalent_section] = _equivalent_plan(written[first], equivalent)
    return True


def _for_all(
    repeat: Repetition, section: AccessSection, groups: dict[Statement, list[EquivalentHost]]
) -> Iterator[Repetition]:
    """Yield a repetition of a main-server section for the directory of one host, and those for its equivalent
    hosts."""
    yield repeat
    for equivalent in groups.get(repeat.holder.server, ()) if repeat.holder.server is not None else ():
        holder = equivalent.sections.get(repeat.holder, repeat.holder)
        yield Repetition(
            holder,
            equivalent.lines(repeat.control),
            "" if section.kind in FILES else directory_of(holder).rstrip("/"),
            without=_sections_at(equivalent, repeat.without),
        )


def _equivalent_plan(first: SectionPlan, equivalent: EquivalentHost) -> SectionPlan:
    """Return the plan of the first host's section as a plan for the equivalent host: the same one if it has
    no names of the host."""
    control = equivalent.lines(first.replacement.control)
    if control == first.replacement.control and not (
        first.replacement.repeats or first.replacement.cases or first.failing or first.possible
    ):
        return first
    repeats = tuple(
        Repetition(
            equivalent.sections.get(repeat.holder, repeat.holder),
            equivalent.lines(repeat.control),
            repeat.prefix,
            without=_sections_at(equivalent, repeat.without),
        )
        for repeat in first.replacement.repeats
    )
    cases = tuple(
        FileCase(
            tuple(equivalent.sections.get(files, files) for files in case.files),
            equivalent.lines(case.control),
            None if case.holder is None else equivalent.sections.get(case.holder, case.holder),
        )
        for case in first.replacement.cases
    )
    return SectionPlan(
        Replacement(control, repeats, cases),
        _equivalent_chains(equivalent, first.failing),
        _equivalent_chains(equivalent, first.possible),
    )


def _sections_at(
    equivalent: EquivalentHost, sections: tuple[AccessSection, ...]
) -> tuple[AccessSection, ...]:
    return tuple(equivalent.sections.get(section, section) for section in sections)


def _equivalent_chains(
    equivalent: EquivalentHost, chains: list[tuple[Chain, Counterexample | None]]
) -> list[tuple[Chain, Counterexample | None]]:
    return [(chain_of(equivalent, chain), example) for chain, example in chains]
