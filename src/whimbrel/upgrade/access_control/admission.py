"""Who gains or loses access by the planned text of a section, in words, and the requests that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from whimbrel.access.clients import find_client
from whimbrel.access.decision import AccessVerdict
from whimbrel.base.counts import and_more
from whimbrel.base.errors import SourceLocation
from whimbrel.config.model import LOCATION_KINDS
from whimbrel.upgrade.access_control import native
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.edit_reasons import MAX_PLACES
from whimbrel.upgrade.access_control.effective import RECORD, has_directive, merge_effective
from whimbrel.upgrade.access_control.fragment_context import is_loose
from whimbrel.upgrade.access_control.replacement import FILES
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.access_control.solver import FailingChain, SectionPlan
from whimbrel.upgrade.access_control.trees import DENIED
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.source.config_tree import ConfigTree

_Found = TypeVar("_Found")

UNCHANGED: Final = "nobody gains or loses access"
"""What is true of a section if every chain that ends with it was compared exactly."""
AS_SHOWN: Final = (
    f"{UNCHANGED}, as far as this file shows (below a <FilesMatch> or <Location> of its server 2.4 may deny "
    "what 2.2 admitted, or admit more)"
)
"""The same of a file without its server: a <Files> section or a password around it may decide too."""


def admitted(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, *, has_others: bool) -> str:
    """Return who is admitted by a text that decides as 2.2 did; *has_others*: but for single requests."""
    if has_others and section.is_page:
        return "the page itself is admitted as before"
    if has_others:
        return "all requests but those for the files below are decided as before"
    if is_loose(tree, section):
        return AS_SHOWN
    other = beside(tree, analysis, section)
    if other:
        return f"{UNCHANGED} by this section alone; {other}"
    undecided = once(tree, analysis, _undecided_together).get(section)
    if undecided is not None:
        where = f"{display_path(undecided.path, tree.top)}:{undecided.line}"
        return f"{UNCHANGED} by this section alone; who is admitted together with {where} was not decided"
    if analysis.bounds.exceeded:
        return f"{UNCHANGED} in the requests that were compared, which are not all"
    why = once(tree, analysis, _admitted_beside).get(section)
    return f"{UNCHANGED}: {why}, in 2.2 as in 2.4" if why else UNCHANGED


def beside(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return that 2.4 decides requests of the section otherwise because of a later one, "" if it does not."""
    other = once(tree, analysis, _differs_together).get(section)
    if other is None:
        return ""
    return f"together with {display_path(other.path, tree.top)}:{other.line} 2.4 decides otherwise"


def reason_in(advice: str) -> str:
    """Return what follows the sentence of `admitted` as its reason, "" for nothing."""
    return advice.partition(": ")[2] if advice.startswith(UNCHANGED) else ""


def once(
    tree: ConfigTree,
    analysis: AccessAnalysis,
    find: Callable[[ConfigTree, AccessAnalysis], dict[AccessSection, _Found]],
) -> dict[AccessSection, _Found]:
    """Return what *find* returns, which all sections of *analysis* share."""
    key = f"access control{find.__name__.replace('_', ' ')}"
    cached = tree.cache.get(key)
    if not isinstance(cached, tuple) or cached[0] is not analysis:
        cached = (analysis, find(tree, analysis))
        tree.cache[key] = cached
    found: dict[AccessSection, _Found] = cached[1]
    return found


def _differs_together(tree: ConfigTree, analysis: AccessAnalysis) -> dict[AccessSection, SourceLocation]:
    """Return the sections of requests that 2.4 decides otherwise because of a later section, each with its
    place."""
    base = analysis.variants.base
    found: dict[AccessSection, SourceLocation] = {}
    for last, plan in analysis.plans.items():
        pending = () if last.is_page else open_requests(plan)
        for chain, _ in (*plan.failing, *pending):
            for unit in chain.sections:
                section = base.get(unit, unit)
                if section is not last:
                    found.setdefault(section, tree.original_place(last.place))
    return found


def _undecided_together(tree: ConfigTree, analysis: AccessAnalysis) -> dict[AccessSection, SourceLocation]:
    """Return the sections of requests about which 2.2's decision is not known, each with the place of a later
    section of such a request."""
    base = analysis.variants.base
    found: dict[AccessSection, SourceLocation] = {}
    for chain in analysis.decisions.chains:
        if analysis.decisions.before_22(chain) is None:
            last = base.get(chain.last, chain.last)
            for unit in chain.sections[:-1]:
                found.setdefault(base.get(unit, unit), tree.original_place(last.place))
    return found


def _admitted_beside(tree: ConfigTree, analysis: AccessAnalysis) -> dict[AccessSection, str]:
    """Return the <Files> sections that refuse every client alone, and why requests that they apply to are
    admitted: a Satisfy Any lets users log in, or a <Location> replaces the lists."""
    by_login: dict[AccessSection, dict[SourceLocation, None]] = {}
    by_list: dict[AccessSection, dict[SourceLocation, str]] = {}
    for chain in analysis.decisions.chains:
        refusing = [unit for unit in chain.sections if unit.kind in FILES and _has_closed_lists(unit)]
        before = analysis.decisions.before_22(chain) if refusing else None
        if before is None or before.when[AccessVerdict.GRANTED] == analysis.decisions.cache.space.false:
            continue
        lists = next(unit for unit in reversed(chain.sections) if has_directive(unit.access_lines, RECORD))
        satisfy = _satisfy_any(chain.sections)
        for unit in refusing:
            section = analysis.variants.base.get(unit, unit)
            if satisfy is not None and _has_closed_lists(lists):
                by_login.setdefault(section, {})[tree.original_place(satisfy)] = None
            elif lists.kind in LOCATION_KINDS and not lists.is_page and not _is_below_file(tree, chain):
                opening = by_list.setdefault(section, {})
                place = tree.original_place(lists.place)
                if place not in opening:
                    client = find_client(before.space, before.when[AccessVerdict.GRANTED], before.space.true)
                    example = f", such as {chain.url}: {client}" if client is not None and chain.url else ""
                    opening[place] = example
    found: dict[AccessSection, str] = {}
    order = {path: at for at, path in enumerate(tree.files)}
    for section, opening in by_list.items():
        places = sorted(opening, key=lambda place: (order.get(place.path, len(order)), place.line))
        verb, which = ("admits", "it") if len(places) == 1 else ("admit", "them")
        example = opening[places[0]]
        found[section] = f"{_named(tree, places)} {verb} clients to these files below {which}{example}"
    for section, lines in by_login.items():
        found[section] = f"users who log in read these files where Satisfy Any holds ({_named(tree, lines)})"
    return found


def _is_below_file(tree: ConfigTree, chain: Chain) -> bool:
    """Return True if the directory of a chain is a file, such as a CGI script: httpd takes what follows it as
    PATH_INFO, and no file is below it (request.c, `ap_directory_walk`)."""
    directory = chain.path.rpartition("/")[0]
    return tree.disk.exists(directory) and not tree.disk.is_directory(directory)


def _has_closed_lists(section: AccessSection) -> bool:
    """Return True if the Order, Allow and Deny lines of the section admit no client."""
    lines = section.access_lines
    if not has_directive(lines, RECORD):
        return False
    return all(native.host_tree(rules) == DENIED for rules in merge_effective([lines]).values())


def _satisfy_any(sections: Sequence[AccessSection]) -> SourceLocation | None:
    """Return the place of the Satisfy line that holds for the requests of a chain, None if it is not Any."""
    for section in reversed(sections):
        for line in reversed(section.access_lines):
            if line.is_container and has_directive(line.children, {"satisfy"}):
                return None  # it holds for some methods
            if line.name == "satisfy":
                return line.place if line.args.strip().strip('"').lower() == "any" else None
    return None


def _named(tree: ConfigTree, places: Iterable[SourceLocation]) -> str:
    """Return the first `MAX_PLACES` of *places*, and the number of the others."""
    named = [f"{display_path(place.path, tree.top)}:{place.line}" for place in places]
    return ", ".join(named[:MAX_PLACES]) + and_more(max(0, len(named) - MAX_PLACES))


def opens(request: FailingChain) -> bool:
    """Return True if 2.4 admits the example client of the request, which 2.2 refuses."""
    example = request[1]
    return example is not None and example.after is AccessVerdict.GRANTED


def losses(analysis: AccessAnalysis, requests: Iterable[FailingChain]) -> Iterator[FailingChain]:
    """Yield those of *requests* whose new text also refuses a client that 2.2 admits, with that client."""
    for chain, _example in requests:
        before = analysis.decisions.before_22(chain)
        after = analysis.decisions.decide_24(chain, analysis.variant_forms)
        if before is None or after is None:
            continue
        for example in before.differences(after):
            if example.before is AccessVerdict.GRANTED:
                yield chain, example
                break


def open_requests(plan: SectionPlan) -> list[FailingChain]:
    """Return the requests without a file that the new text decides otherwise than 2.2, with a client."""
    return [
        (chain, example) for chain, example in plan.possible if example is not None and not chain.is_prefix
    ]


def reachable_requests(tree: ConfigTree, section: AccessSection, plan: SectionPlan) -> list[FailingChain]:
    """Return those of `open_requests` that httpd may be sent.

    Below the page of a handler no file is: httpd takes the first component that does not exist, the page, as
    the name of the file, and what follows it as PATH_INFO (request.c, `ap_directory_walk`).
    """
    requests = open_requests(plan)
    if not section.is_page:
        return requests
    page = section.pattern.rstrip("/").rpartition("/")[2]
    return [
        one
        for one in requests
        if tree.disk.is_directory(one[0].path.rpartition("/")[0])
        or all(unit.matches(page) for unit in one[0].sections if unit.kind in FILES)
    ]


def pending_requests(plan: SectionPlan) -> list[FailingChain]:
    """Return those of `open_requests` that ask for a decision: all if 2.4 admits more, else those that are
    not about single files, each in a directory that lacks it."""
    requests = open_requests(plan)
    if any(map(opens, requests)):
        return requests
    return [one for one in requests if not any(section.names_files for section in one[0].sections)]
