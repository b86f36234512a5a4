"""What Require lines of 2.4 ask, symbolically: one function for each provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from whimbrel.access.asking import Asking
from whimbrel.access.atoms import Opaque, OwnAddress, UserIn
from whimbrel.access.cases import Cases, always, either
from whimbrel.access.decision import Function
from whimbrel.access.lists import in_domains, in_environment, in_networks
from whimbrel.directives.words import words
from whimbrel.expr.compile import compile_condition, compile_string
from whimbrel.expr.library import USER
from whimbrel.modules.auth_api import DENIED, DENIED_NO_USER, GENERAL_ERROR, GRANTED
from whimbrel.modules.mod_authz_core.providers import require_words
from whimbrel.modules.mod_authz_dbm import AuthzDbmSettings
from whimbrel.modules.mod_authz_groupfile import AuthzGroupFileSettings
from whimbrel.modules.networks import parse_written

Check = Callable[[Asking, str, bool], Cases]
_USERLESS: Final = frozenset({"ssl", "ssl-verify-client"})


def status_of(ask: Asking, name: str, args: str, user: bool) -> Cases:
    """The authz_status of a Require line's provider or alias *name*; *user*: one is known."""
    alias = ask.settings.aliases["authzprovideralias"].get(name)
    if alias is not None:
        return status_of(ask.under(alias), alias.base, alias.given, user)
    check = CHECKS.get(name)
    return check(ask, args, user) if check is not None else _opaque(ask, name, args, user)


def joined(ask: Asking, name: str, lists: Sequence[str], user: bool) -> Cases:
    """The status of neighbouring lines of *name* (ip, host, user) in a container that any of them satisfies."""
    texts = [_fixed(ask, args) for args in lists] if name != "ip" else list(lists)
    given = [word for text in texts if text is not None for word in require_words(text)]
    found = _LISTS[name](ask, given)
    open_ones = [args for args, text in zip(lists, texts, strict=True) if text is None]
    found = found | ask.space.any_of(ask.holds(Opaque(_normal(name, args), user=name == "user")) for args in open_ones)
    return _user_result(ask, found, user) if name == "user" else _result(ask, found)


def _result(ask: Asking, good: Function) -> Cases:
    return either(ask.space, good, GRANTED, DENIED)


def _user_result(ask: Asking, good: Function, user: bool) -> Cases:
    return _result(ask, good) if user else always(ask.space, DENIED_NO_USER)


def _normal(name: str, args: str) -> str:
    return " ".join([name, *words(args)])


def _opaque(ask: Asking, name: str, args: str, user: bool) -> Cases:
    """A provider that is not understood: one that asks for the user unless it is known not to."""
    if name in _USERLESS:
        return _result(ask, ask.holds(Opaque(_normal(name, args))))
    return _user_result(ask, ask.holds(Opaque(_normal(name, args), user=True)) if user else ask.space.false, user)


def _fixed(ask: Asking, args: str) -> str | None:
    """The words of a line as one text, None where they depend on the request."""
    return compile_string(args, lookup=ask.plan.provider).fixed if any(char in args for char in "%$\\") else args


# the lists of one kind ----------------------------------------------------------------------------
def _networks(ask: Asking, given: list[str]) -> Function:
    return in_networks(ask, map(parse_written, given))


def _users(ask: Asking, given: list[str]) -> Function:
    return ask.holds(UserIn(frozenset(given))) if given else ask.space.false


_LISTS: Final[dict[str, Callable[[Asking, list[str]], Function]]] = {"ip": _networks, "host": in_domains, "user": _users}


def _listed(name: str) -> Check:
    return lambda ask, args, user: joined(ask, name, [args], user)


# the others ---------------------------------------------------------------------------------------
def _everybody(ask: Asking, args: str, _user: bool) -> Cases:
    return always(ask.space, GRANTED if args.lower() == "granted" else DENIED)


def _environment(ask: Asking, args: str, _user: bool) -> Cases:
    return _result(ask, in_environment(ask, require_words(args)))


def _method(ask: Asking, args: str, _user: bool) -> Cases:
    numbers = {ask.settings.configuration.methods.number(name) for name in require_words(args)}
    return always(ask.space, GRANTED if ask.method in numbers else DENIED)


def _expression(ask: Asking, args: str, user: bool) -> Cases:
    if len(args) > 1 and args[0] == args[-1] == '"':
        args = args[1:-1]
    asks_user = USER in compile_condition(args, lookup=ask.plan.provider).reads
    good = ask.holds(Opaque(f"expr {args.strip()}", user=asks_user and user))
    return either(ask.space, good, GRANTED, DENIED_NO_USER if asks_user else DENIED)


def _local(ask: Asking, _args: str, _user: bool) -> Cases:
    loopback = in_networks(ask, (parse_written("127.0.0.0/8"), parse_written("::1")))
    return _result(ask, loopback | ask.holds(OwnAddress()))


def _forward_dns(ask: Asking, args: str, _user: bool) -> Cases:
    names = words(args) if _fixed(ask, args) is not None else [args]
    return _result(ask, ask.space.any_of(ask.holds(Opaque(f"forward-dns {name.lower()}")) for name in dict.fromkeys(names)))


def _valid_user(ask: Asking, _args: str, user: bool) -> Cases:
    return always(ask.space, GRANTED if user else DENIED_NO_USER)


def _group(ask: Asking, args: str, user: bool) -> Cases:
    file = ask.folder(AuthzGroupFileSettings).file
    if not user:
        return always(ask.space, DENIED_NO_USER)
    if file is None or ask.unreadable(file.path):
        return always(ask.space, DENIED)
    text = _fixed(ask, args)
    if text is None:
        return _result(ask, ask.holds(Opaque(f"{_normal('group', args)} by file {file.path}", user=True)))
    return _result(ask, ask.any_member(f"file {file.path}", (word.lower() for word in require_words(text))))


def _file_owner(ask: Asking, _args: str, user: bool) -> Cases:
    return _user_result(ask, ask.holds(Opaque("file-owner", user=True)), user)


def _file_group(ask: Asking, _args: str, user: bool) -> Cases:
    file = ask.folder(AuthzGroupFileSettings).file
    if file is None or ask.unreadable(file.path) or ask.plan.provider("access", "file_group") is None:
        return _user_result(ask, ask.space.false, user)
    return _user_result(ask, ask.holds(Opaque(f"file-group by file {file.path}", user=True)), user)


def _dbm(ask: Asking, user: bool, good: Callable[[str], Function]) -> Cases:
    settings = ask.folder(AuthzDbmSettings)
    if not user:
        return always(ask.space, DENIED_NO_USER)
    if not settings.path:
        return always(ask.space, DENIED)
    if ask.unreadable_dbm(settings.path, settings.kind):
        return always(ask.space, GENERAL_ERROR)
    return _result(ask, good(f"dbm {settings.kind} {settings.path}"))


def _dbm_group(ask: Asking, args: str, user: bool) -> Cases:
    text = _fixed(ask, args)
    if text is None:
        return _dbm(ask, user, lambda source: ask.holds(Opaque(f"{_normal('dbm-group', args)} by {source}", user=True)))
    return _dbm(ask, user, lambda source: ask.any_member(source, text.split()))


def _dbm_file_group(ask: Asking, _args: str, user: bool) -> Cases:
    known = ask.plan.provider("access", "file_group") is not None
    return _dbm(ask, user, lambda source: ask.holds(Opaque(f"file-group by {source}", user=True)) if known else ask.space.false)


CHECKS: Final[dict[str, Check]] = {
    "all": _everybody, "env": _environment, "method": _method, "expr": _expression,
    "ip": _listed("ip"), "host": _listed("host"), "user": _listed("user"), "forward-dns": _forward_dns, "local": _local,
    "valid-user": _valid_user, "group": _group, "file-owner": _file_owner, "file-group": _file_group,
    "dbm-group": _dbm_group, "dbm-file-group": _dbm_file_group,
}
