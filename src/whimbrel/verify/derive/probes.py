"""The probes of two sides: what is derived from either one is asked of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice, zip_longest
from typing import Final, TypeVar

from whimbrel.access.joint_names import JointNames
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.model import Server
from whimbrel.http.syntax.url import escape_uri
from whimbrel.verify.config_lines import LineScope, SideLines, key_of
from whimbrel.verify.derive.equal_hosts import EqualHosts
from whimbrel.verify.derive.facts import Facts
from whimbrel.verify.derive.hosts import UNKNOWN, Entrance, entrances
from whimbrel.verify.derive.shared_scopes import SharedScopes, with_parents
from whimbrel.verify.derive.targets import NEUTRAL, TargetCandidate, Targets, name_patterns
from whimbrel.verify.named_files import changed_keys
from whimbrel.verify.probe import Probe
from whimbrel.verify.tls_ports import default_server

T = TypeVar("T")
Sources = list[tuple[Targets, list[LineScope], list[LineScope]]]
"""For each side: the targets, the scopes of the server itself, the scopes of all servers."""
MAX_PROBES: Final = 40_000
"""The number of probes that all servers share; each server gets some."""
MIN_OF_HOST: Final = 10
MAX_FOLLOWERS: Final = 5000
"""Hosts that are asked for "/" alone; more are equal to an asked one, and are taken from everywhere."""
_MAX_OF_TREE: Final = 1500
_MAX_WITH_FACTS: Final = 10
"""Targets that each fact is tried with."""
_MAX_OWN: Final = 1000
"""Candidates of the sections of one server, beyond its share."""
_MAX_PLACES: Final = 4
"""Addresses with their ports that are asked with wrong Host fields."""
_REDIRECTS: Final = frozenset(
    ("redirect", "redirectmatch", "redirectpermanent", "redirecttemp", "rewriterule")
)
_METHODS: Final = ("HEAD", "POST", "OPTIONS", "TRACE", "PUT", "FROB")
_VISIBLE: Final = frozenset(map(chr, range(0x21, 0x7F)))


class ProbeSource:
    """Derives the probes of the sides whose lines are *sides*; the order is the same if they are exchanged.

    Attributes:
        changed: scopes with lines that differ; requests for them come before those for documents.
        is_cut: not every probe that can be derived is made.
        is_limited: the number of probes ended before they did.
    """

    def __init__(self, sides: tuple[SideLines, SideLines], limit: int = MAX_PROBES) -> None:
        self.sides = sides
        self.limit = limit
        self.changed: frozenset[LineScope] = frozenset()
        self.is_cut = any(lines.is_cut for lines in sides)
        self.is_limited = False
        self._known_groups: list[list[Entrance]] = []
        self._keys = changed_keys(sides)
        self._routes = [entrances(lines.side) for lines in sides]
        self._shared = SharedScopes(sides[0]), SharedScopes(sides[1])
        self._classes: dict[object, list[Entrance]] = {}
        self._followers: dict[Entrance, None] = {}
        self._skipped: set[Entrance] = set()
        self._joint_names: dict[tuple[object, ...], JointNames] = {}

    def groups(self) -> list[list[Entrance]]:
        """Return the ways in, those to the same pair of servers together."""
        if not self._known_groups:
            self._known_groups = self._groups()
        return self._known_groups

    def prefer(self, is_redirected: Callable[[Probe], bool]) -> None:
        """Put the ways whose requests are answered before those that only redirect, as to the main name of
        a host; *is_redirected* asks one request."""
        redirecting = _REDIRECTS.intersection(
            line.name for lines in self.sides for scope in lines.scopes for line in scope.lines
        )
        for routes in self.groups() if redirecting else ():
            first = next((r for r in routes if not is_redirected(r.probe(f"/{NEUTRAL}"))), None)
            if first is not None and first is not routes[0]:
                routes.remove(first)
                routes.insert(0, first)

    def group_equal_hosts(self) -> int:
        """Let one host answer for hosts that are equal to it, and return the number of the others.

        These are asked for "/" alone.
        """
        equal = EqualHosts(self.sides, self._shared)
        for routes in self.groups():
            servers = [self.server_of(lines, routes[0]) for lines in self.sides]
            if all(server.is_virtual for server in servers):
                first = self._classes.setdefault(equal.signature(servers, routes), routes)
                if first is not routes:
                    self._followers[routes[0]] = None
        step = -(-len(self._followers) // MAX_FOLLOWERS)
        probed = list(self._followers)[:: max(1, step)]
        self._skipped = set(self._followers).difference(probed)
        return len(self._followers)

    def group_as(self, other: ProbeSource) -> None:
        """Let those hosts answer for others that do so in *other*, whose sides have these lines and more."""
        keys = {other.server_keys(route): route in other._skipped for route in other._followers}
        for routes in self.groups():
            is_skipped = keys.get(self.server_keys(routes[0]))
            if is_skipped is not None:
                self._followers[routes[0]] = None
            if is_skipped:
                self._skipped.add(routes[0])

    @property
    def leaders(self) -> int:
        """The number of hosts that answer for themselves."""
        return len(self.groups()) - len(self._followers)

    def without_requests(self) -> frozenset[int]:
        """Return the scopes, by identity, that need no request: those of hosts that another one answers for,
        and .htaccess files outside of what servers with a way in map."""
        tops: tuple[set[str], set[str]] = (set(), set())
        found: set[int] = set()
        for routes in self.groups():
            is_follower = self.is_follower(routes)
            for lines, shared, known in zip(self.sides, self._shared, tops, strict=True):
                server = self.server_of(lines, routes[0])
                served = lines.served(server)
                known.update(served.tops)
                if is_follower:
                    found.update(map(id, (*lines.of_host(key_of(server)), *shared.inside(served.tops))))
        for lines, known in zip(self.sides, tops, strict=True):
            known.update(lines.mass_tops)
            above = {outer for top in known for outer in with_parents(top)}
            for scope in lines.of_host(("", 0)):
                around = scope
                while around.outer is not None and around.kind != "htaccess":
                    around = around.outer
                is_unreached = known.isdisjoint(with_parents(around.args)) and around.args not in above
                if around.kind == "htaccess" and is_unreached:
                    found.add(id(scope))
        return frozenset(found)

    @property
    def skipped(self) -> int:
        """The number of equal hosts beyond MAX_FOLLOWERS, of which nothing is asked."""
        return len(self._skipped)

    def is_follower(self, routes: list[Entrance]) -> bool:
        """Return True if another host answers for the one that *routes* lead to."""
        return routes[0] in self._followers

    def probes(self) -> Iterator[Probe]:
        """Yield all probes, each once."""
        for routes in self.groups():
            yield from self.of_group(routes)

    def of_group(self, routes: list[Entrance]) -> Iterator[Probe]:
        """Yield the probes of one pair of servers, each once."""
        if self.is_follower(routes):
            if routes[0] not in self._skipped:
                yield routes[0].probe("/")
            return
        share = max(MIN_OF_HOST, self.limit // max(1, len(self.groups()) - len(self._followers)))
        seen: set[Probe] = set()
        for probe in self._of_group(routes, share):
            if probe in seen:
                continue
            if len(seen) >= share:
                self.is_cut = True
                self.is_limited = True
                break
            seen.add(probe)
            yield probe

    def _groups(self) -> list[list[Entrance]]:
        found: dict[tuple[tuple[str, int], ...], list[Entrance]] = {}
        plain = dict.fromkeys(
            replace(route, server=("", 0))
            for routes in self._routes
            for each in routes.values()
            for route in each
        )
        for route in sorted(plain, key=_route_order):
            found.setdefault(self.server_keys(route), []).append(route)
        return list(found.values())

    def server_keys(self, route: Entrance) -> tuple[tuple[str, int], ...]:
        """Return the servers of both sides that *route* leads to, as their locations."""
        return tuple(key_of(self.server_of(lines, route)) for lines in self.sides)

    def routes_to(self, hosts: tuple[tuple[str, int], ...]) -> list[Entrance]:
        """Return an entrance to each pair of servers with the lines of *hosts*; those of the main server are
        lines of all servers.
        """
        first = [routes[0] for routes in self.groups()]
        if all(host == ("", 0) for host in hosts):
            return first
        return [route for route in first if self.server_keys(route) == hosts]

    def server_of(self, lines: SideLines, route: Entrance) -> Server:
        """Return the server of one side that *route* leads to."""
        hosts = lines.side.loaded.hosts
        named = hosts.find(route.address, route.port).by_name(route.host) if hosts is not None else None
        return named or default_server(lines.side.loaded, route.address, route.port)

    def _is_default(self, route: Entrance) -> bool:
        """Return True if *route* leads to the first virtual host of its address, on either side."""
        return any(
            self.server_of(lines, route) is default_server(lines.side.loaded, route.address, route.port)
            for lines in self.sides
        )

    # one pair of servers ----------------------------------------------------------------------------
    def _of_group(self, routes: list[Entrance], share: int) -> Iterator[Probe]:
        first = routes[0]
        others = routes[1:]
        yield first.probe("/")
        sources = self._sources(first)
        yield from self._of_changed(first, sources, share)
        own = list(islice(self._candidates(sources, only_own=True), max(_MAX_OWN, share)))
        shared = islice(self._candidates(sources, only_own=False), share)
        targets: dict[str, None] = {}
        exact: list[TargetCandidate] = []
        for candidate in chain(own, shared):
            if candidate.is_exact and not candidate.facts.is_empty:
                exact.append(candidate)
            targets.setdefault(_clean(candidate.target))
        for target in chain(targets, map(_clean, islice(self._guarded_names(sources), share // 2))):
            yield first.probe(target)
        self.is_cut = self.is_cut or any(one.is_cut for one, _, _ in sources)
        for route in routes:
            yield from map(route.probe, ("/", *route.targets))
        for candidate in exact:
            yield candidate.facts.applied(first.probe(_clean(candidate.target)))
        yield from self._with_facts(first, sources, list(targets), share)
        for target in islice(self._tree(sources), share):
            yield first.probe(target)
        target = next(_alternating([one.of_directories() for one, _, _ in sources]), "")
        if target and first.probe(target).host != first.host:
            # without a port in the Host field, ServerName or the address of the host gives that of a redirect
            yield replace(first.probe(target), host=first.host)
        yield from self._variants(first, list(targets))
        yield from self._host_fields(routes)
        for route in others:
            yield from (route.probe(target) for target in islice(targets, 4))

    def _sources(self, route: Entrance) -> Sources:
        """Return for each side the targets, the scopes of the server itself, and those of all servers."""
        found = []
        for lines, shared in zip(self.sides, self._shared, strict=True):
            server = self.server_of(lines, route)
            key = key_of(server)
            served = lines.served(server)
            own = lines.of_host(key) if key != ("", 0) else []
            own = sorted(own, key=lambda scope: scope.kind == "server")  # a limit cuts lines before sections
            if key != ("", 0):
                own += shared.inside(served.tops)
            others = [*shared.around(served.tops), *shared.general]
            found.append((Targets(lines, served, self._keys), own, others if own else lines.of_host(("", 0))))
        return found

    def _of_changed(self, route: Entrance, sources: Sources, share: int) -> Iterator[Probe]:
        """Yield the requests for the sections with lines that differ and for their lines, none for documents;
        those of the server itself first, and of all servers at most half of the *share*."""
        changed = [
            (targets, [x for x in own if x in self.changed], [x for x in shared if x in self.changed])
            for targets, own, shared in sources
        ]
        names: dict[str, None] = {}
        rows = (
            (share, [targets.of_scopes(own, with_documents=False) for targets, own, _ in changed]),
            (share // 2, [targets.of_scopes(shared, with_documents=False) for targets, _, shared in changed]),
        )
        for count, found in rows:
            for candidate in islice(_alternating(found), count):
                target = _clean(candidate.target)
                names.setdefault(target)
                yield candidate.facts.applied(route.probe(target))
        yield from islice(self._with_facts(route, changed, list(names), share), share // 2)

    @staticmethod
    def _candidates(sources: Sources, *, only_own: bool) -> Iterator[TargetCandidate]:
        found = [targets.of_scopes(own if only_own else shared) for targets, own, shared in sources]
        yield from _alternating(found)

    def _guarded_names(self, sources: Sources) -> Iterator[str]:
        """Yield names of <Files> sections about access in the directories of other sections about access:
        sections that no existing file brings together decide about one that may come."""
        scopes = [[*own, *shared] for _targets, own, shared in sources]
        patterns = [one for side in scopes for one in name_patterns(side)]
        key = tuple(one.key for one in patterns)
        if key not in self._joint_names:
            self._joint_names[key] = JointNames(patterns)
        joint = self._joint_names[key]
        yield from _alternating(
            [source[0].of_guarded_names(side, joint) for source, side in zip(sources, scopes, strict=True)]
        )

    @staticmethod
    def _with_facts(
        route: Entrance,
        sources: Sources,
        targets: list[str],
        share: int,
    ) -> Iterator[Probe]:
        seen: dict[tuple[Facts, tuple[str, ...]], None] = {}
        for source, own, shared in sources:
            for entry in islice(source.facts_of(chain(own, shared)), share):
                seen.setdefault(entry)
        for facts, bases in seen:
            if facts.target:
                yield facts.applied(route.probe(facts.target))
                continue
            fitting = [t for t in targets if any(t.startswith(base) for base in bases)] or list(bases)
            for target in _spread(fitting):
                yield facts.applied(route.probe(target))

    @staticmethod
    def _tree(sources: Sources) -> Iterator[str]:
        yield from _alternating([source.of_tree(_MAX_OF_TREE) for source, _, _ in sources])

    def _host_fields(self, routes: list[Entrance]) -> Iterator[Probe]:
        """Yield Host fields that are empty or wrong: the default server of each address refuses them.

        A port of TLS gets one client without TLS, which its default server refuses.
        """
        places = {(route.address, route.port): route for route in reversed(routes)}
        for route in list(places.values())[:_MAX_PLACES]:
            if route.is_tls:
                if self._is_default(route):
                    yield replace(route.probe("/"), tls=None)
                continue
            for host in ("", f"{route.host}:", "a b"):
                yield replace(route.probe("/"), host="", fields=(("Host", host),))

    @staticmethod
    def _variants(route: Entrance, targets: list[str]) -> Iterator[Probe]:
        """Yield other methods and protocols with some targets."""
        some = _spread(["/", f"/{NEUTRAL}", *targets])
        for method in _METHODS:
            yield from (replace(route.probe(target), method=method) for target in some)
        yield replace(route.probe("/"), host="", protocol="HTTP/1.0", tls=route.nameless_tls)
        yield replace(route.probe("/"), fields=(("Accept-Encoding", "gzip"),))
        yield replace(route.probe("//"), method="GET")
        yield route.probe("/%2e%2e/")
        yield route.probe(f"/{NEUTRAL}%2fx")


def _route_order(route: Entrance) -> tuple[int, str, bool, str, bool]:
    """Return the key of the order of routes: names of the text come before one that no server has."""
    return (route.port, route.address, route.host == UNKNOWN, route.host, route.is_tls)


def _alternating(sources: list[Iterator[T]]) -> Iterator[T]:
    """Yield from all sources in turn, so that a limit cuts both sides alike."""
    missing = object()
    for row in zip_longest(*sources, fillvalue=missing):
        for value in row:
            if value is not missing:
                yield value  # type: ignore[misc]


def _clean(target: str) -> str:
    """Return *target* with what a request line cannot have escaped."""
    if all(char in _VISIBLE for char in target) and "#" not in target:
        return target
    path, mark, query = target.partition("?")
    return escape_uri(path) + mark + escape_uri(query)


def _spread(targets: list[str]) -> list[str]:
    """Return up to `_MAX_WITH_FACTS` of *targets*, from everywhere in the list."""
    step = max(1, len(targets) // _MAX_WITH_FACTS)
    return targets[::step][:_MAX_WITH_FACTS]
