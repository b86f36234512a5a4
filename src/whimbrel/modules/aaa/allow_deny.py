"""Order, Allow and Deny: directives of mod_authz_host in 2.2, of mod_access_compat in 2.4.

Manual: mod/mod_access_compat.html.  A section's record replaces the outer one as a whole, in both versions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any, Final, TypeVar

from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.net import InvalidNetwork, Network, Networks, parse_network
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.engine.explain.decisions import NOT_EVALUATED, OTHER_METHODS, Decision, Tracer, trace_of
from whimbrel.engine.request import Request
from whimbrel.modules.support.auth.auth_api import environment
from whimbrel.modules.support.reverse_dns import confirmed_name, in_domain
from whimbrel.registry.module import Reads
from whimbrel.registry.phases import HookStatus
from whimbrel.registry.settings import UNSET, Unmerged, setting

R = TypeVar("R")
METHODS: Final = 64
DENY_THEN_ALLOW = "deny,allow"
ALLOW_THEN_DENY = "allow,deny"
MUTUAL_FAILURE = "mutual-failure"


@dataclass(frozen=True, slots=True)
class Entry:
    """One argument of Allow or Deny.

    Attributes:
        kind: all, ip, host, env or nenv
        methods: the mask of <Limit> (-1: all)
        word: the argument as written at *place*
    """

    methods: int
    kind: str
    value: Any = None
    word: str = ""
    place: SourceLocation | None = None


@dataclass(slots=True)
class AllowDenyDirConfig(Unmerged):
    """Per-directory settings; *order* and *satisfy* by method number."""

    order: dict[int, str] = setting(make=dict)
    allows: list[Entry] = setting(make=list)
    denies: list[Entry] = setting(make=list)
    satisfy: dict[int, str] = setting(make=dict)
    order_places: dict[int, SourceLocation | None] = setting(make=dict)


def by_method(cmd: Command, known: Any, value: R) -> dict[int, R]:
    """Return *known* with *value* for every method that the command is limited to."""
    old = {} if known is UNSET else known
    return {**old, **{number: value for number in range(METHODS) if cmd.methods >> number & 1}}


def set_order(cmd: Command, record: AllowDenyDirConfig, words: list[str]) -> None:
    """Order: the list evaluated last, per method."""
    order = words[0].lower()
    if order not in (DENY_THEN_ALLOW, ALLOW_THEN_DENY, MUTUAL_FAILURE):
        raise ConfigError("unknown order")
    record.order = by_method(cmd, record.order, order)
    record.order_places = by_method(cmd, record.order_places, cmd.place)


def add_entry(name: str) -> Callable[[Command, AllowDenyDirConfig, list[str]], None]:
    """Return the setter of Allow or Deny, which appends to the list *name*."""

    def apply(cmd: Command, record: AllowDenyDirConfig, words: list[str]) -> None:
        if words[0].lower() != "from":
            raise ConfigError("allow and deny must be followed by 'from'")
        new_entry = replace(entry(cmd, words[1]), word=words[1], place=cmd.place)
        if getattr(record, name) is UNSET:
            setattr(record, name, [])
        getattr(record, name).append(new_entry)

    return apply


def entry(cmd: Command, where: str) -> Entry:
    """Parse one argument after ``from``."""
    low = where.lower()
    if low.startswith("env=!"):
        return Entry(cmd.methods, "nenv", where[5:])
    if low.startswith("env="):
        return Entry(cmd.methods, "env", where[4:])
    if low == "all":
        return Entry(cmd.methods, "all")
    network = _network(where)
    if network is not None:
        return Entry(cmd.methods, "ip", network)
    if "#" in where and not cmd.dialect.access_in_core:
        raise ConfigError("No comments are allowed here")
    return Entry(cmd.methods, "host", where)


def _network(where: str) -> Network | None:
    """Return the network, None for a host name; an argument with a slash is always a network."""
    address, slash, mask = where.partition("/")
    try:
        return parse_network(address, mask if slash else None)
    except InvalidNetwork as problem:
        if problem.reason:
            raise ConfigError(problem.reason) from None
        if slash:
            raise ConfigError("An IP address was expected") from None
        return None


# evaluation ---------------------------------------------------------------------------------------
Test = Callable[[Request], bool]


class Entries:
    """One list, compiled per method: tests in the order of the entries, adjacent networks as one test.

    A test of None needs the client's name: *hosts* then holds the names.
    """

    __slots__ = ("_by_method", "_entries", "waits")

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries
        self._by_method: dict[int, list[tuple[Test | None, list[str]]]] = {}
        self.waits = any(e.kind == "host" for e in entries)

    def tests(self, method: int) -> list[tuple[Test | None, list[str]]]:
        """Return the compiled list for a method number."""
        compiled = self._by_method.get(method)
        if compiled is None:
            mine = [e for e in self._entries if e.methods >> method & 1]
            compiled = [
                _test(kind, [e.value for e in run]) for kind, run in groupby(mine, key=lambda e: e.kind)
            ]
            self._by_method[method] = compiled
        return compiled

    def has(self, r: Request) -> bool:
        """Return True if an entry matches the request; for lists without host names."""
        return any(test is not None and test(r) for test, _ in self.tests(r.method_number))

    async def has_waiting(self, r: Request) -> bool:
        """Return True if an entry matches; a name is looked up only if no earlier entry matched."""
        for test, hosts in self.tests(r.method_number):
            if test is not None:
                if test(r):
                    return True
                continue
            name = await confirmed_name(r)
            if name is not None and any(in_domain(host, name) for host in hosts):
                return True
        return False


def _test(kind: str, values: list[Any]) -> tuple[Test | None, list[str]]:
    if kind == "all":
        return (lambda r: True), []
    if kind == "ip":
        networks = Networks(values)
        return (lambda r: r.client_in(networks)), []
    if kind == "env":
        return (lambda r: any(environment(r, name) is not None for name in values)), []
    if kind == "nenv":
        return (lambda r: any(environment(r, name) is None for name in values)), []
    return None, values


# tracing ------------------------------------------------------------------------------------------
async def traced_lists(r: Request, record: AllowDenyDirConfig) -> tuple[Decision, ...]:
    """Return Order and the two lists in the order of evaluation, each with the entry that matched."""
    number = r.method_number
    order = record.order.get(number, DENY_THEN_ALLOW)
    lists = [
        await _traced_list(r, verb, entries)
        for verb, entries in (("Deny", record.denies), ("Allow", record.allows))
    ]
    place = record.order_places.get(number)
    return (
        Decision(f"Order {order}", "applies", place),
        *(lists if order == DENY_THEN_ALLOW else reversed(lists)),
    )


async def _traced_list(r: Request, verb: str, entries: list[Entry]) -> Decision:
    steps = []
    for one in entries:
        if not one.methods >> r.method_number & 1:
            verdict = OTHER_METHODS
        else:
            verdict = "matches" if await Entries([one]).has_waiting(r) else "does not match"
        steps.append(Decision(f"{verb} from {one.word}", verdict, one.place))
        if verdict == "matches":
            break
    matched = bool(steps) and steps[-1].verdict == "matches"
    rest = (Decision(f"{verb} from {one.word}", NOT_EVALUATED, one.place) for one in entries[len(steps) :])
    return Decision(verb, "matches" if matched else "does not match", None, "", (*steps, *rest))


def traced_check(
    record: AllowDenyDirConfig, check: Callable[[Request], Any], watch: Tracer | None, waits: bool
) -> tuple[Any, bool]:
    """Return *check* and whether it is async; with a *watch* it first records `traced_lists`."""
    if watch is None:
        return check, waits

    async def telling(r: Request) -> HookStatus:
        for decision in await traced_lists(r, record):
            trace_of(r).add(decision)
        answer: HookStatus = await check(r) if waits else check(r)
        return answer

    return telling, True


def compile_denied(record: AllowDenyDirConfig) -> tuple[Any, Reads, bool]:
    """Return the function that decides if a request is denied, what it reads, and whether it is async."""
    allows = Entries(record.allows)
    denies = Entries(record.denies)
    order = record.order
    kinds = {e.kind for e in record.allows + record.denies}
    reads = Reads.FIELDS | (Reads.CLIENT | Reads.UNCACHEABLE if "host" in kinds else Reads.NOTHING)
    if not (allows.waits or denies.waits):
        return (
            (
                lambda r: _denied(
                    order.get(r.method_number, DENY_THEN_ALLOW), lambda: allows.has(r), lambda: denies.has(r)
                )
            ),
            reads,
            False,
        )

    async def denied(r: Request) -> bool:
        # Both lists are evaluated, whatever the first one decides: the access log shows the looked-up name.
        kind = order.get(r.method_number, DENY_THEN_ALLOW)
        if kind == DENY_THEN_ALLOW:
            refused = await denies.has_waiting(r)
            return not await allows.has_waiting(r) and refused
        allowed = await allows.has_waiting(r)
        if kind == MUTUAL_FAILURE and not allowed:
            return True
        return await denies.has_waiting(r) or not allowed

    return denied, reads, True


def _denied(order: str, allowed: Callable[[], bool], refused: Callable[[], bool]) -> bool:
    if order == DENY_THEN_ALLOW:
        return refused() and not allowed()
    return not allowed() or refused()


def allow_deny_setters(
    also: Callable[[Command, AllowDenyDirConfig], None] | None = None,
) -> dict[str, Setter]:
    """Return the setters of the three directives; *also* is called after each."""

    def then(setter: Setter) -> Setter:
        def apply(cmd: Command, record: AllowDenyDirConfig, words: list[str]) -> None:
            setter(cmd, record, words)
            if also is not None:
                also(cmd, record)

        return apply

    return {"order": then(set_order), "allow": then(add_entry("allows")), "deny": then(add_entry("denies"))}
