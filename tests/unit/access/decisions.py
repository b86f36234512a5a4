"""Decisions about texts of sections, for tests."""

from __future__ import annotations

from whimbrel.access.atoms import (
    AddressSet,
    Atom,
    EnvironmentSet,
    GroupMember,
    HasCredentials,
    HostIn,
    KnownUser,
    MethodIs,
    Opaque,
    OverTls,
    PasswordValid,
    UserIn,
)
from whimbrel.access.decide import AccessEnvironment, decide
from whimbrel.access.decision import AccessDecision
from whimbrel.access.layers import AccessLayer, lines_of_tree
from whimbrel.access.space import Space
from whimbrel.base.dialect import DIALECTS
from whimbrel.config.model import SectionKind
from whimbrel.syntax.tree import parse

COMMON = (
    "authz_host",
    "auth_basic",
    "auth_digest",
    "authn_file",
    "authz_user",
    "authz_groupfile",
    "authz_owner",
)
MODULES = {"2.2": COMMON, "2.4": ("authz_core", "authn_core", "access_compat", *COMMON)}
AREA = "AuthType Basic\nAuthName zone\nAuthUserFile users\nAuthGroupFile groups\n"


def layer(text: str, kind: SectionKind = SectionKind.DIRECTORY, htaccess: bool = False) -> AccessLayer:
    """Return a section of these lines."""
    return AccessLayer(lines_of_tree(parse(text.encode()).children, "x"), kind, htaccess)


def world(
    version: str, modules: tuple[str, ...] | None = None, missing: tuple[str, ...] = (), aliases: str = ""
) -> AccessEnvironment:
    """Return an environment of the default *modules* or the given ones; files in *missing* cannot be read."""
    made = lines_of_tree(parse(aliases.encode()).children, "x")
    return AccessEnvironment(modules or MODULES[version], "/srv", lambda path: path not in missing, made)


def decision_of(
    version: str,
    *texts: str | AccessLayer,
    space: Space | None = None,
    world_: AccessEnvironment | None = None,
) -> AccessDecision:
    """Return the decision of sections of these lines, outermost first."""
    layers = [layer(text) if isinstance(text, str) else text for text in texts]
    return decide(layers, DIALECTS[version], world_ or world(version), space or Space())


def answer(
    decision: AccessDecision,
    address: str = "192.0.2.1",
    method: str = "GET",
    user: str = "",
    right: bool = True,
    groups: tuple[str, ...] = (),
    environment: tuple[str, ...] = (),
    host: str | None = None,
    known: bool = True,
    *,
    tls: bool = False,
    held: tuple[str, ...] = (),
) -> int:
    """The status for one client; *user* "": without a password; *held*: the opaque conditions that hold."""

    def holds(atom: Atom) -> bool:
        match atom:
            case AddressSet():
                return atom.holds(address)
            case HostIn():
                return atom.holds(host)
            case MethodIs():
                return atom.name == method
            case HasCredentials():
                return bool(user)
            case KnownUser():
                return bool(user) and known
            case PasswordValid():
                return bool(user) and known and right
            case UserIn():
                return user in atom.names
            case GroupMember():
                return atom.group in groups
            case EnvironmentSet():
                return atom.name in environment
            case OverTls():
                return tls
            case Opaque():
                return atom.text in held
        raise AssertionError(f"nobody says whether {atom} holds")

    return decision.verdict(holds).value
