"""What 2.2 has merged at the end of a chain, as text: which Order, Allow and Deny, which Require lines and which Satisfy are in force, by method.

Fields are merged one by one in 2.2: the record of Order, Allow and Deny as a whole, the Require lines as a whole, Satisfy method by method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from whimbrel.access.layers import Line
from whimbrel.records import dataclass, field
from whimbrel.syntax.words import getword

RECORD: Final = frozenset({"order", "allow", "deny"})
CONTROL: Final = RECORD | {"satisfy", "require", "limit", "limitexcept", "requireall", "requireany", "requirenone", "authmerging"}
GONE: Final = frozenset({
    "authzldapauthoritative", "authzdbdauthoritative", "authzdbmauthoritative", "authzgroupfileauthoritative", "authzuserauthoritative",
    "authzownerauthoritative", "authzdefaultauthoritative", "authdefaultauthoritative",
})
OTHERS: Final = ""
"""The class of all methods that no <Limit> names."""


@dataclass(frozen=True, slots=True)
class Methods:
    """The methods of a <Limit> (*inverted*: of a <LimitExcept>); HEAD is GET."""

    names: frozenset[str]
    inverted: bool = False

    def holds(self, name: str) -> bool:
        """Whether the method, or the class `OTHERS`, is among them."""
        return (name in self.names) is not self.inverted


EVERY: Final = Methods(frozenset(), inverted=True)


@dataclass(frozen=True, slots=True)
class Said:
    """One directive outside of containers, with its methods."""

    name: str
    args: str
    methods: Methods


@dataclass(slots=True)
class Rules:
    """What holds for one class of methods; *satisfy* is "any", "all" or ""."""

    order: str = "deny,allow"
    allows: list[str] = field(default_factory=list)
    denies: list[str] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)
    satisfy: str = ""


def methods_of(line: Line) -> Methods:
    """Those of a container."""
    names = frozenset("GET" if word == "HEAD" else word for word in words(line.args))
    return Methods(names, line.name == "limitexcept")


def words(text: str) -> list[str]:
    """The arguments as httpd's words."""
    found, at = [], 0
    while at < len(text):
        word, at = getword(text, at)
        found.append(word)
    return found


def said(lines: Iterable[Line], methods: Methods = EVERY) -> Iterator[Said]:
    """The directives of a section, those of containers included."""
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            yield from said(line.children, methods_of(line))
        elif line.is_container:
            yield from said(line.children, methods)
        else:
            yield Said(line.name, line.args, methods)


def says(lines: Iterable[Line], names: Iterable[str]) -> bool:
    """Whether one of the directives *names* is among the lines or in their containers."""
    wanted = frozenset(names)
    return any(line.name in wanted for line in said(lines))


def merged(chain: Sequence[tuple[Line, ...]]) -> dict[str, Rules]:
    """The rules by class of methods: one for each method that a container of the chain names, and `OTHERS`."""
    every = [list(said(lines)) for lines in chain]
    classes = {name for lines in every for one in lines for name in one.methods.names} | {OTHERS}
    return {name: _rules(every, name) for name in sorted(classes)}


def _rules(chain: list[list[Said]], name: str) -> Rules:
    rules = Rules()
    for lines in chain:
        if any(one.name in RECORD for one in lines):
            rules.order, rules.allows, rules.denies = "deny,allow", [], []
        if any(one.name == "require" for one in lines):
            rules.requires = []
        for one in lines:
            if one.methods.holds(name):
                _apply(rules, one)
    return rules


def _apply(rules: Rules, one: Said) -> None:
    if one.name == "order":
        rules.order = "".join(one.args.strip().strip('"').lower().split())  # a blank behind the comma: both versions refuse it
    elif one.name in ("allow", "deny"):
        (rules.allows if one.name == "allow" else rules.denies).extend(words(one.args)[1:])
    elif one.name == "require":
        rules.requires.append(one.args)
    elif one.name == "satisfy":
        rules.satisfy = one.args.strip().strip('"').lower()
