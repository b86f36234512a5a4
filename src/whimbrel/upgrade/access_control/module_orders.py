"""The order of 2.2's authorization modules, where the text does not show it.

2.2 asks them in the order of their LoadModule lines, and the first authoritative one that knows a Require
line of the request decides (mod_authz_user, -groupfile, -dbm and -owner: `ap_hook_auth_checker` with
APR_HOOK_MIDDLE). The access checkers of mod_authz_host and mod_ssl have that order too. A file without its
server does not tell the order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import permutations
from typing import Final

from whimbrel.access.layers import SSL_CONDITIONS, AccessLine
from whimbrel.upgrade.access_control.effective import flatten_directives
from whimbrel.upgrade.model import InputContext
from whimbrel.upgrade.source.config_tree import ConfigTree

_FAMILIES: Final = {
    "user": ("authz_user",),
    "valid-user": ("authz_user",),
    "group": ("authz_groupfile", "authz_dbm"),
    "file-owner": ("authz_owner",),
    "file-group": ("authz_owner", "authz_groupfile", "authz_dbm"),
}
"""Words of Require, and the modules that know them."""
_HOSTS: Final = ("authz_host", "ssl")
"""Modules with access checkers in 2.2."""


def is_order_known(tree: ConfigTree) -> bool:
    """Return True if the LoadModule lines of the server that reads the text were read, those of access if not
    all."""
    if tree.context is not InputContext.SERVER:
        return bool(tree.server_modules)
    return tree.modules_unread is None or any("auth" in name for name in tree.modules)


def other_orders(modules: Sequence[str], texts: Iterable[Sequence[AccessLine]]) -> list[tuple[str, ...]]:
    """Return *modules* in all other orders of those that know a word of Require in *texts*, and of access
    checkers where StrictRequire depends on them."""
    lines = [line for text in texts for line in flatten_directives(text)]
    words = {line.args.split()[0].lower() for line in lines if line.name == "require" and line.args.split()}
    users = {name for word in words for name in _FAMILIES.get(word, ())}
    names = {line.name for line in lines}
    # the first access checker that refuses ends their phase, and StrictRequire asks whether mod_ssl's did
    is_strict = "ssloptions" in names and not names.isdisjoint(SSL_CONDITIONS)
    found = _in_all_orders(tuple(modules), users)
    if is_strict:
        found = [other for order in found for other in _in_all_orders(order, _HOSTS)]
    return found[1:]


def _in_all_orders(modules: tuple[str, ...], families: Collection[str]) -> list[tuple[str, ...]]:
    """Return *modules* with those of *families* in all orders, first in their own."""
    places = [at for at, name in enumerate(modules) if name.removesuffix("_module") in families]
    found = []
    for order in permutations(places):
        names = list(modules)
        for at, source in zip(places, order, strict=True):
            names[at] = modules[source]
        found.append(tuple(names))
    return found
