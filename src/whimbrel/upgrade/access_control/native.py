"""Proposals of native Require lines for the whole decision that 2.2 merged for a section.

The result is a proposal; `access` decides whether both versions agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from whimbrel.access.layers import AccessLine
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.net import InvalidNetwork, parse_network
from whimbrel.upgrade.access_control.effective import (
    OTHER_METHODS,
    EffectiveRules,
    flatten_directives,
    merge_effective,
    split_args,
)
from whimbrel.upgrade.access_control.trees import (
    DENIED,
    GRANTED,
    RequireLeaf,
    RequireNode,
    RequireTree,
    all_of,
    any_of,
    negate,
    to_lines,
)

_MODULES: Final = {
    "user": "authz_user",
    "valid-user": "authz_user",
    "group": "authz_groupfile",
    "file-group": "authz_groupfile",
    "file-owner": "authz_owner",
    "dbm-group": "authz_dbm",
    "dbm-file-group": "authz_dbm",
}
NOBODY: Final = RequireLeaf("user")
"""A line that requires a password and admits no user."""
ERROR_500: Final = RequireLeaf("internal-server-error")
"""A line that answers 500 to each user with a valid password, as 2.2 does for unknown words of Require; an
alias, see `ALIAS`."""
ALIAS: Final = AccessLine(
    "authzprovideralias",
    "expr internal-server-error \"-n %{REMOTE_USER} && -n file('/internal-server-error')\"",
)
"""The definition of the alias: an expression that fails once there is a user. .htaccess files cannot contain
it."""
MAX_CHOICES: Final = 24
"""Proposals by method, of which each costs a comparison of both versions."""
_MAX_VARIED: Final = 3
"""Lists of Require lines of which more than the likeliest decision is proposed."""


def needs_alias(lines: Sequence[AccessLine]) -> bool:
    """Return True if one of *lines* uses the alias."""
    return any(line.args == ERROR_500.text for line in flatten_directives(lines))


@dataclass(frozen=True, slots=True)
class AuthzContext:
    """The surroundings that decide which module owns the words of Require.

    *modules* are in load order; the flags tell which kinds of group files the chain names.
    """

    modules: tuple[str, ...]
    group_file: bool = True
    dbm_file: bool = False


# hosts ----------------------------------------------------------------------------------------------
def host_tree(rules: EffectiveRules) -> RequireTree:
    """Return the decision of Order, Allow and Deny as a tree."""
    allowed = _list(rules.allows)
    denied = _list(rules.denies)
    if rules.order == "deny,allow":
        return any_of([allowed, negate(denied)])
    return all_of([allowed, negate(denied)])


def _list(entries: Sequence[str]) -> RequireTree:
    return any_of([_entry(word) for word in entries])


def _entry(word: str) -> RequireTree:
    low = word.lower()
    if low == "all":
        return GRANTED
    if low.startswith("env=!"):
        return RequireLeaf("env", _quoted(word[5:]), negated=True)
    if low.startswith("env="):
        return RequireLeaf("env", _quoted(word[4:])) if word[4:] else RequireLeaf("env")
    return RequireLeaf("ip", word) if _is_network(word) else RequireLeaf("host", word)


def _is_network(word: str) -> bool:
    address, slash, mask = word.partition("/")
    try:
        parse_network(address, mask if slash else None)
    except InvalidNetwork:
        return False
    return True


def _quoted(word: str) -> str:
    return f'"{word}"' if not word or any(c in " \t'\"" for c in word) else word


# users ----------------------------------------------------------------------------------------------
def user_tree(requires: Sequence[str], authz_context: AuthzContext) -> Iterator[RequireTree]:
    """Yield the possible decisions of the Require lines, the likeliest first.

    2.2 runs module after module, and the first one that knows a word decides.
    """
    leaves = [leaf for text in requires for leaf in _require(text, authz_context)]
    yield any_of(leaves) if leaves else NOBODY
    families = _families(leaves, authz_context)
    for family in families:
        if len(families) > 1:
            yield any_of(family)
    for family in families:
        last = next((at for at, leaf in enumerate(family) if leaf.kind.endswith("file-group")), len(family))
        if last + 1 < len(family):  # 2.2 stops if the group of the file is not one of the user's groups
            yield any_of(family[: last + 1])
    if leaves:
        yield NOBODY
    yield any_of([*leaves, ERROR_500])
    yield ERROR_500
    for family in families:
        if len(families) > 1:
            yield any_of([*family, ERROR_500])


def _families(leaves: list[RequireLeaf], authz_context: AuthzContext) -> list[list[RequireLeaf]]:
    """Return the lines by the module that owns them, in the order in which 2.2 runs the modules."""
    by_module: dict[str, list[RequireLeaf]] = {}
    for leaf in leaves:
        by_module.setdefault(_MODULES.get(leaf.kind, leaf.kind), []).append(leaf)
    order = [name.removesuffix("_module") for name in authz_context.modules]
    return [
        by_module[name]
        for name in sorted(by_module, key=lambda name: order.index(name) if name in order else -1)
    ]


def _require(text: str, authz_context: AuthzContext) -> list[RequireLeaf]:
    """Return the arguments of a line in the form of 2.4; words that no module of 2.2 knows are omitted,
    because 2.2 ignores them."""
    name, _, rest = text.strip().partition(" ")
    kind = name.lower()
    given = split_args(rest)
    if name == "valid-user":
        return [RequireLeaf("valid-user")]
    if name == "user":
        return [RequireLeaf("user", _quoted_words(given))] if given else []
    if kind == "group":
        return (
            [RequireLeaf(k, _quoted_words(given)) for k in _group_kinds(authz_context, "group", "dbm-group")]
            if given
            else []
        )
    if kind == "file-group":
        return [RequireLeaf(k) for k in _group_kinds(authz_context, "file-group", "dbm-file-group")]
    if kind == "file-owner":
        return [RequireLeaf("file-owner")]
    if kind.startswith("ldap-"):
        return [RequireLeaf(kind, rest.strip())]
    return []


def _group_kinds(authz_context: AuthzContext, by_file: str, by_dbm: str) -> list[str]:
    return [by_file] * authz_context.group_file + [by_dbm] * authz_context.dbm_file or [by_file]


def _quoted_words(words_given: list[str]) -> str:
    return " ".join(
        f'"{word}"' if not word or any(c in " \t'" for c in word) else word for word in words_given
    )


# both -----------------------------------------------------------------------------------------------
def propose(
    chain: Sequence[tuple[AccessLine, ...]], authz_context: AuthzContext
) -> Iterator[tuple[AccessLine, ...]]:
    """Yield proposals for the last section of *chain*, the simplest first."""
    state = merge_effective(chain)
    proposed: set[tuple[AccessLine, ...]] = set()
    for choice in user_choices(state, authz_context):
        by_class = {name: _decision(rules, choice) for name, rules in state.items()}
        for lines in by_method(by_class):
            if lines not in proposed:
                proposed.add(lines)
                yield lines


def user_choices(
    state: dict[str, EffectiveRules], authz_context: AuthzContext
) -> Iterator[dict[tuple[str, ...], RequireTree]]:
    """Yield a decision of `user_tree` for each list of Require lines: methods with other lines may belong to
    other modules. All likeliest ones are first, then those where few of them are replaced by later ones.
    """
    lists = list(dict.fromkeys(tuple(rules.requires) for rules in state.values() if rules.requires))
    trees = [list(user_tree(requires, authz_context)) for requires in lists]
    counts = [len(tree) if at < _MAX_VARIED else 1 for at, tree in enumerate(trees)]
    for place in sorted(product(*map(range, counts)), key=sum)[:MAX_CHOICES]:
        yield {requires: tree[at] for requires, tree, at in zip(lists, trees, place, strict=True)}


def _decision(rules: EffectiveRules, choice: dict[tuple[str, ...], RequireTree]) -> RequireTree:
    by_host = host_tree(rules)
    if not rules.requires:
        return by_host
    by_user = choice[tuple(rules.requires)]
    return any_of([by_host, by_user]) if rules.satisfy == "any" else all_of([by_host, by_user])


def by_method(state: dict[str, RequireTree]) -> Iterator[tuple[AccessLine, ...]]:
    """Yield the decisions of all classes of methods as one."""
    if len(set(state.values())) == 1:
        yield to_lines(state[OTHER_METHODS])
        return
    yield from _limited(state)
    groups: dict[RequireTree, list[str]] = {}
    for name, tree in state.items():
        if name != OTHER_METHODS:
            groups.setdefault(tree, []).append(name)
    named = " ".join(name for name in state if name != OTHER_METHODS)
    same = groups.get(state[OTHER_METHODS], [])
    different = [name for name in state if name not in ("", *same)] or named.split()
    parts = [
        all_of([RequireLeaf("method", " ".join(names)), tree])
        for tree, names in groups.items()
        if tree != state[OTHER_METHODS]
    ]
    parts.append(all_of([RequireLeaf("method", " ".join(different), negated=True), state[OTHER_METHODS]]))
    yield to_lines(any_of(parts))


def _limited(state: dict[str, RequireTree]) -> Iterator[tuple[AccessLine, ...]]:
    """Yield the lines in a <Limit> or <LimitExcept>, if all other methods are unrestricted."""
    free = [name for name, tree in state.items() if tree == GRANTED]
    bound = [name for name in state if name not in free]
    if not free or len({state[name] for name in bound}) != 1:
        return
    inner = to_lines(state[bound[0]])
    if OTHER_METHODS in bound:
        yield (AccessLine("limitexcept", " ".join(free), None, inner),)
    else:
        yield (AccessLine("limit", " ".join(bound), None, inner),)


__all__ = [
    "DENIED",
    "ERROR_500",
    "GRANTED",
    "NOBODY",
    "AuthzContext",
    "RequireNode",
    "host_tree",
    "propose",
    "user_tree",
]
