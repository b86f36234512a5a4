"""Decisions of the chains of one configuration tree: 2.2 with the present text, 2.4 with the replacements of
its sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from whimbrel.access.chains import PREFIX
from whimbrel.access.decide import AccessEnvironment
from whimbrel.access.decision import AccessDecision, AccessVerdict, Counterexample
from whimbrel.access.layers import SSL_CONDITIONS, AccessLayer, AccessLine
from whimbrel.access.sections import Override
from whimbrel.base.dialect import V22, V24
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.access_control import native
from whimbrel.upgrade.access_control.decision_cache import DecisionCache
from whimbrel.upgrade.access_control.effective import CONTROL, GONE, RECORD, has_directive
from whimbrel.upgrade.access_control.guards import is_guard
from whimbrel.upgrade.access_control.module_orders import other_orders
from whimbrel.upgrade.access_control.modules import implied
from whimbrel.upgrade.access_control.replacement import Applies, Lines, Replacement, merge_order
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.source.overrides import admits

_DEFAULT_MODULES_22: Final = (
    "authn_file",
    "authn_default",
    "authz_host",
    "authz_groupfile",
    "authz_user",
    "authz_default",
    "auth_basic",
)
"""The modules for access that a 2.2 without LoadModule lines has built in."""
_AUTHCONFIG: Final = frozenset(
    {"satisfy", "require", "requireall", "requireany", "requirenone", "authmerging"} | SSL_CONDITIONS
)


class ChainDecisions:
    """The chains of one configuration tree with the lines of their sections, and their decisions under both
    versions.

    Attributes:
        sections: the sections that get a replacement and have lines of their own.
        chains: all chains; each consists of sections that get a replacement, and of *area*.
        area: a section around fragments; it stays as it is.
        guards: sections that protect password files; they stay closed.
        overrides: the values of AllowOverride under which each .htaccess file is read.
        chains_by_end: the chains that end with each section; for a section that ends none, the chains that
            lead to it.
        outer: the sections that precede each section in its chains.
        failing_sections: sections that keep their text: .htaccess files that 2.2 answers with 500 always,
            *area*, and *unordered*.
        unordered: sections that decide together by an order of 2.2's modules that is not known.
        written: the lines of sections that have their text for 2.4 already.
    """

    def __init__(
        self,
        sections: Sequence[AccessSection],
        solved: Sequence[AccessSection],
        chains: Sequence[Chain],
        modules: Sequence[str],
        root: str,
        readable: Callable[[str], bool | None] = lambda _path: None,
        *,
        area: AccessSection | None = None,
        written: Mapping[AccessSection, Lines] | None = None,
        aliases: Lines = (),
        is_of_24: bool = False,
        may_be_strict: bool = False,
        is_order_known: bool = True,
    ) -> None:
        self.chains = chains
        self.area = area
        self.written = written or {}
        self.sections = [section for section in solved if section.access_lines]
        self._nested: dict[AccessSection, list[AccessSection]] = {}
        for section in solved:
            if section.outer is not None and section.in_htaccess:
                self._nested.setdefault(section.outer, []).append(section)
        self._known = sections
        self._modules = modules
        self._root = root
        self._readable = readable
        self._aliases = aliases
        self.is_of_24 = is_of_24
        self._may_be_strict = may_be_strict
        self._is_order_known = is_order_known
        self.guards = frozenset(section for section in solved if is_guard(section))
        self._decisions_22: dict[Chain, AccessDecision | None] = {}
        self.compared = 0
        self.overrides = _overrides(chains)
        self.chains_by_end = self._chains_by_end()
        self.outer = {
            unit: list(dict.fromkeys(u for chain in ends for u in chain.sections[:-1]))
            for unit, ends in self.chains_by_end.items()
        }
        self.unordered = frozenset(self._unordered())
        self.failing_sections = frozenset(
            [*self._failing_sections(), *([] if area is None else [area]), *self.unordered]
        )

    # what costs a look at all sections is computed when it is first asked for
    @cached_property
    def _implied_modules(self) -> list[str]:
        return implied(self.lines.values())

    @cached_property
    def modules_22(self) -> tuple[str, ...]:
        """The modules of 2.2."""
        if any("auth" in name for name in self._modules):
            return (*self._modules, *(name for name in self._implied_modules if name == "ssl"))
        return tuple(dict.fromkeys([*self._modules, *_DEFAULT_MODULES_22, *self._implied_modules]))

    @cached_property
    def cache(self) -> DecisionCache:
        """The decisions by their layers."""
        environment_22 = AccessEnvironment(
            modules=self.modules_22,
            root=self._root,
            readable=self._readable,
            may_be_strict=self._may_be_strict,
        )
        environment_24 = AccessEnvironment(
            modules=_modules_24([*self._modules, *self._implied_modules]),
            root=self._root,
            readable=self._readable,
            aliases=(native.ALIAS,),
            may_be_strict=self._may_be_strict,
        )
        environment_22 = environment_22.with_aliases(self._aliases, V22)
        return DecisionCache(
            environment_22,
            environment_24.with_aliases(self._aliases, V24),
            {name: replace(environment_22, modules=order) for name, order in self.other_orders.items()},
        )

    @cached_property
    def other_orders(self) -> dict[str, tuple[str, ...]]:
        """The modules of 2.2 in the other orders that they may have, each with a name for its version."""
        if self._is_order_known:
            return {}
        orders = other_orders(self.modules_22, self.lines.values())
        return {f"{V22.name} in order {number}": order for number, order in enumerate(orders, 2)}

    def _in_order(self, chain: Chain, name: str) -> AccessDecision | None:
        """Return the decision of 2.2 with its modules in the order *name*."""
        return self.cache.decision(name, [self.layer_of(unit, self.lines[unit]) for unit in chain.sections])

    def _unordered(self) -> Iterator[AccessSection]:
        """Yield the sections of each chain that depends on the order: no text of one is right beside another
        text of the others."""
        for chain in self.chains if self.other_orders else ():
            if self.depends_on_order(chain):
                yield from (unit for unit in chain.sections if unit is not self.area and self._decides(unit))

    def _decides(self, unit: AccessSection) -> bool:
        return has_directive(self.lines[unit], CONTROL)

    def depends_on_order(self, chain: Chain) -> bool:
        """Return True if the decision of 2.2 depends on an order of its modules that is not known."""
        if self.is_of_24 or not self.other_orders:
            return False
        known = self.read_by_22(chain)
        others = (self._in_order(chain, name) for name in self.other_orders)
        if known is None or known.when[AccessVerdict.ERROR] == self.cache.space.true:
            return False
        return any(other is None or self.cache.difference(known, other) is not None for other in others)

    @cached_property
    def removed_names(self) -> frozenset[str]:
        """The directives that 2.4 lacks."""
        has_default = {"authn_default", "authn_default_module"} & set(self.modules_22)
        return GONE | ({"authbasicauthoritative"} if has_default else frozenset())

    @cached_property
    def lines(self) -> dict[AccessSection, Lines]:
        """The lines of each section, as 2.2 reads them."""
        return {section: section.access_lines for section in self._known}

    @cached_property
    def unchanged_lines(self) -> dict[AccessSection, Lines]:
        """Those of the lines of each section that both versions read alike."""
        return {
            section: tuple(_unchanged_lines(lines, self.removed_names))
            for section, lines in self.lines.items()
        } | dict.fromkeys(self.written, ())

    @cached_property
    def control_lines(self) -> dict[AccessSection, Lines]:
        """Those of the lines of each section that decide about access."""
        return {
            section: tuple(line for line in lines if line.name in CONTROL)
            for section, lines in self.lines.items()
        }

    def decide_22(self, chain: Chain) -> AccessDecision | None:
        """Return the decision that the new text must give: that of 2.2, or 403 for all clients if the chain
        ends with a guard."""
        before = self.before_22(chain)
        if chain.last not in self.guards or (
            before is not None and before.when[AccessVerdict.ERROR] == self.cache.space.true
        ):
            return before
        return self.cache.forbidden(V22.name)

    def before_22(self, chain: Chain) -> AccessDecision | None:
        """Return the decision of the server that runs with the text: 2.2, or 2.4 with mod_access_compat if
        the text is one of 2.4 that loads that and starts with these lines. None if it is unknown.
        """
        running = self.as_it_stands(chain) if self.is_of_24 else None
        return running if running is not None else self.read_by_22(chain)

    def as_it_stands(self, chain: Chain) -> AccessDecision | None:
        """Return the decision of 2.4 with the text as it stands; None if 2.4 does not start."""
        layers = [self.layer_of(part, part.access_lines_24) for part in chain.sections]
        return self.cache.decision(V24.name, layers)

    def read_by_22(self, chain: Chain) -> AccessDecision | None:
        """Return the decision of 2.2 with the text; None if it is unknown."""
        if chain not in self._decisions_22:
            if any(
                is_refused(self.lines[part], override)
                for unit, override in chain.overrides
                for part in self._with_nested(unit)
            ):
                self._decisions_22[chain] = self.cache.error(V22.name)
            else:
                self._decisions_22[chain] = self.cache.decision(
                    V22.name, [self.layer_of(unit, self.lines[unit]) for unit in chain.sections]
                )
        return self._decisions_22[chain]

    def decide_24(
        self,
        chain: Chain,
        replacements: Mapping[AccessSection, Replacement],
        applies: Applies | None = None,
    ) -> AccessDecision | None:
        """Return the decision of 2.4 with *replacements*; None if 2.4 does not start.

        *applies* is that of `merge_order`.
        """
        if self._refused(chain, replacements):
            return self.cache.error(V24.name)
        return self.cache.decision(
            V24.name, [self._layer(*entry) for entry in merge_order(chain, replacements, applies)]
        )

    def differs(
        self,
        chain: Chain,
        replacements: Mapping[AccessSection, Replacement],
        applies: Applies | None = None,
    ) -> tuple[bool, Counterexample | None]:
        """Return True if the chain decides differently with *replacements*, and a client that shows it."""
        self.compared += 1
        before = self.decide_22(chain)
        after = self.decide_24(chain, replacements, applies)
        if before is None:
            return False, None
        if after is None:
            return True, None
        example = self.cache.difference(before, after)
        if example is None and not self.unordered.isdisjoint(chain.sections):
            others = (self._in_order(chain, name) for name in self.other_orders)
            found = (self.cache.difference(other, after) for other in others if other is not None)
            example = next(filter(None, found), None)
        return example is not None, example

    def layer_of(self, section: AccessSection, lines: Lines) -> AccessLayer:
        return self.cache.layer(section.kind, section.in_htaccess, lines)

    def _layer(self, section: AccessSection, control: Lines, repeated: bool) -> AccessLayer:
        if repeated:
            return self.layer_of(section, control)
        if section in self.unordered:
            return self.layer_of(section, self.unchanged_lines[section] + self.control_lines[section])
        return self.layer_of(
            section,
            self.lines[section]
            if section in self.failing_sections
            else self.unchanged_lines[section] + control,
        )

    def _failing_sections(self) -> Iterator[AccessSection]:
        """Yield the .htaccess files, with all sections in them, that 2.2 answers with 500 for every request.

        They keep their text.
        """
        for section, overrides in self.overrides.items():
            parts = list(self._with_nested(section))
            broken = any(self._is_broken(self.layer_of(part, self.lines[part])) for part in parts)
            if broken or all(
                any(is_refused(self.lines[part], override) for part in parts) for override in overrides
            ):
                yield from parts

    def _is_broken(self, layer: AccessLayer) -> bool:
        decision = self.cache.decision(V22.name, [layer])
        return (
            decision is not None
            and decision.when[AccessVerdict.ERROR] == self.cache.space.true
            and self.cache.is_unreadable_22(layer)
        )

    def _refused(self, chain: Chain, replacements: Mapping[AccessSection, Replacement]) -> bool:
        """Return True if a .htaccess file gives 500 because AllowOverride does not admit one of its lines."""
        return any(
            is_refused(
                (
                    *self.unchanged_lines[part],
                    *(replacements[part].control if part in replacements else self.control_lines[part]),
                ),
                override,
            )
            for section, override in chain.overrides
            for part in self._with_nested(section)
        )

    def _with_nested(self, section: AccessSection) -> Iterator[AccessSection]:
        """Yield a .htaccess file and the sections in it."""
        yield section
        for inner in self._nested.get(section, ()):
            yield from self._with_nested(inner)

    def _chains_by_end(self) -> dict[AccessSection, list[Chain]]:
        """Return the chains that end with each section; for a section that ends none, the chains that lead to
        it."""
        ends: dict[AccessSection, list[Chain]] = {section: [] for section in self.sections}
        for chain in self.chains:
            ends[chain.last].append(chain)
        seen: set[tuple[AccessSection, ...]] = set()
        for chain in self.chains:
            for at, section in enumerate(chain.sections[:-1]):
                chains_found = ends[section]
                sections = chain.sections[: at + 1]
                if (not chains_found or chains_found[0].is_prefix) and sections not in seen:
                    seen.add(sections)
                    chains_found.append(
                        Chain(
                            sections,
                            PREFIX,
                            chain.path,
                            False,
                            tuple((u, o) for u, o in chain.overrides if u in sections),
                        )
                    )
        return ends


def _modules_24(modules: Sequence[str]) -> tuple[str, ...]:
    needed = (
        "authz_core",
        "authn_core",
        "access_compat",
        "authz_host",
        "authz_user",
        "authz_groupfile",
        "authz_owner",
        "authn_file",
        "auth_basic",
    )
    names = [name.removesuffix("_module") for name in modules]
    if "authz_host" in names and "access_compat" not in names:
        # where `LoadLines.insertion` loads it beside +StrictRequire
        names.insert(names.index("authz_host") + 1, "access_compat")
    return tuple(dict.fromkeys([*names, *needed]))


def is_refused(lines: Iterable[AccessLine], override: Override) -> bool:
    """Return True if *override* does not admit one of *lines* in a .htaccess file."""
    return any(not admits(override, kind) for kind in needed_overrides(lines))


def needed_overrides(lines: Iterable[AccessLine]) -> set[str]:
    """Return the AllowOverride classes that *lines* need in a .htaccess file."""
    classes: set[str] = set()
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            classes |= needed_overrides(line.children)
        elif line.name in RECORD:
            classes.add("limit")
        elif line.name == "ssloptions":
            classes.add("options")
        elif line.name in _AUTHCONFIG or line.name.startswith("auth") or line.name.startswith("anonymous"):
            classes.add("authconfig")
    return classes


def _unchanged_lines(lines: Lines, removed_names: frozenset[str]) -> Iterator[AccessLine]:
    """Yield the lines that both versions read alike, such as AuthType; <Limit> containers around them have no
    effect and are removed."""
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            yield from _unchanged_lines(line.children, removed_names)
        elif line.name not in CONTROL and line.name not in removed_names:
            yield line


def _overrides(chains: Iterable[Chain]) -> dict[AccessSection, set[Override]]:
    overrides: dict[AccessSection, set[Override]] = {}
    for chain in chains:
        for section, override in chain.overrides:
            overrides.setdefault(section, set()).add(override)
    return overrides
