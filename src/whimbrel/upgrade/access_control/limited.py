"""Access control by method: <Limit>, <LimitExcept> and Require method.

2.2 merges <Location> sections again for the index file of a directory, and evaluates access a second time,
as GET. A request with another method was refused there if GET was. 2.4 evaluates access once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from whimbrel.access.atoms import Atom, MethodIs
from whimbrel.access.clients import ExampleClient, find_client
from whimbrel.access.decision import AccessDecision, AccessVerdict
from whimbrel.access.layers import AccessLine
from whimbrel.access.space import Function
from whimbrel.base.dialect import V24
from whimbrel.base.errors import SourceLocation
from whimbrel.config.model import LOCATION_KINDS
from whimbrel.upgrade.access_control.analysis import AccessAnalysis, analyze_access
from whimbrel.upgrade.access_control.effective import (
    DECIDING,
    LIMITS,
    OTHER_METHODS,
    flatten_directives,
    has_directive,
    merge_effective,
)
from whimbrel.upgrade.access_control.replacement import FILES, Lines, directory_of
from whimbrel.upgrade.access_control.sections import AccessSection, Chain, to_access_lines_24
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.source.conditions import MAX_CONDITIONS, Values
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.virtual_hosts import main_server_answers
from whimbrel.upgrade.source.walk import walk


def limited(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections with access control inside <Limit> or <LimitExcept>.

    Those that let 2.4 admit a method to the index of a directory where 2.2 refused it need review.
    """
    analysis = analyze_access(tree)
    examples = dict(_reevaluations(analysis, lambda: main_server_answers(tree)))
    for section in analysis.inventory.sections:
        lines = section.access_lines
        has_limit = _has_limit(lines)
        if section in examples or (has_limit and _rechecked(section, lines)):
            yield _reevaluation(section, examples.get(section))
        elif has_limit and not section.is_upgraded:
            yield Finding(
                "X20",
                _place_of_limit(section),
                (
                    "lines in <Limit> or <LimitExcept> apply to these methods alone; the other lines "
                    "decide about the others"
                ),
                "remove the container if all methods are meant",
                Risk.COSMETIC,
                evidence=_open_methods(analysis, section),
            )


def _open_methods(analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return the methods that the present text admits for every client where it refuses others to some; ""
    for none."""
    for chain in analysis.host_chains.every():
        cases = list(_cases(chain)) if chain.last is section and chain.is_certain else []
        decision = _decision_under(analysis, chain, cases[0]) if len(cases) == 1 else None
        if decision is None:
            continue
        granted = decision.when[AccessVerdict.GRANTED]
        tests = [atom for atom in decision.atoms() if isinstance(atom, MethodIs)]
        named = {atom.name: _is_open(decision, granted, tests, atom.name) for atom in tests}
        others = _is_open(decision, granted, tests, "")
        opened = [name for name, is_open in named.items() if is_open]
        if not tests or all([others, *named.values()]) or not (others or opened):
            continue
        what = ", ".join(opened)
        if others:
            closed = [name for name, is_open in named.items() if not is_open]
            what = f"every method but {', '.join(closed)}"
        return f"open to every client, without a password: {chain.url or chain.path} with {what}"
    return ""


def _is_open(decision: AccessDecision, granted: Function, tests: Iterable[MethodIs], method: str) -> bool:
    """Return True if every client is admitted with *method*, "" for one that no test names."""
    values: dict[Atom, bool] = {atom: atom.name == method for atom in tests}
    fixed: Function = decision.space.fixed(granted, values)
    return bool(fixed == decision.space.true)


def _has_limit(lines: Lines) -> bool:
    return any(map(_is_limit, lines))


def _is_limit(line: AccessLine) -> bool:
    return line.name in LIMITS and has_directive(line.children, DECIDING)


def _place_of_limit(section: AccessSection) -> SourceLocation:
    """Return the place of the section, of a whole .htaccess file that of its container of methods."""
    found = section.place
    if section.statement is None:
        places = (line.place for line in section.access_lines if _is_limit(line))
        found = next((place for place in places if place is not None and place.path == found.path), found)
    return found


def _reevaluation(section: AccessSection, example: tuple[Chain, ExampleClient] | None) -> Finding:
    evidence = "a POST to a directory: 2.2 decides as for GET, 2.4 as for POST"
    question = "May methods outside of the <Limit> reach the index of a directory that 2.2 refused?"
    if example is not None:
        chain, client = example
        where = chain.url or chain.path
        evidence = f"{where}: {client}: 2.2 refuses the index of a directory, 2.4 admits it"
        question = f"May {client} get {where}, which 2.2 refused?"
    return Finding(
        "X20",
        section.place,
        (
            "2.2 evaluates a <Location> a second time, as GET, for the index of a directory; 2.4 "
            "evaluates it once"
        ),
        "remove the <Limit> if all methods are meant",
        Risk.OPENS,
        Safety.MANUAL,
        evidence=evidence,
        decision=question,
    )


def _rechecked(section: AccessSection, lines: Lines) -> bool:
    """Return True if a <Location> admits other methods where it refuses GET."""
    if section.kind not in LOCATION_KINDS or section.is_proxy:
        return False
    state = merge_effective([lines])
    return "GET" in state and bool(state["GET"].requires) and not state[OTHER_METHODS].requires


def _reevaluations(
    analysis: AccessAnalysis, has_main_server: Callable[[], bool]
) -> Iterator[tuple[AccessSection, tuple[Chain, ExampleClient]]]:
    """Yield the sections that test the method, with a client that 2.4 refuses with GET alone.

    *has_main_server*: the main server gets requests. Those of virtual hosts alone count without it.

    The present text is judged as that of 2.4: when the upgrade is done, it decides as 2.2 did for one
    evaluation.
    """
    by_method = {section for section in analysis.inventory.sections if _tests_method(section)}
    for chain in analysis.host_chains.every() if by_method else ():
        if by_method.isdisjoint(chain.sections) or not _is_reevaluated(analysis, chain):
            continue
        client = _client_without_get(analysis, chain)
        if client is not None and (not _is_of_main_server(analysis, chain) or has_main_server()):
            yield from ((section, (chain, client)) for section in chain.sections if section in by_method)


def _is_of_main_server(analysis: AccessAnalysis, chain: Chain) -> bool:
    """Return True if no virtual host has the chain, as far as its last section shows."""
    if not directory_of(chain.last) or any(section.server is not None for section in chain.sections):
        return False
    served = analysis.placements.requests(chain.last)
    return {server for server, found in served if found.sections == chain.sections} == {None}


def _tests_method(section: AccessSection) -> bool:
    if not any(_may_test_method(line) for line in walk(section.lines_24)):
        return False
    lines = section.access_lines_24
    return _has_limit(lines) or any(
        line.name == "require" and "method" in line.args.lower().split()[:2]
        for line in flatten_directives(lines)
    )


def _may_test_method(line: Statement) -> bool:
    if line.name == "require":
        return "method" in line.args.lower()
    return line.name in ("<limit", "<limitexcept")


def _is_reevaluated(analysis: AccessAnalysis, chain: Chain) -> bool:
    """Return True if 2.2 evaluates a directory's chain again: a <Location> applies, whatever is in it."""
    if not chain.is_certain or any(section.kind in FILES or section.is_proxy for section in chain.sections):
        return False
    servers = {None, *(section.server for section in chain.sections)}
    return any(
        section.kind in LOCATION_KINDS
        and not (section.is_proxy or section.in_htaccess)
        and (section in chain.sections or (section.server in servers and section.matches(chain.url)))
        for section in analysis.inventory.sections
    )


def _client_without_get(analysis: AccessAnalysis, chain: Chain) -> ExampleClient | None:
    """Return a client that 2.4 admits with its method and refuses with GET, None if there is none."""
    clients = (_client_under(analysis, chain, values) for values in _cases(chain))
    return next((client for client in clients if client is not None), None)


def _cases(chain: Chain) -> Iterator[Values | None]:
    """Yield the values of the open conditions around the lines of a chain; None if there are too many."""
    branches = [
        literals for section in chain.sections for literals in (section.conditions, *section.branches)
    ]
    conditions = list(dict.fromkeys(literal.condition for literals in branches for literal in literals))
    if len(conditions) > MAX_CONDITIONS:
        yield None
        return
    for values in product((False, True), repeat=len(conditions)):
        yield dict(zip(conditions, values, strict=True))


def _client_under(analysis: AccessAnalysis, chain: Chain, values: Values | None) -> ExampleClient | None:
    cache = analysis.decisions.cache
    decision = _decision_under(analysis, chain, values)
    if decision is None:
        return None
    granted = decision.when[AccessVerdict.GRANTED]
    methods: dict[Atom, bool] = {
        atom: atom.name == "GET" for atom in decision.atoms() if isinstance(atom, MethodIs)
    }
    return find_client(cache.space, granted, ~cache.space.fixed(granted, methods)) if methods else None


def _decision_under(analysis: AccessAnalysis, chain: Chain, values: Values | None) -> AccessDecision | None:
    """Return the decision of 2.4 about *chain* with these values of its conditions, None if not known."""
    cache = analysis.decisions.cache
    layers = [
        cache.layer(
            section.kind,
            section.in_htaccess,
            to_access_lines_24(section.lines_24, section.statement, values),
        )
        for section in chain.sections
        if values is None or all(literal.holds(values) for literal in section.conditions)
    ]
    decision: AccessDecision | None = cache.decision(V24.name, layers)
    return decision
