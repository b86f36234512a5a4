"""Which form each section takes, so that every chain decides under 2.4 what it decided under 2.2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from whimbrel.access.atoms import Opaque
from whimbrel.access.decide import World, decide
from whimbrel.access.decision import Counterexample, Decision, Space, Undecided, Verdict
from whimbrel.access.layers import Layer, Line
from whimbrel.access.merged import Broken
from whimbrel.config.model import SectionKind
from whimbrel.dialect import V22, V24
from whimbrel.errors import ConfigError
from whimbrel.records import dataclass, field
from whimbrel.upgrade.access_control import compat, native
from whimbrel.upgrade.access_control.chains import Chain
from whimbrel.upgrade.access_control.overrides import Override, admits
from whimbrel.upgrade.access_control.sections import Unit, is_new, lines_of
from whimbrel.upgrade.access_control.split import Form, Lines, Repeat, can_repeat, grouped, in_order, prefix_of
from whimbrel.upgrade.access_control.states import CONTROL, GONE, RECORD, says

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
    """One estate's chains, and the decisions about them."""

    def __init__(self, units: Sequence[Unit], chains: Sequence[Chain], modules: Sequence[str], root: str,
                 readable: Callable[[str], bool | None] = lambda _path: None, *, compat_first: bool = False,
                 carried: bool = False) -> None:
        self.fixed = frozenset(units) if carried else _carried(units, chains)
        self.units, self.compat_first = [unit for unit in units if unit.lines and unit not in self.fixed], compat_first
        self.chains = [chain for chain in chains if not self.fixed.intersection(chain.units)]
        self.nested: dict[Unit, list[Unit]] = {}
        for unit in units:
            if unit.outer is not None and unit.htaccess:
                self.nested.setdefault(unit.outer, []).append(unit)
        self.space = Space()
        self.old_modules = tuple(modules) if any("auth" in name for name in modules) else (*modules, *_USUAL)
        self.old = World(modules=self.old_modules, root=root, readable=readable)
        self.new = World(modules=_new_modules(modules), root=root, readable=readable, aliases=(native.ALIAS,))
        self.gone = GONE | ({"authbasicauthoritative"} if {"authn_default", "authn_default_module"} & set(self.old_modules) else frozenset())
        self.lines = {unit: lines_of(unit.lines) for unit in units}
        self.kept = {unit: tuple(_kept(self.lines[unit], self.gone)) for unit in units}
        self.own = {unit: tuple(line for line in self.lines[unit] if line.name in CONTROL) for unit in units}
        self._known: dict[tuple[str, tuple[Layer, ...]], Decision | None] = {}
        self._before: dict[Chain, Decision | None] = {}
        self.overrides = _overrides(chains)
        self.ends = self._ends()
        self._outer = {unit: list(dict.fromkeys(u for chain in ends for u in chain.units[:-1])) for unit, ends in self.ends.items()}
        self._tried: dict[tuple[Unit, Lines | None, tuple[Form, ...]], Written] = {}
        self._last: dict[tuple[Unit, Lines | None], Written] = {}
        self.dead = frozenset(self._dead())

    # decisions --------------------------------------------------------------------------------------
    def before(self, chain: Chain) -> Decision | None:
        """What 2.2 decides; None where that can't be said."""
        if chain not in self._before:
            if self._refused(chain, {}):
                self._before[chain] = self._error("2.2")
            else:
                self._before[chain] = self._decided(V22.name, tuple(unit.layer(self.lines[unit]) for unit in chain.units))
        return self._before[chain]

    def after(self, chain: Chain, forms: dict[Unit, Form]) -> Decision | None:
        """What 2.4 decides with *forms*; None where it doesn't start."""
        if self._refused(chain, forms):
            return self._error("2.4")
        return self._decided(V24.name, tuple(self._layer(*entry) for entry in in_order(chain, forms)))

    def _layer(self, unit: Unit, control: Lines, repeated: bool) -> Layer:
        if repeated:
            return unit.layer(control)
        return unit.layer(self.lines[unit] if unit in self.dead else self.kept[unit] + control)

    def _dead(self) -> Iterator[Unit]:
        """The .htaccess files, with all sections in them, that end every request with 500 under 2.2: they stay as they are."""
        for unit, overrides in self.overrides.items():
            parts = list(self._whole(unit))
            layers = [part.layer(self.lines[part]) for part in parts]
            decisions = [self._decided(V22.name, (layer,)) for layer in layers]
            broken = any(d is not None and d.when[Verdict.ERROR] == self.space.true and _fails_alone(layer, self.old) for d, layer in
                         zip(decisions, layers, strict=True))
            if broken or all(any(refused(self.lines[part], override) for part in parts) for override in overrides):
                yield from parts

    def _error(self, name: str) -> Decision:
        return Decision(self.space, {Verdict.ERROR: self.space.true}, name)

    def _decided(self, version: str, layers: tuple[Layer, ...]) -> Decision | None:
        key = (version, layers)
        if key not in self._known:
            try:
                found = decide(layers, V22 if version == V22.name else V24, self.old if version == V22.name else self.new, self.space)
                self._known[key] = _with_errors(found)
            except (ConfigError, Undecided):
                self._known[key] = None
        return self._known[key]

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
        for chain in self.chains:
            for at, unit in enumerate(chain.units[:-1]):
                found = ends[unit]
                if not found or found[0].url == "(prefix)":
                    units = chain.units[:at + 1]
                    prefix = Chain(units, "(prefix)", chain.path, False, tuple((u, o) for u, o in chain.overrides if u in units))
                    if all(prefix.units != known.units for known in found):
                        found.append(prefix)
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
        for unit in order:
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
        now = {**forms, unit: written.form}
        for chain in self.ends[unit]:
            texts = [self.kept[u] + now[u].control for u in chain.units]
            if any(is_new(line) for text in texts for line in text):
                continue
            old = self._decided(V22.name, tuple(u.layer(text) for u, text in zip(chain.units, texts, strict=True)))
            before = self.before(chain)
            if old is not None and before is not None and old.difference(before) is not None:
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
            if not written.failing and not written.possible:
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
        """The section with its own decision for each folder that it decides differently in."""
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
        if form is not None and not any(self.differs(chain, {**forms, unit: form})[0] for chain in chains):
            return form
        made = (native.forms([self.lines[u] for u in chain.units], self._around([self.lines[u] for u in chain.units])) for chain in chains)
        for control in dict.fromkeys(lines for proposals in made for lines in proposals):
            for lines in (control, (*_NEUTRAL, *control)):
                if form is None:
                    candidate: Form | None = Form(lines)
                else:
                    prefix = prefix_of(unit, holder, chains[0]) if holder is not None else None
                    if holder is None or prefix is None or not self._admitted(holder, lines):
                        return None
                    candidate = Form(form.control, (*form.repeats, Repeat(holder, lines, prefix)))
                if candidate is not None and not any(self.differs(chain, {**forms, unit: candidate})[0] for chain in chains):
                    return candidate
        return None

    def _tested(self, unit: Unit, form: Form, forms: dict[Unit, Form], best: Written | None) -> Written | None:
        """*form* on all chains that end with the section; None where it is no better than *best*."""
        forms = {**forms, unit: form}
        written = Written(form)
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

    def differs(self, chain: Chain, forms: dict[Unit, Form]) -> tuple[bool, Counterexample | None]:
        """Whether the chain decides otherwise with *forms*, and a client who notices."""
        before, after = self.before(chain), self.after(chain, forms)
        if before is None:
            return False, None
        if after is None:
            return True, None
        example = before.difference(after)
        return example is not None, example

    # proposals --------------------------------------------------------------------------------------
    def _candidates(self, unit: Unit, forms: dict[Unit, Form], base: Lines | None) -> Iterator[Lines]:
        """What the section may become; *base* is None where its own decision is to be written, else what to add where no Require is in force."""
        own = self.own[unit]
        if unit in self.dead:
            yield own
            return
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
        proposals = list(dict.fromkeys(lines for chain in chains for lines in native.forms(chain, self._around(chain))))
        yield from proposals
        if barrier:
            yield from ((*_NEUTRAL, *lines) for lines in proposals)
        if outer:
            alone = [self.lines[unit]]
            for word in ("And", "Or"):
                for lines in list(native.forms(alone, self._around(chains[0])))[:3]:
                    yield (Line("authmerging", word), *lines)

    def _compat(self, unit: Unit, chains: list[list[Lines]]) -> Iterator[Lines]:
        for chain in chains[:3]:
            yield from compat.forms(chain, self._around(chain))

    def _around(self, chain: list[Lines]) -> native.Surroundings:
        return native.Surroundings(self.old_modules, any(says(lines, {"authgroupfile"}) for lines in chain),
                                   any(says(lines, {"authdbmgroupfile"}) for lines in chain))


def _carried(units: Sequence[Unit], chains: Sequence[Chain]) -> frozenset[Unit]:
    """The sections that are of 2.4 already, and all that meet them: what belongs together was carried together.

    Words of 2.4 in a text that is for the most part of 2.2 are words that 2.2 didn't know: they only count together with containers and branches.
    """
    carried = {unit for unit in units if unit.carried}
    if len(carried) < sum(says(lines_of(unit.lines), RECORD | {"satisfy"}) for unit in units if unit not in carried):
        return frozenset(unit for unit in carried if unit.surely_carried)
    before = -1
    while len(carried) != before:
        before = len(carried)
        for chain in chains:
            if not carried.isdisjoint(chain.units):
                carried.update(chain.units)
    return frozenset(carried)


def _new_modules(modules: Sequence[str]) -> tuple[str, ...]:
    needed = ("authz_core", "authn_core", "access_compat", "authz_host", "authz_user", "authz_groupfile", "authz_owner", "authn_file", "auth_basic")
    names = [name.removesuffix("_module") for name in modules]
    return tuple(dict.fromkeys([*names, *needed]))


def _fails_alone(layer: Layer, world: World) -> bool:
    """Whether a .htaccess file with these lines can't be read."""
    try:
        world.settings(V22).merged((layer,))
    except Broken:
        return True
    except ConfigError:
        return False
    return False


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


def _with_errors(decision: Decision) -> Decision:
    """*decision* where the expression that can't be evaluated is what it is: 500 for those whom it alone would let in."""
    mark = next((atom for atom in decision.atoms() if isinstance(atom, Opaque) and "/internal-server-error" in atom.text), None)
    if mark is None:
        return decision
    space = decision.space
    off = {verdict: space.fixed(function, {mark: False}) for verdict, function in decision.when.items()}
    wrong = space.fixed(decision.when[Verdict.GRANTED], {mark: True}) & ~off[Verdict.GRANTED] if mark.user else space.false
    when = {verdict: function & ~wrong for verdict, function in off.items()}
    when[Verdict.ERROR] = when[Verdict.ERROR] | wrong
    return _with_errors(Decision(space, when, decision.name))
