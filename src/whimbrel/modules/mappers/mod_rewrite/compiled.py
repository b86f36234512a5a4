"""Compiled rules: patterns, substitutions and conditions, compiled once for one list of rules."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server, unique_by
from whimbrel.modules.mappers.mod_rewrite.conditions import Condition
from whimbrel.modules.mappers.mod_rewrite.context import LogFn
from whimbrel.modules.mappers.mod_rewrite.log import log_function, log_level
from whimbrel.modules.mappers.mod_rewrite.maps import RewriteMap, needs_engine
from whimbrel.modules.mappers.mod_rewrite.prefilter import Prefilter, literal_inside, literal_prefix
from whimbrel.modules.mappers.mod_rewrite.settings import (
    Flag,
    RewriteDirConfig,
    RewriteServerConfig,
    Rule,
    Rules,
)
from whimbrel.modules.mappers.mod_rewrite.template import Compiler, Template, escaping
from whimbrel.registry.module import Reads, Scope
from whimbrel.registry.settings import with_defaults

R = TypeVar("R")
MAX_COMPILED: Final = 512
INDEX_THRESHOLD: Final = 100  # rules from which on a server's list is compiled before the first request
MAX_LOOKAHEAD: Final = 2000  # rules that are compiled then: ten milliseconds for a thousand
PATTERNS_LOGGED: Final = 3  # level from which on every tried pattern is logged


class CompiledRule:
    """One compiled rule; *output* is None without a substitution."""

    __slots__ = (
        "conds",
        "cookies",
        "env",
        "flags",
        "forced_handler",
        "forced_type",
        "negated",
        "output",
        "reads",
        "rule",
        "search",
        "waits",
    )

    def __init__(self, rule: Rule, compiler: Compiler) -> None:
        self.rule = rule
        self.flags = rule.flags
        self.search: Any = rule.regex.search
        self.negated = bool(rule.flags & Flag.NEGATED)
        self.conds = tuple([Condition(cond, compiler) for cond in rule.conds])
        self.output: Template | None = None
        if not rule.flags & Flag.NO_SUBSTITUTION:
            self.output = compiler.template(rule.output, escaping(rule))
        self.env = tuple([compiler.template(text) for text in rule.env])
        self.cookies = tuple([compiler.template(text) for text in rule.cookies])
        escape = escaping(rule)
        self.forced_type = compiler.template(rule.forced_type, escape) if rule.forced_type else None
        self.forced_handler = compiler.template(rule.forced_handler, escape) if rule.forced_handler else None
        single = [
            template
            for template in (self.output, self.forced_type, self.forced_handler)
            if template is not None
        ]
        parts: list[Template | Condition] = [*self.conds, *self.env, *self.cookies, *single]
        self.waits = any(part.waits for part in parts)
        self.reads = Reads.HEAD
        for part in parts:
            self.reads |= part.reads


class RuleList:
    """Compiled list of rules for one directory ("" for a server's), with its dependencies."""

    __slots__ = (
        "after_chain",
        "every",
        "directory",
        "log",
        "prefilter",
        "reads",
        "rules",
        "version22",
        "waits",
    )

    def __init__(
        self, rules: Rules, directory: str, compiler: Compiler, log: LogFn | None, every: bool
    ) -> None:
        self.directory = directory
        self.log = log
        self.version22 = compiler.version22
        self.rules = [CompiledRule(rule, compiler) for rule in rules]
        self.every = range(len(rules)) if every else None
        self.waits = any(rule.waits for rule in self.rules)
        self.reads = Reads.HEAD
        for rule in self.rules:
            self.reads |= rule.reads
        self.after_chain = _after_chains(rules)
        sure = [rule.pattern if _may_be_left_out(rules, i) else "" for i, rule in enumerate(rules)]
        prefixes = [literal_prefix(pattern) for pattern in sure]
        insides = [
            "" if prefix else literal_inside(pattern) for prefix, pattern in zip(prefixes, sure, strict=True)
        ]
        self.prefilter = Prefilter(prefixes, insides)


def _may_be_left_out(rules: Rules, i: int) -> bool:
    """Return True if rule *i* has no effect without a match: neither negated nor of a chain."""
    return not rules[i].flags & (Flag.NEGATED | Flag.CHAIN) and not (i and rules[i - 1].flags & Flag.CHAIN)


def _after_chains(rules: Rules) -> list[int]:
    """Return for each rule where to continue without a match: after the chain that it begins."""
    out = []
    for i in range(len(rules)):
        end = i
        while end < len(rules) and rules[end].flags & Flag.CHAIN:
            end += 1
        out.append(end + 1)
    return out


def rule_list(scope: Scope, rules: Rules, directory: str) -> RuleList:
    """Return the compiled form of *rules* under *scope*; equal rules with equal logging are compiled once."""
    server = scope.server_config(RewriteServerConfig)
    level = log_level(scope)
    key = (tuple(rules), directory, level)
    compiled: RuleList | None = server.compiled.get(key)
    if compiled is None:
        if len(server.compiled) >= MAX_COMPILED:
            server.compiled.clear()
        compiler = Compiler(usable_maps(server, scope), version22=scope.dialect.rewrite_22)
        compiled = RuleList(rules, directory, compiler, log_function(scope), level >= PATTERNS_LOGGED)
        server.compiled[key] = compiled
    return compiled


class _ServerScope:
    """A server's settings for requests without section."""

    def __init__(self, configuration: Configuration, server: Server) -> None:
        self.dialect = configuration.dialect
        self.loaded = configuration.loaded
        self.provider = configuration.provider
        self._server = server

    def server_config(self, kind: type[R]) -> R:
        return self._server.config(kind)

    def dir_config(self, kind: type[R]) -> R:
        record = self._server.defaults.records.get(kind)
        return with_defaults(kind() if record is None else record)


def compile_ahead(configuration: Configuration) -> None:
    """Compile long lists of servers in the master: workers share them, and no request waits."""
    left = MAX_LOOKAHEAD
    for server in unique_by(configuration.servers(), RewriteServerConfig):
        rules = server.config(RewriteServerConfig).rules
        if INDEX_THRESHOLD <= len(rules) <= left:
            scope = _ServerScope(configuration, server)
            if scope.dir_config(RewriteDirConfig).engine or scope.server_config(RewriteServerConfig).engine:
                rule_list(scope, rules, "")
                left -= len(rules)


def usable_maps(server: RewriteServerConfig, scope: Scope) -> dict[str, RewriteMap]:
    """Return the maps of a server; programs answer only if its own engine is on."""
    if server.engine:
        return server.maps
    return {name: rewrite_map for name, rewrite_map in server.maps.items() if not needs_engine(rewrite_map)}
