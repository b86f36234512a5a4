"""mod_userdir: maps /~name to a directory of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import getword
from whimbrel.modules.support.setters import own
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, TRANSLATE_NAME, HookStatus
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class UserDirServerConfig:
    """Per-server settings: patterns as written, the mode of *enabled*, and lists of users.

    A virtual host does not inherit lists (its own, empty ones count).
    """

    patterns: str | None = setting(None)
    disabled_for_all: bool = setting(False)
    disabled: frozenset[str] = setting(frozenset())
    enabled: frozenset[str] = setting(frozenset())

    def merge_onto(self, base: UserDirServerConfig) -> UserDirServerConfig:
        """Merge onto *base*, without its lists."""
        return UserDirServerConfig(
            base.patterns if self.patterns is UNSET else self.patterns,
            base.disabled_for_all if self.disabled_for_all is UNSET else self.disabled_for_all,
            self.disabled,
            self.enabled,
        )


def set_userdir(_cmd: Command, conf: UserDirServerConfig, words: list[str]) -> None:
    """Set ``disabled`` or ``enabled``, with or without users, else patterns."""
    word, rest = getword(words[0])
    if not word:
        raise ConfigError("UserDir requires an argument.")
    low = word.lower()
    if low not in ("disable", "disabled", "enable", "enabled"):
        conf.patterns = words[0]
        return
    off = low.startswith("dis")
    if not rest:
        conf.disabled_for_all = off
        return
    name = "disabled" if off else "enabled"
    users = set(own(conf, name, frozenset))
    while rest:
        user, rest = getword(rest)
        users.add(user.lower())
    setattr(conf, name, frozenset(users))


def _user_of(conf: UserDirServerConfig, uri: str, nobody: tuple[str, ...]) -> str | None:
    """Return the user that the URL names, None if the module does not apply; *nobody* are invalid names."""
    if not uri.startswith("/~"):
        return None
    user = uri[2:].partition("/")[0]
    if user in nobody:
        return None
    low = user.lower()
    if low in conf.disabled or (conf.disabled_for_all and low not in conf.enabled):
        return None
    return user


def _expanded(r: Request, pattern: str, user: str, below: str) -> tuple[str | None, str | None]:
    """Return (directory, None) that *pattern* gives for *user*, or (None, URL of a redirect)."""
    prefix, star, rest = pattern.partition("*")
    tail = rest if star else pattern
    is_absolute = pattern.startswith("/")
    if star and ":" in prefix and not is_absolute:
        return None, prefix + user + below
    if not tail or is_absolute:
        return (prefix + user + tail if star else f"{pattern}/{user}"), None
    home = r.engine.configuration.home(user)
    r.set_uncacheable()  # the account database has no dependency that could be checked
    return (None if home is None else f"{home}/{tail}"), None


def enable_suexec(configuration: Configuration) -> None:
    """Let the programs of users run as these users, where suEXEC is enabled."""
    from whimbrel.modules.support.cgi.suexec import enable  # -t must not pay

    enable(configuration)


def make_translate(scope: Scope) -> CompiledHook | None:
    """Make the hook that selects the first pattern whose directory exists, or the last one."""
    conf = scope.server_config(UserDirServerConfig)
    if conf.patterns is None:
        return None
    patterns = []
    rest = conf.patterns
    while rest:
        word, rest = getword(rest)
        patterns.append(word)
    last = len(patterns) - 1
    nobody = ("", ".", "..") if scope.dialect.user_dot_refused else ("", "..")

    def translate(r: Request) -> HookStatus:
        user = _user_of(conf, r.uri, nobody)
        if user is None:
            return DECLINED
        below = r.uri[2 + len(user) :]
        for at, pattern in enumerate(patterns):
            directory, url = _expanded(r, pattern, user, below)
            if url is not None:
                r.headers_out.set("Location", url)
                return 302
            if directory is not None and (at == last or r.deps.stat(directory) is not None):
                r.filename = directory + below
                r.context = (r.uri[: 2 + len(user)], directory)
                r.notes["mod_userdir_user"] = user
                return OK
        return DECLINED

    return CompiledHook(translate, Reads.HEAD | Reads.FILES)


MODULE = Module(
    name="userdir_module",
    source="mod_userdir.c",
    server_config=UserDirServerConfig,
    server_setters={
        "UserDir": set_userdir,
    },
    post_config=(enable_suexec,),
    hooks=(
        Hook(
            TRANSLATE_NAME,
            make_translate,
            Order.MIDDLE,
            after=("mod_alias.c",),
            before=("mod_vhost_alias.c",),
        ),
    ),
)
