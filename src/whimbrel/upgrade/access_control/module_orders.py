"""The order of 2.2's authorization modules, where the text does not show it.

2.2 asks them in the order of their LoadModule lines, and the first authoritative one that knows a Require
line of the request decides (mod_authz_user, -groupfile, -dbm and -owner: `ap_hook_auth_checker` with
APR_HOOK_MIDDLE). A file without its server does not tell the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Final

from whimbrel.access.layers import AccessLine
from whimbrel.upgrade.access_control.effective import EffectiveDirective, flatten_directives
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


_CHECKERS: Final = frozenset(("authz_host", "ssl"))
"""The modules of access checkers: SSLOptions +StrictRequire holds where mod_ssl is the first that refuses."""


def _is_strict(line: EffectiveDirective) -> bool:
    return line.name == "ssloptions" and "strictrequire" in line.args.lower()


def is_order_known(tree: ConfigTree) -> bool:
    """Return True if the LoadModule lines of the server that reads the text were read, those of access if not
    all."""
    if tree.context is not InputContext.SERVER:
        return bool(tree.server_modules)
    return tree.modules_unread is None or any("auth" in name for name in tree.modules)


def other_orders(modules: Sequence[str], texts: Iterable[Sequence[AccessLine]]) -> list[tuple[str, ...]]:
    """Return *modules* in all other orders of those that know a word of Require in *texts*."""
    texts = list(texts)
    words = {
        line.args.split()[0].lower()
        for lines in texts
        for line in flatten_directives(lines)
        if line.name == "require" and line.args.split()
    }
    families = {name for word in words for name in _FAMILIES.get(word, ())}
    if any(_is_strict(line) for lines in texts for line in flatten_directives(lines)):
        families |= _CHECKERS
    places = [at for at, name in enumerate(modules) if name.removesuffix("_module") in families]
    found = []
    for order in permutations(places):
        names = list(modules)
        for at, source in zip(places, order, strict=True):
            names[at] = modules[source]
        found.append(tuple(names))
    return found[1:]
