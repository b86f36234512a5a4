"""What the running engine decides about a request beside what a Decision says of it: the same chain of
sections, the same client."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from whimbrel.access.atoms import (
    AddressSet,
    Atom,
    EnvironmentSet,
    GroupMember,
    HasCredentials,
    HostIn,
    IsServerAddress,
    KnownUser,
    MethodIs,
    Opaque,
    OverTls,
    PasswordValid,
    UserIn,
)
from whimbrel.access.decide import AccessEnvironment, decide
from whimbrel.access.decision import AccessDecision, AccessVerdict
from whimbrel.access.layers import ALIASES, AccessLayer, AccessLine, lines_of_nodes
from whimbrel.access.space import Space
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.net import numeric_address
from whimbrel.config import htaccess, model
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import CommandContext
from whimbrel.config.reader import ConfigSource, Reader
from whimbrel.directives.node import Node
from whimbrel.engine.expressions import RequestView, evaluate
from whimbrel.engine.pipeline import process
from whimbrel.engine.plan import plan_cache as plans
from whimbrel.engine.request import Request
from whimbrel.expr.api import compile_condition, compile_string
from whimbrel.expr.library import USER
from whimbrel.modules.aaa.mod_auth_basic import decode_base64
from whimbrel.modules.aaa.mod_auth_digest.decide import INFO
from whimbrel.modules.aaa.mod_auth_digest.header import read_credentials
from whimbrel.modules.aaa.mod_authn_core import AuthnCoreServerConfig
from whimbrel.modules.aaa.mod_authz_core.providers import require_words
from whimbrel.modules.aaa.mod_authz_dbm import groups_of
from whimbrel.modules.aaa.mod_authz_owner import file_group, make_file_owner
from whimbrel.modules.ssl.mod_ssl.settings import SslDirConfig
from whimbrel.modules.support.auth.auth_api import Authn, Authz
from whimbrel.modules.support.auth.auth_files import group_file, password_file
from whimbrel.modules.support.dbm.open import DbmFile
from whimbrel.modules.support.reverse_dns import client_address, confirmed_name

ANSWERS = {
    0: AccessVerdict.GRANTED,
    401: AccessVerdict.CHALLENGE,
    403: AccessVerdict.FORBIDDEN,
    500: AccessVerdict.ERROR,
}


@dataclass
class Report:
    """How many answers were compared, and those that differ: what was asked, what the engine answered, what
    the decision says."""

    compared: int = 0
    different: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    seen: Callable[[Request, int, AccessDecision, AccessVerdict], None] = (
        lambda _r, _answer, _decision, _verdict: None
    )


@contextmanager
def watching(monkeypatch: pytest.MonkeyPatch, report: Report) -> Iterator[Report]:
    """While it lasts every access check of any engine is compared with the decision about its chain."""
    parts: dict[model.Layer, tuple[model.Layer, ...]] = {}
    joined, check = plans.PlanCache.merge_layers, process.check_access
    sites: dict[int, WitnessedSite] = {}

    def joining(self: plans.PlanCache, base: model.Layer | None, over: model.Layer) -> model.Layer:
        made = joined(self, base, over)
        if base is not None:
            parts[made] = (*parts.get(base, (base,)), over)
        return made

    async def checking(r: Request) -> int:
        before = environment_of(r)
        answer = await check(r)
        inherits = any(one is not None and one.plan is r.plan for one in (r.prev, r.main))
        if not inherits:
            site = sites.get(id(r.engine))
            if site is None:
                site = sites[id(r.engine)] = WitnessedSite(r.engine.configuration)
                site.engine = r.engine
            await site.compare(
                r,
                answer,
                [part for layer in r.plan.layers for part in parts.get(layer, (layer,))],
                before,
                report,
            )
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(plans.PlanCache, "merge_layers", joining)
        patch.setattr(process, "check_access", checking)
        yield report


def environment_of(r: Request) -> dict[str, str]:
    """A copy of the request's environment as access control sees it."""
    return dict(r.env)


class WitnessedSite:
    """One configuration: its layers as lines, and its decisions by chain."""

    engine: Any = None

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        lines = lines_of_nodes(configuration.tree)
        self.world = AccessEnvironment(
            tuple(name for name, _ in configuration.loaded_by_directive),
            configuration.root,
            readable,
            tuple(line for line in lines if line.name in ALIASES),
            tuple(configuration.methods.known()),
        )
        self.space = Space()
        self.nodes = {node.place: node for node in model.all_nodes(configuration.tree)}
        self.layers: dict[model.Layer, AccessLayer] = {}
        self.decisions: dict[tuple[AccessLayer, ...], AccessDecision] = {}
        self.outer: dict[int, tuple[AccessLayer, ...]] = {}

    def layer(self, made: model.Layer) -> AccessLayer:
        """The lines that *made* was executed from."""
        found = self.layers.get(made)
        if found is None:
            assert made.place is not None
            if made.kind is model.SectionKind.HTACCESS:
                nodes = file_nodes(self.configuration, made.place.path)
                self.nodes |= {node.place: node for node in model.all_nodes(nodes)}
                self.files = {made.place.path}
                found = AccessLayer(lines_of_nodes(nodes), made.kind, True, made.place)
            else:
                inside = made.place.path.endswith(".htaccess")
                found = AccessLayer(
                    lines_of_nodes(self.nodes[made.place].children), made.kind, inside, made.place
                )
            self.layers[made] = found
        return found

    def server_lines(self, r: Request) -> tuple[AccessLayer, ...]:
        """What stands outside of all sections, in the main server and in the virtual host."""
        known = self.outer.get(id(r.server))
        if known is None:
            nodes = [self.configuration.tree]
            if r.server.is_virtual:
                nodes.append(self.nodes[r.server.place].children)
            lines = [tuple(line for line in lines_of_nodes(one) if line.name not in ALIASES) for one in nodes]
            known = self.outer[id(r.server)] = tuple(
                AccessLayer(some, model.SectionKind.SERVER) for some in lines if some
            )
        return known

    def decision(self, chain: tuple[AccessLayer, ...]) -> AccessDecision:
        """The decision about *chain*, made once."""
        found = self.decisions.get(chain)
        if found is None:
            found = self.decisions[chain] = decide(chain, self.configuration.dialect, self.world, self.space)
        return found

    async def compare(
        self, r: Request, answer: int, layers: list[model.Layer], env: dict[str, str], report: Report
    ) -> None:
        """Note in *report* whether the decision agrees with the engine's *answer*."""
        if answer not in ANSWERS:
            report.left_out[f"answer {answer}"] += 1
            return
        decision = self.decision((*self.server_lines(r), *map(self.layer, layers)))
        values = {}
        for atom in decision.atoms():
            value = await value_of(r, atom, env)
            if value is None:
                report.left_out[str(atom)] += 1
                return
            values[atom] = value
        verdict = decision.verdict(values.__getitem__)
        report.compared += 1
        report.seen(r, answer, decision, verdict)
        if verdict is not ANSWERS[answer]:
            report.different.append(
                f"{r.method} {r.uri} from {client_address(r)}, {r.user}: {answer or 200}, decided "
                f"{verdict.value}; {values}; "
                f"{[layer.lines for layer in map(self.layer, layers)]}"
            )


def readable(path: str) -> bool:
    """Return True if a file can be read."""
    try:
        with open(to_bytes(path), "rb") as file:
            file.read(1)
    except OSError:
        return False
    return True


def file_nodes(configuration: Configuration, path: str) -> list[Node]:
    """The directives of a .htaccess file."""
    view = htaccess._View(configuration)
    state = CommandContext(view, configuration.main, model.Layer(model.SectionKind.HTACCESS))
    state.in_htaccess = True
    reader = Reader(state)
    nodes: list[Node] = []
    with open(to_bytes(path), "rb") as file:
        reader.read(ConfigSource(path, reader.lines(file.read(), path)), nodes)
    return nodes


# what is true of a request ------------------------------------------------------------------------
def credentials(r: Request, scheme: str) -> tuple[str, str] | None:
    """User and password (of digest: "") that the request carries for *scheme*."""
    line = r.headers_in.get("Proxy-Authorization" if r.proxy else "Authorization")
    if scheme == "digest":
        given = read_credentials(line)
        complete = given.scheme.lower() == "digest" and given.complete(
            lengths=not r.plan.dialect.access_in_core
        )
        fits = complete and given.fields["realm"] == r.plan.provider("access", "auth_name")(r)
        return (given.fields["username"], "") if fits else None
    if line is None or line.partition(" ")[0].lower() != "basic":
        return None
    user, _, password = decode_base64(line.partition(" ")[2].lstrip(" ")).partition("\0")[0].partition(":")
    return user, password


async def value_of(r: Request, atom: Atom, env: dict[str, str]) -> bool | None:
    """Return True if *atom* holds for the request; None where this cannot be told."""
    if isinstance(atom, AddressSet):
        return atom.holds(client_address(r))
    if isinstance(atom, IsServerAddress):
        return numeric_address(client_address(r)) == numeric_address(r.connection.local_ip)
    if isinstance(atom, OverTls):
        return r.connection.tls is not None
    if isinstance(atom, HostIn):
        return atom.holds(await confirmed_name(r))
    if isinstance(atom, MethodIs):
        return ("GET" if r.method == "HEAD" else r.method) == atom.name
    if isinstance(atom, HasCredentials):
        return credentials(r, atom.scheme) is not None
    if isinstance(atom, KnownUser | PasswordValid):
        return await known(r, atom)
    if isinstance(atom, UserIn):
        return r.user in atom.names
    if isinstance(atom, GroupMember):
        return member(r, atom.source, atom.group)
    if isinstance(atom, EnvironmentSet):
        return any(name.lower() == atom.name for name in env)
    return await opaque(r, atom)


async def known(r: Request, atom: KnownUser | PasswordValid) -> bool | None:
    """Return True if a provider knows the user, or the password."""
    given = credentials(r, atom.scheme)
    if given is None:
        return False
    user, password = given
    want = isinstance(atom, PasswordValid)
    if atom.scheme == "digest" and want:
        return INFO in r.notes
    kind, _, rest = atom.area.partition(" ")
    path, _, realm = rest.partition(" realm ")
    if kind == "file":
        entries = password_file(path, r.plan.dialect).content(r)
        if not realm:
            return user in entries.stored and (not want or await entries.right(r, user, password))
        stored = entries.realms.get((user, realm))
        return stored is not None and (
            not want or hashlib.md5(to_bytes(f"{user}:{realm}:{password}")).hexdigest() == stored
        )
    provider = provider_of(r, kind, rest)
    if provider is None:
        return None
    result = await provider.make(r.plan).password(r, user, password)
    return bool(result == Authn.GRANTED if want else result != Authn.USER_NOT_FOUND)


def provider_of(r: Request, kind: str, told: str) -> Any:
    """The provider, or the alias of it, that has been told these lines."""
    server = r.engine.configuration.main.records.get(AuthnCoreServerConfig)
    aliases = server.aliases if server is not None and isinstance(server.aliases, dict) else {}
    for node in r.engine.configuration.tree:
        base, _, name = node.args.rstrip("> ").partition(" ")
        text = "; ".join(" ".join([child.name.lower(), *child.args.split()]) for child in node.children)
        if node.name.lower() == "<authnprovideralias" and base == kind and told and told.endswith(text):
            return aliases[name.strip()]
    return r.plan.provider("authn", kind)


def member(r: Request, source: str, group: str) -> bool:
    """Return True if the user is in *group*."""
    kind, _, path = source.partition(" ")
    if kind == "file":
        return group in group_file(path, r.plan.dialect).content(r).get(r.user or "", ())
    kind, _, path = path.partition(" ")
    content = DbmFile(path, kind).content(r)
    value = content.get(f"{r.user}:{r.plan.provider('access', 'auth_name')(r)}") or content.get(r.user or "")
    return value is not None and group in groups_of(value)


async def opaque(r: Request, atom: Opaque) -> bool | None:
    """What the engine itself says to a question that has no model."""
    word, _, rest = atom.text.partition(" ")
    if word == "expr":
        condition = compile_condition(rest, lookup=r.plan.provider)
        user = r.user
        if not atom.user and USER in condition.reads:
            r.user = None
        try:
            return evaluate(r, condition)
        finally:
            r.user = user
    if word == "sslrequire":
        required = r.plan.dir_config(SslDirConfig).requirements
        return next(one.holds(r) for one in required if " ".join(one.text.split()) == rest)
    if word == "file-owner":
        if r.user is None or r.filename is None:
            return False
        return make_file_owner(r.plan, "", None).fn(r) == Authz.GRANTED
    if word == "file-group":
        group = file_group(r)
        return group is not None and member(
            r, rest.removeprefix("by "), group.lower() if rest.startswith("by file") else group
        )
    if word == "user":
        return r.user in require_words(compile_string(rest, lookup=r.plan.provider)(RequestView(r)))
    if word == "forward-dns":
        found = await r.engine.runtime.resolve(rest)
        return numeric_address(client_address(r)) in map(numeric_address, found)
    return None


def lines(*texts: str) -> tuple[AccessLine, ...]:
    """Lines of a section, each ``NAME ARGUMENTS``."""
    return tuple(AccessLine(text.partition(" ")[0].lower(), text.partition(" ")[2]) for text in texts)
