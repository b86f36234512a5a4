"""Require lines of 2.4 as symbolic decisions: one function for each provider."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from whimbrel.access.atoms import IsServerAddress, Opaque, OverTls, UserIn
from whimbrel.access.order_allow_deny import in_domains, in_environment, in_networks
from whimbrel.access.outcomes import Outcomes, choose_outcomes, constant, if_else
from whimbrel.access.query import AccessQuery
from whimbrel.access.space import Function
from whimbrel.base.net import parse_written
from whimbrel.directives.tokens import words
from whimbrel.expr.api import compile_condition, compile_string
from whimbrel.expr.library import USER
from whimbrel.modules.aaa.mod_authz_core.providers import require_words
from whimbrel.modules.aaa.mod_authz_dbm import AuthzDbmDirConfig
from whimbrel.modules.aaa.mod_authz_groupfile import AuthzGroupFileDirConfig
from whimbrel.modules.support.auth.auth_api import Authz

Check = Callable[[AccessQuery, str, bool], Outcomes]
_READS_FILES: Final = re.compile(r"\bfile\s*\(", re.ASCII)  # an expression that fails without the file
_USERLESS: Final = frozenset({"ssl-verify-client"})


def status_of(query: AccessQuery, name: str, args: str, user: bool) -> Outcomes:
    """Return the authz_status of the provider or alias *name*; *user* is True once a user is known."""
    alias = query.settings.aliases["authzprovideralias"].get(name)
    if alias is not None:
        return status_of(query.with_alias(alias), alias.base, alias.args, user)
    check = CHECKS.get(name)
    return check(query, args, user) if check is not None else _opaque(query, name, args, user)


def joined_status(query: AccessQuery, name: str, lists: Sequence[str], user: bool) -> Outcomes:
    """Return the status of neighbouring lines of *name* (ip, host, user) in a container that one match
    satisfies."""
    texts = [_constant_args(query, args) for args in lists] if name != "ip" else list(lists)
    given = [word for text in texts if text is not None for word in require_words(text)]
    condition = _LISTS[name](query, given)
    open_ones = [args for args, text in zip(lists, texts, strict=True) if text is None]
    condition = condition | query.space.any_of(
        query.variable(Opaque(_normal(name, args), user=name == "user")) for args in open_ones
    )
    return _user_result(query, condition, user) if name == "user" else _result(query, condition)


def _result(query: AccessQuery, good: Function) -> Outcomes:
    return if_else(query.space, good, Authz.GRANTED, Authz.DENIED)


def _user_result(query: AccessQuery, good: Function, user: bool) -> Outcomes:
    return _result(query, good) if user else constant(query.space, Authz.DENIED_NO_USER)


def _normal(name: str, args: str) -> str:
    return " ".join([name, *words(args)])


def _opaque(query: AccessQuery, name: str, args: str, user: bool) -> Outcomes:
    """A provider without a model; it requires a user unless it is known to work without one."""
    if name in _USERLESS:
        return _result(query, query.variable(Opaque(_normal(name, args))))
    return _user_result(
        query, query.variable(Opaque(_normal(name, args), user=True)) if user else query.space.false, user
    )


def _constant_args(query: AccessQuery, args: str) -> str | None:
    """Return the arguments of a line as one text, None if they depend on the request."""
    return (
        compile_string(args, lookup=query.plan.provider).fixed
        if any(char in args for char in "%$\\")
        else args
    )


# the lists of one kind ----------------------------------------------------------------------------
def _networks(query: AccessQuery, given: list[str]) -> Function:
    return in_networks(query, map(parse_written, given))


def _users(query: AccessQuery, given: list[str]) -> Function:
    return query.variable(UserIn(frozenset(given))) if given else query.space.false


_LISTS: Final[dict[str, Callable[[AccessQuery, list[str]], Function]]] = {
    "ip": _networks,
    "host": in_domains,
    "user": _users,
}


def _listed(name: str) -> Check:
    return lambda query, args, user: joined_status(query, name, [args], user)


# the others ---------------------------------------------------------------------------------------
def _everybody(query: AccessQuery, args: str, _user: bool) -> Outcomes:
    return constant(query.space, Authz.GRANTED if args.lower() == "granted" else Authz.DENIED)


def _environment(query: AccessQuery, args: str, _user: bool) -> Outcomes:
    return _result(query, in_environment(query, require_words(args)))


def _method(query: AccessQuery, args: str, _user: bool) -> Outcomes:
    numbers = {query.settings.configuration.methods.number(name) for name in require_words(args)}
    return constant(query.space, Authz.GRANTED if query.method in numbers else Authz.DENIED)


def _expression(query: AccessQuery, args: str, user: bool) -> Outcomes:
    if len(args) > 1 and args[0] == args[-1] == '"':
        args = args[1:-1]
    asks_user = USER in compile_condition(args, lookup=query.plan.provider).reads
    good = query.variable(Opaque(f"expr {args.strip()}", user=asks_user and user))
    refused = Authz.DENIED_NO_USER if asks_user else Authz.DENIED
    outcomes = if_else(query.space, good, Authz.GRANTED, refused)
    if not _READS_FILES.search(args):
        return outcomes
    fails = query.variable(Opaque(f"failure of expr {args.strip()}", user=asks_user and user))
    return choose_outcomes(query.space, fails, constant(query.space, Authz.GENERAL_ERROR), outcomes)


def _over_tls(query: AccessQuery, _args: str, _user: bool) -> Outcomes:
    return _result(query, query.variable(OverTls()))


def _local(query: AccessQuery, _args: str, _user: bool) -> Outcomes:
    loopback = in_networks(query, (parse_written("127.0.0.0/8"), parse_written("::1")))
    return _result(query, loopback | query.variable(IsServerAddress()))


def _forward_dns(query: AccessQuery, args: str, _user: bool) -> Outcomes:
    names = words(args) if _constant_args(query, args) is not None else [args]
    return _result(
        query,
        query.space.any_of(
            query.variable(Opaque(f"forward-dns {name.lower()}")) for name in dict.fromkeys(names)
        ),
    )


def _valid_user(query: AccessQuery, _args: str, user: bool) -> Outcomes:
    return constant(query.space, Authz.GRANTED if user else Authz.DENIED_NO_USER)


def _group(query: AccessQuery, args: str, user: bool) -> Outcomes:
    file = query.dir_config(AuthzGroupFileDirConfig).file
    if not user:
        return constant(query.space, Authz.DENIED_NO_USER)
    if file is None or query.unreadable(file.path):
        return constant(query.space, Authz.DENIED)
    text = _constant_args(query, args)
    if text is None:
        return _result(
            query,
            query.variable(Opaque(f"{_normal('group', args)} by {query.group_source(file.path)}", user=True)),
        )
    return _result(
        query, query.any_member(query.group_source(file.path), (word.lower() for word in require_words(text)))
    )


def _file_owner(query: AccessQuery, _args: str, user: bool) -> Outcomes:
    return _user_result(query, query.variable(Opaque("file-owner", user=True)), user)


def _file_group(query: AccessQuery, _args: str, user: bool) -> Outcomes:
    file = query.dir_config(AuthzGroupFileDirConfig).file
    if file is None or query.unreadable(file.path) or query.plan.provider("access", "file_group") is None:
        return _user_result(query, query.space.false, user)
    return _user_result(
        query, query.variable(Opaque(f"file-group by {query.group_source(file.path)}", user=True)), user
    )


def _dbm(query: AccessQuery, user: bool, good: Callable[[str], Function]) -> Outcomes:
    settings = query.dir_config(AuthzDbmDirConfig)
    if not user:
        return constant(query.space, Authz.DENIED_NO_USER)
    if not settings.path:
        return constant(query.space, Authz.DENIED)
    if query.unreadable_dbm(settings.path, settings.kind):
        return constant(query.space, Authz.GENERAL_ERROR)
    return _result(query, good(query.dbm_source(settings.path, settings.kind)))


def _dbm_group(query: AccessQuery, args: str, user: bool) -> Outcomes:
    text = _constant_args(query, args)
    if text is None:
        return _dbm(
            query,
            user,
            lambda source: query.variable(Opaque(f"{_normal('dbm-group', args)} by {source}", user=True)),
        )
    return _dbm(query, user, lambda source: query.any_member(source, text.split()))


def _dbm_file_group(query: AccessQuery, _args: str, user: bool) -> Outcomes:
    known = query.plan.provider("access", "file_group") is not None
    return _dbm(
        query,
        user,
        lambda source: (
            query.variable(Opaque(f"file-group by {source}", user=True)) if known else query.space.false
        ),
    )


CHECKS: Final[dict[str, Check]] = {
    "all": _everybody,
    "env": _environment,
    "method": _method,
    "expr": _expression,
    "ip": _listed("ip"),
    "host": _listed("host"),
    "user": _listed("user"),
    "forward-dns": _forward_dns,
    "local": _local,
    "ssl": _over_tls,
    "valid-user": _valid_user,
    "group": _group,
    "file-owner": _file_owner,
    "file-group": _file_group,
    "dbm-group": _dbm_group,
    "dbm-file-group": _dbm_file_group,
}
