"""mod_dir: index files, trailing slash redirects, FallbackResource."""

from __future__ import annotations

from collections.abc import Awaitable
from stat import S_IFDIR

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, is_digits
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Context
from whimbrel.directives.tokens import words as split_words
from whimbrel.engine.deps.files import KIND, is_file
from whimbrel.http.syntax.url import escape_uri
from whimbrel.modules.support.setters import by_version, set_flag, set_value
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, OK, HookStatus
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from whimbrel.engine.request import Request

DIRECTORY_HANDLER = "httpd/unix-directory"
REWRITE_HANDLER = "redirect-handler"


@dataclass(slots=True)
class DirDirConfig:
    """Per-directory settings; *names* None: no DirectoryIndex; *redirect*: its status, or 0."""

    names: list[str] | None = setting(None)
    add_slash: bool = setting(True)
    check_handler: bool = setting(False)
    redirect: int = setting(0)
    fallback: str | None = setting(None)


def add_names_24(_cmd: Command, conf: DirDirConfig, args: list[str]) -> None:
    """Add every word of the line; ``disabled`` as the only word clears the names of this section."""
    names = []
    for word in split_words(args[0]):
        if not word:
            break
        names.append(word)
    known = [] if conf.names is UNSET or conf.names is None else conf.names
    conf.names = [] if [w.lower() for w in names] == ["disabled"] else [*known, *names]


def add_name_22(_cmd: Command, conf: DirDirConfig, args: list[str]) -> None:
    """Add one name; 2.2 has no ``disabled``."""
    known = [] if conf.names is UNSET or conf.names is None else conf.names
    conf.names = [*known, args[0]]


_REDIRECTS = {"on": 302, "off": 0, "permanent": 301, "temp": 302, "seeother": 303}


def set_redirect(cmd: Command, conf: DirDirConfig, args: list[str]) -> None:
    """Set On, Off, a keyword or a number from 300 to 399."""
    word = args[0]
    if word.lower() in _REDIRECTS:
        conf.redirect = _REDIRECTS[word.lower()]
    elif is_digits(word[:1]):
        conf.redirect = atoi(word)
        if not 300 <= conf.redirect < 400:
            raise ConfigError(f"{cmd.name} only accepts values between 300 and 399")
    else:
        raise ConfigError(f"{cmd.name} ON|OFF|permanent|temp|seeother|3xx")


def _serves(sub: Request) -> bool:
    """Return True if the sub-request found a file that may replace the directory."""
    return sub.status == 200 and (sub.handler == "proxy-server" or is_file(sub.finfo))


def _take_over(r: Request, sub: Request) -> HookStatus:
    """Respond as the sub-request would have: with its redirect or its error."""
    r.notes = {**sub.notes, **r.notes}
    r.headers_out = sub.headers_out.overlay(r.headers_out)
    r.err_headers_out = sub.err_headers_out.overlay(r.err_headers_out)
    return sub.status


def _make_fallback(conf: DirDirConfig) -> Callable[[Request], Awaitable[HookStatus]]:
    async def fall_back(r: Request) -> HookStatus:
        sub = await r.engine.lookup_uri(r, conf.fallback or "", with_query=True)
        if _serves(sub):
            r.engine.fast_redirect(sub, r, keeps_filters=True)
            return OK
        if 300 <= sub.status < 400:
            return _take_over(r, sub)
        return sub.status if sub.status not in (200, 404) else DECLINED

    return fall_back


def _make_slash(conf: DirDirConfig) -> Callable[[Request], HookStatus]:
    def slash(r: Request) -> HookStatus:
        """Redirect (301) to the name with a slash; with redirect-carefully only for GET."""
        if not conf.add_slash or (r.method_number != 0 and "redirect-carefully" in r.env):
            return DECLINED
        if r.handler is None:
            r.handler = DIRECTORY_HANDLER
        path = escape_uri(r.uri) + "/"
        r.headers_out.set(
            "Location", r.engine.construct_url(r, path if r.args is None else f"{path}?{r.args}")
        )
        return 301

    return slash


def _make_index(conf: DirDirConfig) -> Callable[[Request], Awaitable[HookStatus]]:
    names = ["index.html"] if conf.names is None else conf.names
    last = len(names) - 1

    async def index(r: Request) -> HookStatus:
        """Try the names in order: the first file, else the first redirect or the last error."""
        failure = 0
        for at, name in enumerate(names):
            sub = await r.engine.lookup_uri(r, name, with_query=True)
            if _serves(sub):
                if conf.redirect:
                    r.headers_out.set("Location", r.engine.construct_url(r, sub.uri))
                    return conf.redirect
                r.engine.fast_redirect(sub, r, keeps_filters=True)
                return OK
            if 300 <= sub.status < 400 or (at == last and sub.status in (401, 406)):
                return _take_over(r, sub)
            if sub.status not in (404, 200):
                failure = sub.status
        if failure:
            return failure
        r.notes["dir-index-names"] = ",".join(names)
        return DECLINED

    return index


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Make the fixup of directory URLs: slash redirect, index file, or nothing (a listing may follow)."""
    conf = scope.dir_config(DirDirConfig)
    fall_back = _make_fallback(conf)
    slash = _make_slash(conf)
    index = _make_index(conf)

    async def fixup(r: Request) -> HookStatus:
        if r.finfo is None:
            return await fall_back(r) if r.handler is None else DECLINED
        if not r.uri.endswith("/"):
            return slash(r)
        if r.handler == REWRITE_HANDLER:
            return DECLINED
        if r.handler is None:
            r.handler = DIRECTORY_HANDLER
        if r.path_info or (conf.check_handler and r.handler != DIRECTORY_HANDLER):
            return DECLINED
        return await index(r)

    def unless_file(r: Request) -> HookStatus | Awaitable[HookStatus]:
        info = r.finfo
        if conf.fallback is None if info is None else info.st_mode & KIND != S_IFDIR:
            return DECLINED
        return fixup(r)

    reads = (Reads.FIELDS if conf.fallback is None else Reads.HEAD) | Reads.FILES
    return CompiledHook(unless_file, reads, is_async=True, needs_file=conf.fallback is None)


INDEXES = Context.OR_INDEXES

MODULE = Module(
    name="dir_module",
    source="mod_dir.c",
    dir_config=DirDirConfig,
    dir_setters={
        "FallbackResource": set_value("fallback", lambda word: None if word.lower() == "disabled" else word),
        "DirectoryIndex": by_version(add_name_22, add_names_24),
        "DirectorySlash": set_flag("add_slash"),
        "DirectoryCheckHandler": set_flag("check_handler"),
        "DirectoryIndexRedirect": set_redirect,
    },
    hooks=(Hook(FIXUPS, make_fixup, Order.LAST),),
)
