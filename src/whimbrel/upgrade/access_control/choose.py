"""Which form each section takes, so that every chain decides under 2.4 what it decided under 2.2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from whimbrel.access.decide import World
from whimbrel.access.decision import Counterexample, Decision, Verdict
from whimbrel.access.layers import Layer, Line
from whimbrel.config.model import SectionKind
from whimbrel.dialect import V22, V24
from whimbrel.records import dataclass, field
from whimbrel.upgrade.access_control import compat, native
from whimbrel.upgrade.access_control.chains import Chain
from whimbrel.upgrade.access_control.decided import Decisions
from whimbrel.upgrade.access_control.guards import FORMS, is_guard
from whimbrel.upgrade.access_control.modules import implied
from whimbrel.upgrade.access_control.overrides import Override, admits
from whimbrel.upgrade.access_control.sections import Unit, is_new
from whimbrel.upgrade.access_control.split import Form, Lines, Repeat, can_hold, can_repeat, grouped, in_order, prefix_of
from whimbrel.upgrade.access_control.states import CONTROL, GONE, RECORD, says
from whimbrel.upgrade.estate import Step, unwatched

_ROUNDS: Final = 3
_USUAL: Final = ("authn_file", "authn_default", "authz_host", "authz_groupfile", "authz_user", "authz_default", "auth_basic")
"""What a 2.2 without LoadModule lines has built in."""
_GRANTED: Final = Line("require", "all granted")
_DENIED: Final = (Line("satisfy", "Any"), Line("require", "all denied"))
_BASES: Final[tuple[Lines, ...]] = ((), (_GRANTED,), _DENIED)
"""What sections that keep Order, Allow and Deny say besides where no Require is in force: nothing; what an AuthType further in needs; what a
Satisfy Any further in needs."""
_MOST_POSSIBLE: Final = 8
_MOST_FORMS: Final = 60
_MOST_BETTER: Final = 12
"""How many further forms are looked at when one is right for all requests that are sure to come."""
_NEUTRAL: Final = (Line("order", "deny,allow"),)
_LIMIT: Final = RECORD
_AUTHCONFIG: Final = frozenset({"satisfy", "require", "requireall", "requireany", "requirenone", "authmerging"})


@dataclass(slots=True, eq=False)
class Written:
    """What a section becomes: *control* are its lines about who gets in; *failing* are the chains that decide otherwise all the same."""

    form: Form
    failing: list[tuple[Chain, Counterexample | None]] = field(default_factory=list)
    possible: list[tuple[Chain, Counterexample | None]] = field(default_factory=list)

    @property
    def control(self) -> Lines:
        """The section's own lines about who gets in."""
        return self.form.control


class Solver:
    """One estate's chains, and the decisions about them.

    *solved* are the sections that get a form, *units* these and all others; *chains* hold none but solved ones.  *area* is a section around fragments
    that stays as it is.  *has_alias*: there is a place for the container that says what `native.BROKEN` means.
    """

    def __init__(self, units: Sequence[Unit], solved: Sequence[Unit], chains: Sequence[Chain], modules: Sequence[str], root: str,
                 readable: Callable[[str], bool | None] = lambda _path: None, *, compat_first: bool = False,
                 area: Unit | None = None, has_alias: bool = True, step: Step = unwatched) -> None:
        self.step, self._has_alias = step, has_alias
        self.units, self.compat_first, self.chains = [unit for unit in solved if unit.told], compat_first, chains
        self.nested: dict[Unit, list[Unit]] = {}
        for unit in solved:
            if unit.outer is not None and unit.htaccess:
                self.nested.setdefault(unit.outer, []).append(unit)
        told = implied(unit.told for unit in units)
        self.old_modules = tuple(modules) if any("auth" in name for name in modules) else tuple(dict.fromkeys([*modules, *_USUAL, *told]))
        self.decisions = Decisions(World(modules=self.old_modules, root=root, readable=readable),
                                   World(modules=_new_modules([*modules, *told]), root=root, readable=readable, aliases=(native.ALIAS,)))
        self.gone = GONE | ({"authbasicauthoritative"} if {"authn_default", "authn_default_module"} & set(self.old_modules) else frozenset())
        self.lines = {unit: unit.told for unit in units}
        self.kept = {unit: tuple(_kept(self.lines[unit], self.gone)) for unit in units}
        self.own = {unit: tuple(line for line in self.lines[unit] if line.name in CONTROL) for unit in units}
        self.guards = frozenset(unit for unit in solved if is_guard(unit))
        self._before: dict[Chain, Decision | None] = {}
        self._proposed: dict[tuple[object, ...], tuple[Lines, ...]] = {}
        self.overrides = _overrides(chains)
        self.ends = self._ends()
        self._outer = {unit: list(dict.fromkeys(u for chain in ends for u in chain.units[:-1])) for unit, ends in self.ends.items()}
        self._tried: dict[tuple[Unit, Lines | None, tuple[Form, ...]], Written] = {}
        self._last: dict[tuple[Unit, Lines | None], Written] = {}
        self.area = area
        self.dead = frozenset([*self._dead(), *([] if area is None else [area])])

    # decisions --------------------------------------------------------------------------------------
    def before(self, chain: Chain) -> Decision | None:
        """What the new text shall decide: what 2.2 did, but nobody is let in where the chain ends with a guard."""
        before = self.before_22(chain)
        if chain.last not in self.guards or (before is not None and before.when[Verdict.ERROR] == self.decisions.space.true):
            return before
        return self.decisions.forbidden(V22.name)

    def before_22(self, chain: Chain) -> Decision | None:
        """What 2.2 decides; None where that can't be said."""
        if chain not in self._before:
            if any(refused(self.lines[part], override) for unit, override in chain.overrides for part in self._whole(unit)):
                self._before[chain] = self.decisions.error(V22.name)
            else:
                self._before[chain] = self.decisions.decided(V22.name, [self._layer_of(unit, self.lines[unit]) for unit in chain.units])
        return self._before[chain]

    def after(self, chain: Chain, forms: Mapping[Unit, Form]) -> Decision | None:
        """What 2.4 decides with *forms*; None where it doesn't start."""
        if self._refused(chain, forms):
            return self.decisions.error(V24.name)
        return self.decisions.decided(V24.name, [self._layer(*entry) for entry in in_order(chain, forms)])

    def _layer(self, unit: Unit, control: Lines, repeated: bool) -> Layer:
        if repeated:
            return self._layer_of(unit, control)
        return self._layer_of(unit, self.lines[unit] if unit in self.dead else self.kept[unit] + control)

    def _layer_of(self, unit: Unit, lines: Lines) -> Layer:
        return self.decisions.layer(unit.kind, unit.htaccess, lines)

    def _dead(self) -> Iterator[Unit]:
        """The .htaccess files, with all sections in them, that end every request with 500 under 2.2: they stay as they are."""
        for unit, overrides in self.overrides.items():
            parts = list(self._whole(unit))
            broken = any(self._is_broken(self._layer_of(part, self.lines[part])) for part in parts)
            if broken or all(any(refused(self.lines[part], override) for part in parts) for override in overrides):
                yield from parts

    def _is_broken(self, layer: Layer) -> bool:
        decision = self.decisions.decided(V22.name, [layer])
        return decision is not None and decision.when[Verdict.ERROR] == self.decisions.space.true and self.decisions.fails_alone(layer)

    def _refused(self, chain: Chain, forms: Mapping[Unit, Form]) -> bool:
        """Whether a .htaccess file ends the request with 500 because AllowOverride doesn't admit one of its lines."""
        return any(refused((*self.kept[part], *(forms[part].control if part in forms else self.own[part])), override)
                   for unit, override in chain.overrides for part in self._whole(unit))

    def _whole(self, unit: Unit) -> Iterator[Unit]:
        """A .htaccess file with the sections in it."""
        yield unit
        for inner in self.nested.get(unit, ()):
            yield from self._whole(inner)

    # order ------------------------------------------------------------------------------------------
    def _ends(self) -> dict[Unit, list[Chain]]:
        """The chains that end with each section; where none does, what leads up to it."""
        ends: dict[Unit, list[Chain]] = {unit: [] for unit in self.units}
        for chain in self.chains:
            ends[chain.last].append(chain)
        seen: set[tuple[Unit, ...]] = set()
        for chain in self.chains:
            for at, unit in enumerate(chain.units[:-1]):
                found = ends[unit]
                units = chain.units[:at + 1]
                if (not found or found[0].url == "(prefix)") and units not in seen:
                    seen.add(units)
                    found.append(Chain(units, "(prefix)", chain.path, False, tuple((u, o) for u, o in chain.overrides if u in units)))
        return ends

    def ordered(self) -> list[Unit]:
        """The sections, each behind all that can stand before it in a chain."""
        before: dict[Unit, dict[Unit, None]] = {unit: {} for unit in self.units}
        for chain in self.chains:
            for first, second in zip(chain.units, chain.units[1:], strict=False):
                before[second][first] = None
        done: dict[Unit, None] = {}
        for unit in self.units:
            _visit(unit, before, done, set())
        return list(done)

    # search -----------------------------------------------------------------------------------------
    def solve(self) -> dict[Unit, Written]:
        """A form for every section."""
        forced: set[Unit] = set(self.units) if self.compat_first else set()
        best: dict[Unit, Written] = {}
        order = self.ordered()
        for base in _BASES:
            for _ in range(_ROUNDS):
                found = self._attempt(order, forced, base)
                if not best or _failures(found) < _failures(best):
                    best = found
                more = {u for written in found.values() for chain, _ in written.failing for u in chain.units} - forced
                if not more:
                    break
                forced |= more
            if not _failures(best):
                break
        return best

    def _attempt(self, order: list[Unit], forced: set[Unit], base: Lines) -> dict[Unit, Written]:
        forms: dict[Unit, Form] = {}
        found: dict[Unit, Written] = {}
        for number, unit in enumerate(order):
            self.step("what sections become", number, len(order))
            under = base if unit in forced else None
            key = (unit, under, tuple(forms[outer] for outer in self._outer[unit]))
            if key not in self._tried:
                self._tried[key] = self._again(unit, forms, under) or self._distinct(unit, self._best(unit, forms, under), forms)
                self._last[unit, under] = self._tried[key]
            found[unit] = self._tried[key]
            forms[unit] = found[unit].form
        return found

    def _again(self, unit: Unit, forms: dict[Unit, Form], base: Lines | None) -> Written | None:
        """What was found for the section before, where it is right under other outer sections too."""
        last = self._last.get((unit, base))
        if last is None or last.failing:
            return None
        found = self._tested(unit, last.form, forms, None)
        return found if found is not None and not found.failing and len(found.possible) <= len(last.possible) else None

    def _distinct(self, unit: Unit, written: Written, forms: dict[Unit, Form]) -> Written:
        """*written* in words that can't be taken for those of 2.2: text that 2.2 would read otherwise shows that it is 2.4's."""
        control = written.control
        if written.failing or unit in self.dead or any(is_new(line) for line in control) or not says(control, {"require"}):
            return written
        for chain in self.ends[unit]:
            texts = [self.kept[u] + (control if u is unit else forms[u].control) for u in chain.units]
            if any(is_new(line) for text in texts for line in text):
                continue
            old = self.decisions.decided(V22.name, [self._layer_of(u, text) for u, text in zip(chain.units, texts, strict=True)])
            before = self.before_22(chain)
            if old is not None and before is not None and self.decisions.difference(old, before) is not None:
                return Written(Form(_contained(control), written.form.repeats), written.failing, written.possible)
        return written

    def _best(self, unit: Unit, forms: dict[Unit, Form], base: Lines | None) -> Written:
        best: Written | None = None
        more = _MOST_BETTER
        for form in self._proposals(unit, forms, base):
            if best is not None and not best.failing:
                more -= 1
                if not more:
                    break
            written = self._tested(unit, form, forms, best)
            if written is None:
                continue
            if not written.failing and (not written.possible or unit.is_page):
                return written
            if best is None or _weight(written) < _weight(best):
                best = written
        return best or Written(Form(self.own[unit]), [(chain, None) for chain in self.ends[unit]])

    def _proposals(self, unit: Unit, forms: dict[Unit, Form], base: Lines | None) -> Iterator[Form]:
        seen: set[Lines] = set()
        for control in self._candidates(unit, forms, base):
            if control not in seen:
                seen.add(control)
                yield Form(control)
            if len(seen) == _MOST_FORMS:
                break
        if unit not in self.dead and can_repeat(unit) and unit in self.lines:
            yield from self._repeated(unit, forms)

    def _repeated(self, unit: Unit, forms: dict[Unit, Form]) -> Iterator[Form]:
        """The section with its own decision for each folder that it decides differently in.

        A repetition is read whatever the conditions around the folder's own section are, so there is none under conditions.
        """
        if any(chain.given for chain in self.ends[unit]):
            return
        groups = grouped(unit, [chain for chain in self.ends[unit] if chain.sure] or self.ends[unit])
        if len(groups) < 2:
            return
        form: Form | None = None
        for holder, chains in groups:
            found = self._for_group(unit, holder, chains, form, forms)
            if found is None:
                return
            form = found
        if form is not None and form.repeats:
            yield form

    def _for_group(self, unit: Unit, holder: Unit | None, chains: list[Chain], form: Form | None, forms: dict[Unit, Form]) -> Form | None:
        """*form* as it is where it is right for *chains* too, else with what is right for them."""
        if form is not None and self._right(unit, form, forms, chains):
            return form
        made = (self._forms(native.forms, [self.lines[u] for u in chain.units]) for chain in chains)
        for control in dict.fromkeys(lines for proposals in made for lines in proposals):
            for lines in (control, (*_NEUTRAL, *control)):
                if form is None:
                    candidate: Form | None = Form(lines)
                else:
                    prefix = prefix_of(unit, holder, chains[0]) if holder is not None else None
                    if holder is None or prefix is None or not can_hold(holder, unit) or not self._admitted(holder, lines):
                        return None
                    candidate = Form(form.control, (*form.repeats, Repeat(holder, lines, prefix)))
                if candidate is not None and self._right(unit, candidate, forms, chains):
                    return candidate
        return None

    def _right(self, unit: Unit, form: Form, forms: dict[Unit, Form], chains: Iterable[Chain]) -> bool:
        """Whether all *chains* decide as before."""
        with _given(forms, unit, form):
            return not any(self.differs(chain, forms)[0] for chain in chains)

    def _tested(self, unit: Unit, form: Form, forms: dict[Unit, Form], best: Written | None) -> Written | None:
        """*form* on all chains that end with the section; None where it is no better than *best*."""
        with _given(forms, unit, form):
            return self._judged(unit, Written(form), forms, best)

    def _judged(self, unit: Unit, written: Written, forms: Mapping[Unit, Form], best: Written | None) -> Written | None:
        possible = 0
        for chain in self.ends[unit]:
            if not chain.sure:
                possible += 1
                if possible > _MOST_POSSIBLE or written.failing:
                    break
            differs, example = self.differs(chain, forms)
            if differs:
                (written.failing if chain.sure else written.possible).append((chain, example))
            if best is not None and len(written.failing) > len(best.failing):
                return None
        return written

    def differs(self, chain: Chain, forms: Mapping[Unit, Form]) -> tuple[bool, Counterexample | None]:
        """Whether the chain decides otherwise with *forms*, and a client who notices."""
        before, after = self.before(chain), self.after(chain, forms)
        if before is None:
            return False, None
        if after is None:
            return True, None
        example = self.decisions.difference(before, after)
        return example is not None, example

    # proposals --------------------------------------------------------------------------------------
    def _candidates(self, unit: Unit, forms: dict[Unit, Form], base: Lines | None) -> Iterator[Lines]:
        """What the section may become; *base* is None where its own decision is to be written, else what to add where no Require is in force."""
        own = self.own[unit]
        if unit in self.dead:
            yield own
            return
        if unit in self.guards:
            yield from FORMS
        chains = self._chains_of(unit)
        forced = base is not None
        if base and not says(own, {"require", "satisfy"}) and not any(says(forms[u].control, {"require"}) for u in self._outer[unit]):
            yield (*own, *base)
        if not own or not says(own, RECORD | {"satisfy"}) or (forced and not says(own, {"satisfy"})):
            yield own
        sources = [self._compat(unit, chains), self._native(unit, chains, forms)]
        for source in sources if forced else reversed(sources):
            for lines in source:
                if self._admitted(unit, lines):
                    yield lines
        yield own

    def _chains_of(self, unit: Unit) -> list[list[Lines]]:
        ends = self.ends[unit]
        return [[self.lines[u] for u in chain.units] for chain in [c for c in ends if c.sure] or ends][:6] or [[self.lines[unit]]]

    def _admitted(self, unit: Unit, lines: Lines) -> bool:
        if not unit.htaccess:
            return True
        holder = unit.outer or unit
        while holder.kind is not SectionKind.HTACCESS and holder.outer is not None:
            holder = holder.outer
        return not any(refused(lines, override) for override in self.overrides.get(holder, ()))

    def _native(self, unit: Unit, chains: list[list[Lines]], forms: dict[Unit, Form]) -> Iterator[Lines]:
        outer = {u for chain in self.ends[unit] for u in chain.units[:-1]}
        barrier = any(says(forms[u].control, RECORD | {"satisfy"}) for u in outer)
        proposals = list(dict.fromkeys(lines for chain in chains for lines in self._forms(native.forms, chain)))
        yield from proposals
        if barrier:
            yield from ((*_NEUTRAL, *lines) for lines in proposals)
        if outer and self.area not in outer:  # AuthMerging And keeps out whom an outer section refuses, whatever Order says here
            alone = [self.lines[unit]]
            for word in ("And", "Or"):
                for lines in self._forms(native.forms, alone, self._around(chains[0]))[:3]:
                    yield (Line("authmerging", word), *lines)

    def _compat(self, unit: Unit, chains: list[list[Lines]]) -> Iterator[Lines]:
        for chain in chains[:3]:
            yield from self._forms(compat.forms, chain)

    def _forms(self, make: Callable[[Sequence[Lines], native.Surroundings], Iterable[Lines]], chain: list[Lines],
               around: native.Surroundings | None = None) -> tuple[Lines, ...]:
        """What *make* proposes for a chain of these lines, worked out once for all that are alike."""
        around = around or self._around(chain)
        key = (make, around, *chain)
        if key not in self._proposed:
            self._proposed[key] = tuple(lines for lines in make(chain, around) if self._has_alias or not native.needs_alias(lines))
        return self._proposed[key]

    def _around(self, chain: list[Lines]) -> native.Surroundings:
        return native.Surroundings(self.old_modules, any(says(lines, {"authgroupfile"}) for lines in chain),
                                   any(says(lines, {"authdbmgroupfile"}) for lines in chain))


@contextmanager
def _given(forms: dict[Unit, Form], unit: Unit, form: Form) -> Iterator[None]:
    """*forms* with that of one section for a while: a copy would cost as much as there are sections."""
    known = forms.get(unit)
    forms[unit] = form
    try:
        yield
    finally:
        if known is None:
            del forms[unit]
        else:
            forms[unit] = known


def _new_modules(modules: Sequence[str]) -> tuple[str, ...]:
    needed = ("authz_core", "authn_core", "access_compat", "authz_host", "authz_user", "authz_groupfile", "authz_owner", "authn_file", "auth_basic")
    names = [name.removesuffix("_module") for name in modules]
    return tuple(dict.fromkeys([*names, *needed]))


def refused(lines: Iterable[Line], override: Override) -> bool:
    """Whether *override* doesn't admit one of *lines* in a .htaccess file."""
    return any(not admits(override, kind) for kind in needed(lines))


def needed(lines: Iterable[Line]) -> set[str]:
    """The classes of AllowOverride without which a .htaccess file can't hold *lines*."""
    found: set[str] = set()
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            found |= needed(line.children)
        elif line.name in _LIMIT:
            found.add("limit")
        elif line.name in _AUTHCONFIG or line.name.startswith("auth") or line.name.startswith("anonymous"):
            found.add("authconfig")
    return found


def _kept(lines: Lines, gone: frozenset[str]) -> Iterator[Line]:
    """The lines that both versions read alike: AuthType and its like; out of containers, which mean nothing to them."""
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            yield from _kept(line.children, gone)
        elif line.name not in CONTROL and line.name not in gone:
            yield line


def _contained(lines: Lines) -> Lines:
    """The same lines with their Require lines in a container."""
    requires = tuple(line for line in lines if line.name == "require")
    found: list[Line] = []
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            found.append(Line(line.name, line.args, line.place, _contained(line.children)))
        elif line.name != "require":
            found.append(line)
        elif line is requires[0]:
            found.append(Line("requireany", "", None, requires))
    return tuple(found)


def _overrides(chains: Iterable[Chain]) -> dict[Unit, set[Override]]:
    found: dict[Unit, set[Override]] = {}
    for chain in chains:
        for unit, override in chain.overrides:
            found.setdefault(unit, set()).add(override)
    return found


def _visit(unit: Unit, before: dict[Unit, dict[Unit, None]], done: dict[Unit, None], active: set[Unit]) -> None:
    stack = [(unit, iter(before[unit]))]
    active.add(unit)
    while stack:
        here, rest = stack[-1]
        following = next((u for u in rest if u not in done and u not in active), None)
        if following is None:
            done[here] = None
            stack.pop()
        else:
            active.add(following)
            stack.append((following, iter(before[following])))


def _weight(written: Written) -> tuple[int, int]:
    return len(written.failing), len(written.possible)


def _failures(found: dict[Unit, Written]) -> int:
    return sum(len(written.failing) for written in found.values())
