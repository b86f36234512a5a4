"""mod_authnz_ldap's argument rules."""

from __future__ import annotations

import os

from whimbrel.base.latin1 import to_bytes
from whimbrel.catalogue.checks.rules import CheckContext, Rule, compiles, one_of, split_args

SCOPES = ("", "one", "onelevel", "sub", "subtree", "base")


def _url(words: list[str], around: CheckContext) -> str | None:
    """ldap[s|i]://hosts/base?attributes?scope?filter?extensions [mode]"""
    scheme, slashes, rest = words[0].partition("://")
    if not slashes or scheme.lower() not in ("ldap", "ldaps", "ldapi"):
        return "The scheme was not recognised as a valid LDAP URL scheme."
    parts = rest.split("?")
    if len(parts) > 2 and parts[2].lower() not in SCOPES:
        return "Bad scope encountered while parsing LDAP URL."
    if len(parts) > 5:
        return "Bad URL encountered while parsing LDAP URL."
    if len(parts) == 5 and not parts[4]:
        return "Bad extensions encountered while parsing LDAP URL."
    return one_of(
        "none ssl tls starttls",
        "Invalid LDAP connection mode setting: must be one of NONE, SSL, or TLS/STARTTLS",
        at=1,
    )(words, around)


def _dereference(words: list[str], around: CheckContext) -> str | None:
    """One of four LDAP keywords in lower case; on and off are case-insensitive."""
    good = words[0] in ("never", "searching", "finding", "always") or words[0].lower() in ("on", "off")
    return None if good else "Unrecognized value for AuthLDAPDereferenceAliases directive"


def _pattern(words: list[str], around: CheckContext) -> str | None:
    return (
        None
        if compiles(words[0])
        else f"AuthLDAPInitialBindPattern: cannot compile regular expression '{words[0]}'"
    )


def _password(words: list[str], around: CheckContext) -> str | None:
    """The output of a program may be the password; it is not run here."""
    word = words[0]
    if around.version == "2.2" or not word.startswith("exec:") or word == "exec:":
        return None
    program = around.path(split_args(word[5:])[0]) if split_args(word[5:]) else ""
    return (
        None
        if os.access(to_bytes(program), os.X_OK)
        else "Empty passwords are invalid for AuthLDAPBindPassword"
    )


CHECKS: dict[str, Rule] = {
    "authldapbindpassword": _password,
    "authldapurl": _url,
    "authldapdereferencealiases": _dereference,
    "authldapinitialbindpattern": _pattern,
}
