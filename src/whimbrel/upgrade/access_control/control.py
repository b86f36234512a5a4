"""The access control of one estate, worked out once and asked by all rules about it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.access.decision import Counterexample
from whimbrel.config.execute import is_directory
from whimbrel.config.model import SectionKind
from whimbrel.dialect import V24
from whimbrel.errors import Place
from whimbrel.records import dataclass, field
from whimbrel.upgrade.access_control import native
from whimbrel.upgrade.access_control.alike import Likeness, Twin, is_there
from whimbrel.upgrade.access_control.areas import password_area, surrounded, unmapped
from whimbrel.upgrade.access_control.chains import Bounds, Chain, chains
from whimbrel.upgrade.access_control.choose import Solver, Written
from whimbrel.upgrade.access_control.conditional_edits import of_conditional
from whimbrel.upgrade.access_control.edits import of_unit, rendered
from whimbrel.upgrade.access_control.left import SHARED, SPLIT, Left, left
from whimbrel.upgrade.access_control.native import ALIAS, BROKEN
from whimbrel.upgrade.access_control.sections import Found, Unit, absolute, find
from whimbrel.upgrade.access_control.shared import disagreeing
from whimbrel.upgrade.access_control.split import FILES, Form, Repeat, folder_of
from whimbrel.upgrade.access_control.states import said
from whimbrel.upgrade.access_control.variants import Variants
from whimbrel.upgrade.estate import Estate, Statement
from whimbrel.upgrade.model import FileEdit, InputContext, Style


@dataclass(slots=True, eq=False)
class Control:
    """*written* says what each section becomes; sections that say nothing about access are not in it.  *bounds* says what wasn't tried.

    *every* are the chains of all sections, *chains* those of the variants that are solved; hosts that are like others have no chains of their own.
    *twins* are by their sections.  *left* are the sections that stay as they are, each with the reason.  *variants* are the sections as `solver`
    has them, *solved* says what each of these becomes.  *is_first*: no edit of access control has been made yet.
    """

    found: Found
    every: list[Chain]
    chains: list[Chain]
    solver: Solver
    written: dict[Unit, Written]
    bounds: Bounds
    variants: Variants
    left: Left
    solved: dict[Unit, Written]
    is_first: bool
    twins: dict[Unit, tuple[Unit, Twin]] = field(default_factory=dict)
    _forms: dict[Unit, Form] = field(default_factory=dict)
    _examples: dict[Unit, Counterexample | None] = field(default_factory=dict)

    def edits(self, estate: Estate, unit: Unit, form: Form | None = None) -> tuple[FileEdit, ...]:
        """What makes the section's text say that, or *form*."""
        if unit in self.solver.dead:
            return ()
        if unit.choices or unit.loses_lines:
            if form is None and not unit.loses_lines and self._is_unchanged(unit):
                return ()
            return of_conditional(unit, form or self.written[unit].form, self.solver.gone, also_22=estate.wishes.also_22)
        return of_unit(unit, form or self.written[unit].form, self.solver.kept[unit], self.solver.gone, also_22=estate.wishes.also_22)

    def _is_unchanged(self, unit: Unit) -> bool:
        """Return True if the section has its own lines under each combination of its conditions."""
        first = self.twins.get(unit, (unit,))[0]
        own = self.solver.own
        gone = any(line.name in self.solver.gone for line in self.solver.lines[unit])
        return not gone and all(self.solved[one].form == Form(own[one]) for one in self.variants.of[first].values() if one in self.solved)

    def ends(self, unit: Unit) -> list[Chain]:
        """The chains that end with the section, for each combination of its conditions."""
        first, twin = self.twins.get(unit, (unit, None))
        found = [chain for variant in self.variants.of[first].values() for chain in self.solver.ends.get(variant, ())]
        return found if twin is None else [chain_of(twin, chain) for chain in found]

    def difference(self, unit: Unit, form: Form) -> Counterexample | None:
        """A client that *form* treats otherwise than 2.2 did, of hosts that are alike one of the first."""
        first = self.twins.get(unit, (unit,))[0]
        if first not in self._examples:
            forms = ChainMap(dict.fromkeys(self.variants.of[first].values(), form), self.variant_forms)
            self._examples[first] = next((found for chain in self.ends(unit) if (found := self.solver.differs(chain, forms)[1]) is not None), None)
        return self._examples[first]

    def served_by_22(self, unit: Unit) -> tuple[Chain, str] | None:
        """A chain that ends with a guard, and a client whom 2.2 let in there."""
        decisions = self.solver.decisions
        for chain in self.ends(unit):
            before = self.solver.before_22(chain)
            if before is not None and (example := decisions.difference(before, decisions.forbidden(V24.name))) is not None:
                return chain, str(example)
        return None

    def alone(self, unit: Unit) -> str:
        """The lines of 2.4 that decide what the section's own lines did, for messages."""
        form = next(iter(native.forms([self.solver.lines[unit]], native.Surroundings(self.solver.old_modules))), ())
        return f"`{'; '.join(rendered(form, unit))}`" if form else "Require"

    def model(self, unit: Unit) -> Place | None:
        """The section whose clients stand for those of *unit*, where it is one of another host with other names."""
        first, twin = self.twins.get(unit, (unit, None))
        return first.place if twin is not None and not twin.same_names else None

    @property
    def forms(self) -> dict[Unit, Form]:
        """What each section becomes."""
        if not self._forms:
            self._forms.update((known, written.form) for known, written in self.written.items())
        return self._forms

    @property
    def variant_forms(self) -> dict[Unit, Form]:
        """What each variant of a section becomes."""
        return {unit: written.form for unit, written in self.solved.items()}

    def alias(self) -> tuple[FileEdit, ...]:
        """The container that says what `native.BROKEN` means, where a section needs it: in front of the first section that does."""
        users = [unit for unit, written in self.written.items()
                 if any(one.args == BROKEN.text for lines in (written.control, *(r.control for r in written.form.repeats)) for one in said(lines))]
        if not users:
            return ()
        text = [f"<AuthzProviderAlias {ALIAS.args}>", "</AuthzProviderAlias>"]
        first = _first_section(self.found)
        return (first.before(text),) if first is not None else ()


def chain_of(twin: Twin, chain: Chain) -> Chain:
    """A chain of the first host as its twin has it."""
    units = tuple(twin.units.get(unit, unit) for unit in chain.units)
    return Chain(units, chain.url, twin.path(chain.path), chain.sure, chain.overrides)


def outermost(statement: Statement) -> Statement:
    """The section around all others around it."""
    while statement.parent is not None and statement.parent.is_section:
        statement = statement.parent
    return statement


def _first_section(found: Found) -> Statement | None:
    """What holds the first section about access outside of .htaccess files."""
    return min((outermost(unit.statement) for unit in found.units if unit.statement is not None and not unit.htaccess),
               key=lambda statement: statement.node.start, default=None)


def _readable(estate: Estate) -> Callable[[str], bool | None]:
    """Whether a password or group file is there; of a fragment, and where none of those that are named is, nothing is known."""
    lines = estate.named("authuserfile", "authgroupfile", "authdbmuserfile", "authdbmgroupfile")
    if estate.context is not InputContext.SERVER or not any(is_there(absolute(estate.root, line.words()[0])) for line in lines if line.words()):
        return lambda _path: None
    return lambda path: is_there(path) if is_directory(path.rpartition("/")[0] or "/") else None


CARRIED: Final = "access control is carried"
"""In `told`: edits were made, and what is read now is what they made."""


def told(estate: Estate) -> dict[object, object]:
    """What outlives edits."""
    found = estate.memo.setdefault("told", {})
    assert isinstance(found, dict)
    return found


def control(estate: Estate) -> Control:
    """Everything about access control; the first call works it out."""
    known = estate.memo.get("access control")
    if isinstance(known, Control):
        return known
    found = find(estate)
    made = _settled(estate, found, Likeness(estate, found).twins())
    if made is None:
        made = _settled(estate, found, {})
        assert made is not None
    estate.memo["access control"] = made
    return made


def _settled(estate: Estate, found: Found, twins: dict[Statement, Twin]) -> Control | None:
    """What becomes of all sections; where conditions divide a section's answers, and no form is right for all of them, it is divided, then left."""
    like = {own: (first, twin) for twin in twins.values() for first, own in twin.units.items()}
    bounds = Bounds()
    every = unmapped(estate, found, chains(estate, found, bounds, without=twins), bounds)
    first_of = {own: first for own, (first, _) in like.items()}
    everything = CARRIED in told(estate)
    split: set[Unit] = set()
    failed: Left = {}
    while True:
        if everything:
            staying = dict.fromkeys(found.units, "")
        else:
            staying = left(estate, found.units, every, first_of, failed)
        made = _made(estate, found, every, staying, split, like, bounds)
        wrong = dict.fromkeys(_divided(made) & split, SPLIT)
        more = _divided(made) - split
        if not (wrong or more):
            if not _join_twins(made, twins):
                return None
            wrong = {first_of.get(unit, unit): SHARED for unit in _disagreeing(estate, made)}
        if not (more or wrong.keys() - failed.keys()):
            return made
        failed |= wrong
        split |= more


def _disagreeing(estate: Estate, made: Control) -> set[Unit]:
    return disagreeing(made.found.units, made.written, lambda unit: made.edits(estate, unit))


def _divided(made: Control) -> set[Unit]:
    """The sections that conditions decide about and that no form is right for."""
    base = made.variants.base
    return {base[variant] for variant, written in made.solved.items() if any(chain.given for chain, _ in written.failing) and variant in base}


def _made(estate: Estate, found: Found, every: list[Chain], staying: Left, split: set[Unit], like: dict[Unit, tuple[Unit, Twin]],
          bounds: Bounds) -> Control:
    units = [unit for unit in found.units if unit not in staying and unit not in like]
    variants = Variants(units, [chain for chain in every if staying.keys().isdisjoint(chain.units)], split)
    area = password_area()
    known = [*found.units, *(unit for unit in variants.units if variants.base[unit] is not unit), area]
    solver = Solver(known, [area, *variants.units], surrounded(estate, variants.chains, area), estate.modules, estate.root, _readable(estate),
                    compat_first=estate.wishes.style is Style.COMPAT, area=area,
                    has_alias=estate.context is InputContext.SERVER and _first_section(found) is not None, step=estate.step)
    solved = solver.solve()
    written = {unit: _joined(variants, unit, solved) for unit in units if unit.lines}
    return Control(found, every, variants.chains, solver, written, bounds, variants, staying, solved, CARRIED not in told(estate), like)


def _joined(variants: Variants, unit: Unit, solved: dict[Unit, Written]) -> Written:
    if variants.is_plain(unit):
        return solved[unit]
    nothing = Written(Form(()))
    parts = [solved.get(variant, nothing) for variant in variants.of[unit].values()]
    form = variants.joined(unit, lambda variant: solved.get(variant, nothing).form)
    return Written(form, [one for part in parts for one in part.failing], [one for part in parts for one in part.possible])


def _join_twins(made: Control, twins: dict[Statement, Twin]) -> bool:
    """Give hosts that are alike what the first of them gets; False where one of them can't answer for the others."""
    groups: dict[Statement, list[Twin]] = {}
    written = made.written
    for twin in twins.values():
        groups.setdefault(twin.first, []).append(twin)
    for unit, one in written.items():
        if unit.server is None and any(repeat.holder.server in groups for repeat in one.form.repeats):
            if unit.kind not in FILES and unit.kind is not SectionKind.DIRECTORY_MATCH:
                return False  # URLs don't tell hosts apart
            repeats = tuple(more for repeat in one.form.repeats for more in _for_all(repeat, unit, groups))
            written[unit] = Written(Form(one.form.control, repeats), one.failing, one.possible)
    for own, (first, twin) in made.twins.items():
        if first in written:
            written[own] = _like(written[first], twin)
    return True


def _for_all(repeat: Repeat, unit: Unit, groups: dict[Statement, list[Twin]]) -> Iterator[Repeat]:
    """A repetition of everybody's section in one host's folder, and those in the folders of hosts that are alike."""
    yield repeat
    for twin in groups.get(repeat.holder.server, ()) if repeat.holder.server is not None else ():
        holder = twin.units.get(repeat.holder, repeat.holder)
        yield Repeat(holder, twin.lines(repeat.control), "" if unit.kind in FILES else folder_of(holder).rstrip("/"))


def _like(first: Written, twin: Twin) -> Written:
    """What a section becomes that is like one that is known."""
    if twin.same_names and not (first.form.repeats or first.failing or first.possible):
        return first
    repeats = tuple(Repeat(twin.units.get(repeat.holder, repeat.holder), twin.lines(repeat.control), repeat.prefix) for repeat in first.form.repeats)
    return Written(Form(twin.lines(first.form.control), repeats), _cases(twin, first.failing), _cases(twin, first.possible))


def _cases(twin: Twin, found: list[tuple[Chain, Counterexample | None]]) -> list[tuple[Chain, Counterexample | None]]:
    return [(chain_of(twin, chain), example) for chain, example in found]
