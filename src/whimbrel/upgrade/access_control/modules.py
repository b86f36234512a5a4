"""The modules that lines about access imply: without LoadModule lines they are compiled in or loaded by
another file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.access.layers import AccessLine
from whimbrel.syntax.words import getword

_PROVIDERS: Final = {
    "file": "authn_file",
    "dbm": "authn_dbm",
    "anon": "authn_anon",
    "dbd": "authn_dbd",
    "ldap": "authnz_ldap",
}
_FAMILIES: Final = (
    ("authdigest", "auth_digest"),
    ("authldap", "authnz_ldap"),
    ("authdbmuser", "authn_dbm"),
    ("authdbmgroup", "authz_dbm"),
    ("authdbduser", "authn_dbd"),
    ("anonymous", "authn_anon"),
    ("sslrequire", "ssl"),
    ("ssloptions", "ssl"),
)
"""Prefixes of directive names, and their modules."""
_WORDS: Final = {"file-owner": "authz_owner", "file-group": "authz_owner"}
"""Arguments of Require that belong to optional modules."""


def implied(sections: Iterable[Iterable[AccessLine]]) -> list[str]:
    """Return the short names of the modules, those about users before those about groups."""
    modules: dict[str, None] = {}
    seen: set[tuple[str, str]] = set()
    for line in (line for lines in sections for line in lines):
        key = line.name, line.args
        if line.children or key not in seen:  # hosts repeat their lines
            seen.add(key)
            modules.update(dict.fromkeys(_of(line)))
    return sorted(modules, key=lambda name: name.startswith("authz_"))


def _of(line: AccessLine) -> Iterator[str]:
    words = line.args.split()
    if line.children:
        for child in line.children:
            yield from _of(child)
    elif line.name == "authtype" and getword(line.args)[0].lower() == "digest":
        yield "auth_digest"
    elif line.name in ("authbasicprovider", "authdigestprovider"):
        yield from (_PROVIDERS[word.lower()] for word in words if word.lower() in _PROVIDERS)
    elif line.name == "require":
        yield from (_WORDS[word.lower()] for word in words[:1] if word.lower() in _WORDS)
        yield from ("authnz_ldap" for word in words[:1] if word.lower().startswith("ldap-"))
    else:
        yield from (module for start, module in _FAMILIES if line.name.startswith(start))
