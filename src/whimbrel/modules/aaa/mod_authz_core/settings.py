"""The tree of Require lines and containers, and its merging with an outer section's tree (AuthMerging)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.static_typing import Any, Final
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, AuthzProvider
from whimbrel.registry.module import Reads
from whimbrel.registry.settings import UNSET, setting

# by: all must hold, negated
_CONTAINERS: Final = {
    (True, False): "All",
    (True, True): "NotAll",
    (False, False): "Any",
    (False, True): "None",
}


@dataclass(slots=True, eq=False)
class Rule:
    """A Require line (*provider* set) or a container of rules (*op* "and" or "or").

    Attributes:
        methods: the mask of methods that the rule applies to
        merged: the container was created by AuthMerging
        place: location of the line
        runs: the result of `join_ahead` for a container's rules; None before it ran
    """

    name: str = ""
    args: str = ""
    provider: AuthzProvider | None = None
    parsed: Any = None
    negate: bool = False
    methods: int = 0
    op: str = "or"
    merged: bool = False
    place: SourceLocation | None = None
    children: Sequence[Rule] = ()
    runs: list[Rule] | None = None

    def __str__(self) -> str:
        """Return the rule as httpd's messages show it."""
        if self.provider is not None:
            return f"Require {'not ' if self.negate else ''}{self.name} {self.args}"
        word = _CONTAINERS[self.op == "and", self.negate]
        return f"AuthMerging {word}" if self.merged else f"<Require{word}>"

    def add(self, child: Rule) -> None:
        """Append *child*; the container applies to its methods as well."""
        if isinstance(self.children, list):
            self.children.append(child)
        else:
            self.children = [*self.children, child]
        self.methods |= child.methods


def joined(container: Rule) -> list[Rule]:
    """Return a container's rules, adjacent ones joined: many Require ip become one search."""
    out: list[Rule] = []
    for _, run in groupby(container.children, key=lambda rule: (rule.negate, rule.methods, rule.provider)):
        rules = list(run)
        join = rules[0].provider.joined if rules[0].provider is not None else None
        if join is None or len(rules) == 1 or rules[0].negate != (container.op == "and"):
            out += rules
        else:
            out.append(replace(rules[0], parsed=join([rule.parsed for rule in rules])))
    return out


def join_ahead(rule: Rule) -> None:
    """Join adjacent rules in all containers of a tree, once for all processes that evaluate it."""
    if rule.provider is None:
        rule.runs = joined(rule)
        for child in rule.children:
            join_ahead(child)


EVERYBODY: Final = Rule(
    "all",
    "granted",
    AuthzProvider(lambda _scope, _args, _parsed: AuthzCheck(lambda r: Authz.GRANTED, Reads.NOTHING)),
    methods=-1,
)


@dataclass(slots=True)
class AuthzCoreDirConfig:
    """Per-directory settings.

    Attributes:
        section: the tree
        op: the argument of AuthMerging ("off", "and", "or")
        is_listed: the server's settings list the record
        opened: (guide dialect) the section has its own Order, Allow or Deny
    """

    section: Rule | None = setting(None)
    op: str = setting("")
    forbidden: bool = setting(False)
    is_listed: bool = setting(False)
    opened: bool = setting(False)

    def merge_onto(self, base: AuthzCoreDirConfig) -> AuthzCoreDirConfig:
        """Return httpd's merge of this section's record over the merged records before it."""
        low = _tree(base)
        high = _tree(self)
        op = "" if self.op is UNSET else self.op
        forbidden = base.forbidden if self.forbidden is UNSET else self.forbidden
        if not op and high is None and self.opened is True:
            return AuthzCoreDirConfig(section=Rule(methods=-1, children=[EVERYBODY]), forbidden=forbidden)
        if not op and high is None and low is not None:
            return AuthzCoreDirConfig(section=low, op=base.op, forbidden=forbidden)
        return AuthzCoreDirConfig(section=_merged(low, high, op), op=self.op, forbidden=forbidden)


def _tree(record: AuthzCoreDirConfig) -> Rule | None:
    return None if record.section is UNSET else record.section


def _merged(low: Rule | None, high: Rule | None, op: str) -> Rule | None:
    if op not in ("and", "or"):
        return high
    if low is None or high is None:
        return high or low
    return Rule(op=op, merged=True, methods=low.methods | high.methods, children=[low, high])
