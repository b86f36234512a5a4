"""Sections whose lists a later <Location> replaces in 2.2: what they seem to protect is open already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.access.decision import AccessVerdict, Counterexample
from whimbrel.access.layers import AccessLine
from whimbrel.base.dialect import V22
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.model import LOCATION_KINDS
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.effective import RECORD, has_directive
from whimbrel.upgrade.access_control.replacement import Lines
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.source.config_tree import ConfigTree

MAX_CHAINS: Final = 64
"""Chains with a section that are decided again without its lists."""


def already_open(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return the <Location> that replaces the lists of *section* in 2.2, and a client that it admits and they
    refuse; "" where one of them has an effect, or where that is not known.

    httpd merges <Location> sections last, and one Order, Allow or Deny in a section replaces all lists of
    those before it (mod_authz_host, create_authz_host_dir_config without a merger).
    """
    decisions = analysis.decisions
    if analysis.bounds.exceeded or decisions.is_of_24 or decisions.other_orders:
        return ""
    first = analysis.equivalents.get(section, (section,))[0]
    units = frozenset(analysis.variants.of[first].values())
    # a file without a URL is looked up by modules alone, and <Location> sections are about URLs
    chains = [
        chain
        for chain in decisions.chains
        if chain.url and not chain.is_prefix and not units.isdisjoint(chain.sections)
    ]
    openers = [_opener(analysis, chain) for chain in chains]
    if not chains or len(chains) > MAX_CHAINS or None in openers or not units.isdisjoint(openers):
        return ""
    example = None
    url = ""
    for chain in chains:
        before = decisions.read_by_22(chain)
        after = decisions.cache.decision(
            V22.name,
            [
                decisions.layer_of(
                    unit,
                    _without_lists(decisions.lines[unit]) if unit in units else decisions.lines[unit],
                )
                for unit in chain.sections
            ],
        )
        if before is None or after is None or decisions.cache.difference(before, after) is not None:
            return ""
        if example is None:
            example = _admitted(analysis, chain, units)
            url = chain.url
    opener = openers[0]
    if example is None or opener is None:
        return ""
    place = tree.original_place(opener.place)
    line = opener.statement
    tag = f"<{line.node.name} {line.args.strip()}>" if line is not None else "a section"
    return (
        f"open in 2.2 already: {tag}, {display_path(place.path, tree.top)}:{place.line}, replaces the lists "
        f"of this section, which refuse {url} to {example.client}, and admits that client"
    )


def _opener(analysis: AccessAnalysis, chain: Chain) -> AccessSection | None:
    """Return the last section of *chain* with lists, if it is a <Location>."""
    lines = analysis.decisions.lines
    last = next((unit for unit in reversed(chain.sections) if has_directive(lines[unit], RECORD)), None)
    return last if last is not None and last.kind in LOCATION_KINDS else None


def _admitted(
    analysis: AccessAnalysis, chain: Chain, units: frozenset[AccessSection]
) -> Counterexample | None:
    """Return a client that the section alone refuses and the whole chain admits."""
    decisions = analysis.decisions
    named = [unit for unit in chain.sections if unit in units]
    own = decisions.cache.decision(
        V22.name, [decisions.layer_of(unit, decisions.lines[unit]) for unit in named]
    )
    joint = decisions.read_by_22(chain)
    if own is None or joint is None:
        return None
    found = decisions.cache.difference(own, joint)  # one that the second alone admits is preferred
    return found if found is not None and found.after is AccessVerdict.GRANTED else None


def _without_lists(lines: Lines) -> Lines:
    return tuple(_all_but_lists(lines))


def _all_but_lists(lines: Lines) -> Iterator[AccessLine]:
    for line in lines:
        if line.name not in RECORD:
            yield replace(line, children=tuple(_all_but_lists(line.children))) if line.children else line
