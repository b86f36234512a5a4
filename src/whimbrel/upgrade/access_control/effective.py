"""The settings that 2.2 has merged at the end of a chain, as text: Order, Allow, Deny, Require and Satisfy by
method.

2.2 merges each field separately: Order, Allow and Deny as one record, the Require lines as one list, Satisfy
by method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from whimbrel.access.layers import AccessLine
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.directives.tokens import words

RECORD: Final = frozenset({"order", "allow", "deny"})
DECIDING: Final = RECORD | {"require", "satisfy"}
CONTROL: Final = RECORD | {
    "satisfy",
    "require",
    "limit",
    "limitexcept",
    "requireall",
    "requireany",
    "requirenone",
    "authmerging",
}
GONE: Final = frozenset(
    {
        "authzldapauthoritative",
        "authzdbdauthoritative",
        "authzdbmauthoritative",
        "authzgroupfileauthoritative",
        "authzuserauthoritative",
        "authzownerauthoritative",
        "authzdefaultauthoritative",
        "authdefaultauthoritative",
    }
)
OTHER_METHODS: Final = ""
"""The class of all methods that no <Limit> names."""


@dataclass(frozen=True, slots=True)
class MethodSet:
    """The methods of a <Limit> (*inverted*: of a <LimitExcept>); HEAD is GET."""

    names: frozenset[str]
    inverted: bool = False

    def contains(self, name: str) -> bool:
        """Return True if the set contains the method, or the class `OTHER_METHODS`."""
        return (name in self.names) is not self.inverted


ALL_METHODS: Final = MethodSet(frozenset(), inverted=True)


@dataclass(frozen=True, slots=True)
class EffectiveDirective:
    """One directive outside of containers, with its methods."""

    name: str
    args: str
    methods: MethodSet


@dataclass(slots=True)
class EffectiveRules:
    """The settings for one class of methods; *satisfy* is "any", "all" or ""."""

    order: str = "deny,allow"
    allows: list[str] = field(default_factory=list)
    denies: list[str] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)
    satisfy: str = ""


def methods_of(line: AccessLine) -> MethodSet:
    """Return the methods of a container."""
    names = frozenset("GET" if word == "HEAD" else word for word in split_args(line.args))
    return MethodSet(names, line.name == "limitexcept")


def split_args(text: str) -> list[str]:
    """Return the arguments as words, split as httpd does."""
    return words(text) or [""] * bool(text)  # blanks alone are an empty word


def flatten_directives(
    lines: Iterable[AccessLine], methods: MethodSet = ALL_METHODS
) -> Iterator[EffectiveDirective]:
    """Yield the directives of a section, those of containers included."""
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            yield from flatten_directives(line.children, methods_of(line))
        elif line.is_container:
            yield from flatten_directives(line.children, methods)
        else:
            yield EffectiveDirective(line.name, line.args, methods)


LIMITS: Final = {"limit": "Limit", "limitexcept": "LimitExcept"}


def idle_limits(lines: Iterable[AccessLine], control: Iterable[AccessLine]) -> list[tuple[str, AccessLine]]:
    """Return the <Limit> and <LimitExcept> of *lines*, with their tags, if *control*, a text that decides
    alike, asks for no method; none else.
    """
    asks = (
        line.methods != ALL_METHODS or "method" in line.args.lower() for line in flatten_directives(control)
    )
    limits = [line for line in lines if line.name in LIMITS]
    if not limits or any(asks):
        return []
    return [(f"<{LIMITS[line.name]} {line.args.strip()}>", line) for line in limits]


def has_directive(lines: Iterable[AccessLine], names: Iterable[str]) -> bool:
    """Return True if one of the directives *names* is among the lines or in their containers."""
    wanted_names = frozenset(names)
    return any(
        has_directive(line.children, wanted_names) if line.is_container else line.name in wanted_names
        for line in lines
    )


def merge_effective(chain: Sequence[tuple[AccessLine, ...]]) -> dict[str, EffectiveRules]:
    """Return the settings by class of methods: each method that a container of the chain names, and
    `OTHER_METHODS`."""
    by_section = [list(flatten_directives(lines)) for lines in chain]
    classes = {name for lines in by_section for directive in lines for name in directive.methods.names} | {
        OTHER_METHODS
    }
    return {name: _effective_rules(by_section, name) for name in sorted(classes)}


def _effective_rules(chain: list[list[EffectiveDirective]], name: str) -> EffectiveRules:
    rules = EffectiveRules()
    for lines in chain:
        if any(directive.name in RECORD for directive in lines):
            rules.order = "deny,allow"
            rules.allows = []
            rules.denies = []
        if any(directive.name == "require" for directive in lines):
            rules.requires = []
        for directive in lines:
            if directive.methods.contains(name):
                _apply(rules, directive)
    return rules


def _apply(rules: EffectiveRules, directive: EffectiveDirective) -> None:
    if directive.name == "order":
        # a blank after the comma: both versions refuse it
        rules.order = "".join(directive.args.strip().strip('"').lower().split())
    elif directive.name in ("allow", "deny"):
        (rules.allows if directive.name == "allow" else rules.denies).extend(split_args(directive.args)[1:])
    elif directive.name == "require":
        rules.requires.append(directive.args)
    elif directive.name == "satisfy":
        rules.satisfy = directive.args.strip().strip('"').lower()
