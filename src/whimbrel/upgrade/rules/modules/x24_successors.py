"""X24: third-party modules and their successors in 2.4. Document: documents/X24-successors.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.third_party import product_of
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules.x19_remote_address import MODULES as REMOTE
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import THIRD_PARTY_22, is_24_config

OWN: Final = THIRD_PARTY_22 - {"remoteip_module"}
"""Third-party modules of 2.2 that 2.4 contains."""
SUCCEEDED: Final = frozenset(
    {
        "bw_module",
        "bwshare_module",
        "auth_token_module",
        "auth_mysql_module",
        "mysql_auth_module",
        "auth_pgsql_module",
        "scgi_module",
        "fastcgi_module",
        "uwsgi_module",
        "authz_ldap_module",
        "form_module",
        "cband_module",
        "deny_module",
        "security_module",
    }
)
"""Modules with a successor; those that need a new build only belong to row C06."""
PHP: Final = ("php_value", "php_flag", "php_admin_value", "php_admin_flag")

OF_FPM: Final = (
    "keep it with a module of PHP for 2.4; with PHP-FPM write it into the pool, as php_admin_value[NAME] = "
    "VALUE, or into .user.ini, as NAME = VALUE"
)


def is_known(identifier: str) -> bool:
    """Return True for a module of this rule or of X19."""
    return identifier in OWN | SUCCEEDED or REMOTE.fullmatch(identifier) is not None


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield LoadModule lines of such modules, then their directives outside of sections of their own."""
    old = catalogue("2.2")
    for line in tree.named("loadmodule"):
        name = "".join(line.words()[:1])
        found = product_of(name) if name in SUCCEEDED else None
        if name in OWN and not is_24_config(tree):
            yield Finding(
                "X24",
                line.place,
                f"{name} was a third-party module of 2.2; 2.4 contains it",
                "remove the file that was built for 2.2",
                Risk.COSMETIC,
            )
        elif found is not None and old.module(name) is None:
            yield Finding(
                "X24",
                line.place,
                f"{name} was built for 2.2, and 2.4 has a successor",
                f"use the successor: {found.successor}",
                Risk.BREAKS,
            )
    yield from _directives(tree)


def _directives(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first line of each file with a directive of a module whose successor often has
    no directives."""
    seen: set[tuple[str, str]] = set()
    for name, product in [*((php_name, "php") for php_name in PHP), ("assignuserid", "itk")]:
        for line in tree.named(name):
            known = product_of(product)
            if known is not None and (line.file.path, product) not in seen:
                seen.add((line.file.path, product))
                yield Finding(
                    "X24",
                    line.place,
                    f"a directive of {known.name}: 2.4 accepts it only with that module",
                    OF_FPM if product == "php" else f"use the successor: {known.successor}",
                    Risk.COSMETIC,
                )


RULE = Rule("X24", "successors", "Modules of other origin and their successors", check)
