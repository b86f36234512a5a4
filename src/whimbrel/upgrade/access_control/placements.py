"""Places of a section's repetitions, and the requests to which httpd applies each of them.

A repeated <Location> applies to its URL path in every virtual host that reads it, whatever directory the host
maps the path to. So a repetition stands behind its section only if that is right for all hosts; otherwise it
stands in the hosts that serve the directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from whimbrel.access.chains import ServedRequests
from whimbrel.access.decision import Counterexample
from whimbrel.access.layers import AccessLine
from whimbrel.config.model import LOCATION_KINDS, SectionKind
from whimbrel.upgrade.access_control.chain_decisions import ChainDecisions
from whimbrel.upgrade.access_control.effective import DECIDING, has_directive
from whimbrel.upgrade.access_control.replacement import (
    FILES,
    Repetition,
    Replacement,
    can_leave_out,
    directory_of,
    name_expression,
    prefixes_of,
    url_prefix,
)
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.source.config_tree import Statement

Lines = tuple[AccessLine, ...]
_MAX_LEFT_OUT: Final = 6
"""The <Files> sections whose names a repetition may leave out: more would hide what it decides."""
Request = tuple[Statement | None, Chain]
"""The virtual host of a request, None for the main server, and the sections that apply to it."""


class Placements:
    """The repetitions that can be written for the sections of one `ChainDecisions`."""

    def __init__(self, decisions: ChainDecisions, served: ServedRequests[AccessSection, Statement]) -> None:
        self.decisions = decisions
        self._served = served
        self._requests: dict[tuple[str, tuple[str, ...]], list[Request]] = {}

    def requests(self, holder: AccessSection, prefixes: Sequence[str] = ()) -> list[Request]:
        """Return the requests below the directory of *holder* and below URL prefixes, computed once."""
        key = (directory_of(holder), tuple(prefixes))
        if key not in self._requests:
            self._requests[key] = list(self._served.below(*key))
        return self._requests[key]

    def repetitions(
        self, section: AccessSection, holder: AccessSection, chains: Sequence[Chain], lines: Lines
    ) -> Iterator[tuple[Repetition, ...]]:
        """Yield the repetitions of *section* with *lines* for *holder*: behind the section, then in hosts."""
        if section.kind in FILES:
            yield (Repetition(holder, lines),)
            for others in _left_out(section, holder, chains):
                yield (Repetition(holder, lines, without=others),)
            return
        by_server = self._prefixes_by_server(section, holder)
        needed = (prefix for prefixes in by_server.values() for prefix in prefixes)
        prefixes = tuple(dict.fromkeys([*prefixes_of(section, holder, chains), *needed]))
        if prefixes:
            yield tuple(Repetition(holder, lines, prefix) for prefix in prefixes)
        if by_server and section.server is None and None not in by_server:
            yield tuple(
                Repetition(holder, lines, prefix, server)
                for server, own_prefixes in by_server.items()
                for prefix in own_prefixes
            )

    def _prefixes_by_server(
        self, section: AccessSection, holder: AccessSection
    ) -> dict[Statement | None, list[str]]:
        """Return the paths of the holder's directory by server, where *section* decides last."""
        by_server: dict[Statement | None, list[str]] = {}
        for server, chain in self.requests(holder):
            if holder not in chain.sections or chain.last is not section:
                continue
            prefix: str | None = directory_of(holder).rstrip("/")
            if section.kind is not SectionKind.DIRECTORY_MATCH:
                prefix = url_prefix(holder, chain.path, chain.url)
                if is_one_path(section) and section.pattern.startswith(f"{prefix or ''}/"):
                    prefix = section.pattern.rstrip("/")  # the whole section is below the directory
            if prefix and prefix not in by_server.setdefault(server, []):
                by_server[server].append(prefix)
        return by_server

    def is_right(
        self,
        section: AccessSection,
        added: Sequence[Repetition],
        replacements: Mapping[AccessSection, Replacement],
    ) -> bool:
        """Return True if *section* is right for all requests that the repetitions *added* are about.

        Requests at which another section decides last are left to `wrong`. *replacements* contains *added*.
        """
        if is_one_path(section):
            if not all(section.matches(repeat.prefix) for repeat in added):
                return False
        for server, chain in self._requests_of(section, added):
            if not any(r.holder in chain.sections or r.applies(section, chain, server) for r in added):
                continue
            if not _follows_in_place(section, added, server, chain):
                return False
            if chain.last is section and not self._decides_alike(section, server, chain, replacements)[0]:
                return False
        return True

    def wrong(
        self, section: AccessSection, replacements: Mapping[AccessSection, Replacement]
    ) -> Iterator[tuple[Chain, Counterexample | None]]:
        """Yield the requests that the repetitions of *section* decide otherwise than 2.2, with a client."""
        for server, chain in self._requests_of(section, replacements[section].repeats):
            is_alike, example = self._decides_alike(section, server, chain, replacements)
            if not is_alike:
                yield chain, example

    def _requests_of(self, section: AccessSection, repeats: Sequence[Repetition]) -> Iterator[Request]:
        """Yield the requests to which *section* and possibly one of *repeats* apply; none for <Files>.

        Uncertain ones are left out where the repetitions apply as `merge_order` assumes.
        """
        if section.kind in FILES:
            return
        by_holder: dict[AccessSection, dict[str, None]] = {}
        for repeat in repeats:
            by_holder.setdefault(repeat.holder, {})[repeat.prefix] = None
        for holder, prefixes in by_holder.items():
            for server, chain in self.requests(holder, [*prefixes] if section.kind in LOCATION_KINDS else []):
                if section in chain.sections and (
                    chain.is_certain or not _applies_as_assumed(section, repeats, server, chain)
                ):
                    yield server, chain

    def _decides_alike(
        self,
        section: AccessSection,
        server: Statement | None,
        chain: Chain,
        replacements: Mapping[AccessSection, Replacement],
    ) -> tuple[bool, Counterexample | None]:
        """Return True if the request is decided as by 2.2, else False and a client.

        Where conditional sections apply too, True means that `merge_order` assumes the right repetitions.
        """
        applies = partial(_applies, server, chain)
        if any(
            other.conditions
            or other.choices
            or other not in self.decisions.lines
            or (other not in replacements and has_directive(other.access_lines, DECIDING))
            for other in chain.sections
        ):
            return _applies_as_assumed(section, replacements[section].repeats, server, chain), None
        differs, example = self.decisions.differs(chain, replacements, applies)
        return not differs, example


def _left_out(
    section: AccessSection, holder: AccessSection, chains: Sequence[Chain]
) -> Iterator[tuple[AccessSection, ...]]:
    """Yield <Files> sections whose names a repetition of *section* may leave out: one, then all of them.

    They apply to some of *chains*, not to all.
    """
    found = dict.fromkeys(unit for chain in chains for unit in chain.sections if unit.kind in FILES)
    others: dict[str, AccessSection] = {}
    for unit in found:
        is_common = all(unit in chain.sections for chain in chains)
        if unit is not section and not is_common and can_leave_out(section, unit, holder):
            others.setdefault(name_expression(unit), unit)
    if len(others) <= _MAX_LEFT_OUT:
        yield from ((unit,) for unit in others.values())
        if len(others) > 1:
            yield tuple(others.values())


def is_one_path(section: AccessSection) -> bool:
    """Return True for a <Location> whose argument is a path, not a pattern."""
    return section.kind is SectionKind.LOCATION and section.regex is None and not section.fnmatch


def _applies(server: Statement | None, chain: Chain, section: AccessSection, repeat: Repetition) -> bool:
    return repeat.applies(section, chain, server)


def _applies_as_assumed(
    section: AccessSection, repeats: Sequence[Repetition], server: Statement | None, chain: Chain
) -> bool:
    """Return True if exactly those of *repeats* apply whose holder is in the chain."""
    return all((r.holder in chain.sections) == r.applies(section, chain, server) for r in repeats)


def _follows_in_place(
    section: AccessSection, repeats: Sequence[Repetition], server: Statement | None, chain: Chain
) -> bool:
    """Return True if no main-server section is merged between *section* and its repetition in a host."""
    if server is None or not any(repeat.server is server for repeat in repeats):
        return True
    later = chain.sections[chain.sections.index(section) + 1 :]
    is_location = section.kind in LOCATION_KINDS
    return not any(
        other.server is None
        and (other.kind in LOCATION_KINDS if is_location else other.kind not in FILES | LOCATION_KINDS)
        for other in later
    )
