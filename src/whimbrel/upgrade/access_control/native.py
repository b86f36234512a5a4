"""A section's whole decision as Require lines: what its chain has merged in 2.2, said in 2.4's words.

What is built here is a proposal; whether it decides the same is worked out by `access`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.access.layers import Line
from whimbrel.modules.networks import BadAddress, parse_network
from whimbrel.records import dataclass
from whimbrel.upgrade.access_control.states import OTHERS, Rules, merged, said, words
from whimbrel.upgrade.access_control.trees import DENIED, GRANTED, Leaf, Node, Tree, all_of, any_of, inverted, written

_MODULES: Final = {
    "user": "authz_user", "valid-user": "authz_user", "group": "authz_groupfile", "file-group": "authz_groupfile", "file-owner": "authz_owner",
    "dbm-group": "authz_dbm", "dbm-file-group": "authz_dbm",
}
NOBODY: Final = Leaf("user")
"""Asks for a password and lets nobody in."""
BROKEN: Final = Leaf("internal-server-error")
"""Answers 500 to whoever has given a right password, as 2.2 does where no module knows the words of Require; an alias, see `ALIAS`."""
ALIAS: Final = Line("authzprovideralias", 'expr internal-server-error "-n %{REMOTE_USER} && -n file(\'/internal-server-error\')"')
"""What `BROKEN` means: an expression that can't be evaluated once there is a user.  .htaccess files could not hold it themselves."""


def needs_alias(lines: Sequence[Line]) -> bool:
    """Return True if one of *lines* is `BROKEN`."""
    return any(one.args == BROKEN.text for one in said(lines))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What decides who owns the words of Require: *modules* in load order, and the kinds of group files that the chain names."""

    modules: tuple[str, ...]
    group_file: bool = True
    dbm_file: bool = False


# hosts ----------------------------------------------------------------------------------------------
def hosts(rules: Rules) -> Tree:
    """Order, Allow and Deny."""
    allowed, denied = _list(rules.allows), _list(rules.denies)
    if rules.order == "deny,allow":
        return any_of([allowed, inverted(denied)])
    return all_of([allowed, inverted(denied)])


def _list(entries: Sequence[str]) -> Tree:
    return any_of([_entry(word) for word in entries])


def _entry(word: str) -> Tree:
    low = word.lower()
    if low == "all":
        return GRANTED
    if low.startswith("env=!"):
        return Leaf("env", _quoted(word[5:]), negated=True)
    if low.startswith("env="):
        return Leaf("env", _quoted(word[4:])) if word[4:] else Leaf("env")
    return Leaf("ip", word) if _is_network(word) else Leaf("host", word)


def _is_network(word: str) -> bool:
    address, slash, mask = word.partition("/")
    try:
        parse_network(address, mask if slash else None)
    except BadAddress:
        return False
    return True


def _quoted(word: str) -> str:
    return f'"{word}"' if not word or any(c in " \t'\"" for c in word) else word


# users ----------------------------------------------------------------------------------------------
def users(requires: Sequence[str], around: Surroundings) -> Iterator[Tree]:
    """What the Require lines may come to, the likeliest first: 2.2 asks module after module, and the first one that knows a word decides."""
    leaves = [leaf for text in requires for leaf in _require(text, around)]
    yield any_of(leaves) if leaves else NOBODY
    families = _families(leaves, around)
    for family in families:
        if len(families) > 1:
            yield any_of(family)
    for family in families:
        last = next((at for at, leaf in enumerate(family) if leaf.kind.endswith("file-group")), len(family))
        if last + 1 < len(family):  # 2.2 looks no further where a file's group is not the user's
            yield any_of(family[:last + 1])
    if leaves:
        yield NOBODY
    yield any_of([*leaves, BROKEN])
    yield BROKEN
    for family in families:
        if len(families) > 1:
            yield any_of([*family, BROKEN])


def _families(leaves: list[Leaf], around: Surroundings) -> list[list[Leaf]]:
    """The lines by the module that owns them, in the order in which 2.2 asks."""
    found: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        found.setdefault(_MODULES.get(leaf.kind, leaf.kind), []).append(leaf)
    order = [name.removesuffix("_module") for name in around.modules]
    return [found[name] for name in sorted(found, key=lambda name: order.index(name) if name in order else -1)]


def _require(text: str, around: Surroundings) -> list[Leaf]:
    """The words of a line in 2.4's form; a word that no module of 2.2 knows is left out, as it was."""
    name, _, rest = text.strip().partition(" ")
    kind, given = name.lower(), words(rest)
    if name == "valid-user":
        return [Leaf("valid-user")]
    if name == "user":
        return [Leaf("user", _texts(given))] if given else []
    if kind == "group":
        return [Leaf(k, _texts(given)) for k in _group_kinds(around, "group", "dbm-group")] if given else []
    if kind == "file-group":
        return [Leaf(k) for k in _group_kinds(around, "file-group", "dbm-file-group")]
    if kind == "file-owner":
        return [Leaf("file-owner")]
    if kind.startswith("ldap-"):
        return [Leaf(kind, rest.strip())]
    return []


def _group_kinds(around: Surroundings, by_file: str, by_dbm: str) -> list[str]:
    return [by_file] * around.group_file + [by_dbm] * around.dbm_file or [by_file]


def _texts(given: list[str]) -> str:
    return " ".join(f'"{word}"' if not word or any(c in " \t'" for c in word) else word for word in given)


# both -----------------------------------------------------------------------------------------------
def forms(chain: Sequence[tuple[Line, ...]], around: Surroundings) -> Iterator[tuple[Line, ...]]:
    """Proposals for a section that ends *chain*, the plainest first."""
    state = merged(chain)
    made: set[tuple[Line, ...]] = set()
    for step in range(_most(state, around)):
        by_class = {name: _decision(rules, step, around) for name, rules in state.items()}
        for lines in by_method(by_class):
            if lines not in made:
                made.add(lines)
                yield lines


def _most(state: dict[str, Rules], around: Surroundings) -> int:
    return max(len(list(users(rules.requires, around))) if rules.requires else 1 for rules in state.values())


def _decision(rules: Rules, step: int, around: Surroundings) -> Tree:
    by_host = hosts(rules)
    if not rules.requires:
        return by_host
    choices = list(users(rules.requires, around))
    by_user = choices[min(step, len(choices) - 1)]
    return any_of([by_host, by_user]) if rules.satisfy == "any" else all_of([by_host, by_user])


def by_method(state: dict[str, Tree]) -> Iterator[tuple[Line, ...]]:
    """The decisions of all classes of methods as one."""
    if len(set(state.values())) == 1:
        yield written(state[OTHERS])
        return
    yield from _limited(state)
    groups: dict[Tree, list[str]] = {}
    for name, tree in state.items():
        if name != OTHERS:
            groups.setdefault(tree, []).append(name)
    named = " ".join(name for name in state if name != OTHERS)
    same = groups.get(state[OTHERS], [])
    different = [name for name in state if name not in ("", *same)] or named.split()
    parts = [all_of([Leaf("method", " ".join(names)), tree]) for tree, names in groups.items() if tree != state[OTHERS]]
    parts.append(all_of([Leaf("method", " ".join(different), negated=True), state[OTHERS]]))
    yield written(any_of(parts))


def _limited(state: dict[str, Tree]) -> Iterator[tuple[Line, ...]]:
    """<Limit> or <LimitExcept> around the lines, where all other methods are free."""
    free = [name for name, tree in state.items() if tree == GRANTED]
    bound = [name for name in state if name not in free]
    if not free or len({state[name] for name in bound}) != 1:
        return
    inner = written(state[bound[0]])
    if OTHERS in bound:
        yield (Line("limitexcept", " ".join(free), None, inner),)
    else:
        yield (Line("limit", " ".join(bound), None, inner),)


__all__ = ["BROKEN", "DENIED", "GRANTED", "NOBODY", "Node", "Surroundings", "forms", "hosts", "users"]
