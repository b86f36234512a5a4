"""mod_session (2.4): values that belong to a visitor, loaded before a request is answered and saved before its answer goes out.

Manual: mod/mod_session.html.  Where a session lies is the matter of the modules that register under "session_store"; those under "session_seal"
change its text on the way.  The text is ``key=value&key=value``, escaped as forms are; the key ``expiry`` is microseconds since the epoch.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, cast

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.numbers import atoi, strtol
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Args, Context, Directive, Versions
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.url import escape_form
from whimbrel.modules.support.setters import add_text, set_flag, set_number, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import FIXUPS, INSERT_ERROR_FILTER, INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import appended, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE = "session"
_EXPIRY: Final = "expiry"
_SECOND: Final = 1_000_000  # microseconds
_ESCAPE: Final = re.compile(r"%(..?)?", re.DOTALL)
_ANYWHERE: Final = Context.OR_AUTHCFG | Context.RSRC_CONF


@dataclass(slots=True)
class SessionDirConfig:
    """Per-directory settings; *max_age* in seconds, 0 for none, *update* in seconds, *header* "" for none."""

    enabled: bool = setting(False)
    max_age: int = setting(0)
    header: str = setting("")
    env: bool = setting(False)
    include: list[str] = setting(make=list, merge=appended)
    exclude: list[str] = setting(make=list, merge=appended)
    update: int = setting(0)


@dataclass(slots=True, repr=False)
class Session:
    """One visitor's values; they show in no log, so it has no representation of its own.

    *encoded* is the text that came from the store and is still to be read, None once it was; *key* is what the store knows the session by.  *expiry*
    is in microseconds since the epoch, 0 for never; *max_age* in seconds.
    """

    encoded: str | None = None
    entries: Headers = field(default_factory=Headers)
    expiry: int = 0
    max_age: int = 0
    key: str = ""
    dirty: bool = False
    written: bool = False

    def get(self, name: str) -> str | None:
        """A value."""
        return self.entries.get(name)

    def set(self, name: str, value: str | None) -> None:
        """Change a value, None takes it away; the session is to be saved."""
        if value is None:
            self.entries.unset(name)
        else:
            self.entries.set(name, value)
        self.dirty = True


class SessionError(Exception):
    """A store or a seal failed; what went wrong is logged already, *cause* is the system's reason in APR's wording."""

    def __init__(self, cause: str = "") -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Store:
    """What a module registers under "session_store".

    *load* gives the session of a request, None where nothing is configured; *save* gets the session and its text, "" for an empty session, and tells
    whether it is configured.  Both raise SessionError.
    """

    load: Callable[[Request], Awaitable[Session | None]]
    save: Callable[[Request, Session, str], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class SessionCodec:
    """What a module registers under "session_seal": both change a session's text and raise SessionError."""

    encode: Callable[[Request, str], str]
    decode: Callable[[Request, str], str]


# text ---------------------------------------------------------------------------------------------
def encode(session: Session) -> str:
    """The session as text."""
    if session.expiry:
        session.entries.set(_EXPIRY, str(session.expiry))
    return "&".join(f"{escape_form(name)}={escape_form(value)}" for name, value in session.entries.items())


def decode(session: Session, encoded: str) -> None:
    """Lay what *encoded* says over the session; a key without value takes the old one away, pairs with bad escapes count for nothing."""
    for pair in encoded.split("&"):
        key, _, value = pair.lstrip("=").partition("=")
        name, plain = _unescaped(key), _unescaped(value)
        if not name or plain is None:
            continue
        if name == _EXPIRY and plain:
            session.expiry = _number(plain)
        elif plain:
            session.entries.set(name, plain)
        else:
            session.entries.unset(name)


def _unescaped(value: str) -> str | None:
    """A form's value; None for escapes that are none, and for NUL."""
    bad = False

    def one(match: re.Match[str]) -> str:
        nonlocal bad
        digits = match[1] or ""
        good = len(digits) == 2 and all(c in "0123456789abcdefABCDEF" for c in digits) and digits != "00"
        bad = bad or not good
        return chr(int(digits, 16)) if good else ""

    found = _ESCAPE.sub(one, value.replace("+", " "))
    return None if bad else found


def _number(value: str) -> int:
    return strtol(value)[0]


# loading and saving -------------------------------------------------------------------------------
def _providers(r: Request, group: str) -> list[Any]:
    """What loaded modules registered under *group*, in load order."""
    modules = r.engine.configuration.modules.modules
    return [provider.value for module in modules for provider in module.providers if provider.group == group]


def first_request(r: Request) -> Request:
    """The request that the client sent: where a session is noted for those that it becomes and that it leads to."""
    while (before := r.main or r.prev) is not None:
        r = before
    return r


def noted(r: Request, name: str) -> Session | None:
    """The session that *note* kept."""
    found = cast(dict[str, Any], first_request(r).notes).get(name)
    return found if isinstance(found, Session) else None


def note(r: Request, name: str, session: Session) -> None:
    """Keep the session for whoever loads it later."""
    cast(dict[str, Any], first_request(r).notes)[name] = session


def _wanted(r: Request, conf: SessionDirConfig) -> bool:
    if not conf.enabled:
        return False
    included = not conf.include or any(r.uri.startswith(prefix) for prefix in conf.include)
    if included and not any(r.uri.startswith(prefix) for prefix in conf.exclude):
        return True
    r.log("debug", f"excluded by configuration for: {r.uri}", code="AH01814", module=_MODULE)
    return False


def _now(r: Request) -> int:
    r.set_uncacheable()
    return int(r.engine.runtime.now() * _SECOND)


async def load(r: Request) -> Session | None:
    """The request's session, an empty one where the client has none or it has expired; None where there is to be none, or (logged) no store."""
    conf = r.dir_config(SessionDirConfig)
    if not _wanted(r, conf):
        return None
    now = _now(r)
    session = None
    try:
        for store in _providers(r, "session_store"):
            session = await store.load(r)
            if session is not None:
                break
        else:
            _complain(
                r,
                "warn",
                "AH01815",
                "session is enabled but no session modules have been configured, session not loaded",
            )
            return None
    except SessionError as problem:
        _complain(r, "error", "AH01816", "error while loading the session, session not loaded", problem)
        return None
    if session is None or not _read(r, session) or (session.expiry and session.expiry < now):
        session = Session()
    if conf.max_age:
        session.expiry = session.expiry or now + conf.max_age * _SECOND
        session.max_age = conf.max_age
    return session


def _complain(r: Request, level: str, code: str, words: str, problem: SessionError | None = None) -> None:
    r.log(
        level,
        f"{words}: {r.uri}",
        code=code,
        module=_MODULE,
        cause=problem.cause if problem is not None else "",
    )


def _read(r: Request, session: Session) -> bool:
    """Read the text that came from the store, once; False (logged) where it can't be opened."""
    if session.encoded is None:
        return True
    plain = session.encoded
    try:
        for codec in _providers(r, "session_seal"):
            plain = codec.decode(r, plain)
    except SessionError as problem:
        _complain(r, "error", "AH01817", "error while decoding the session, session not loaded", problem)
        return False
    decode(session, plain)
    session.encoded = None
    return True


async def save(r: Request, session: Session) -> None:
    """Save the session if it has changed, or if its end moves on by enough; what goes wrong is logged."""
    conf, now = r.dir_config(SessionDirConfig), _now(r)
    if session.written:
        return
    before = session.expiry
    if before and before < now:
        _complain(
            r,
            "warn",
            "AH01819",
            "attempt made to save a session when the session had already expired, session not saved",
        )
        return
    if conf.max_age:
        session.expiry = now + conf.max_age * _SECOND
        session.max_age = conf.max_age
    if not session.dirty and (
        not session.max_age or (conf.update and session.expiry - before < conf.update * _SECOND)
    ):
        return
    try:
        encoded = encode(session)
        for codec in _providers(r, "session_seal"):
            encoded = codec.encode(r, encoded)
    except SessionError as problem:
        _complain(r, "error", "AH01820", "error while encoding the session, session not saved", problem)
        return
    try:
        for store in _providers(r, "session_store"):
            if await store.save(r, session, encoded):
                session.written = True
                return
        _complain(
            r,
            "warn",
            "AH01821",
            "session is enabled but no session modules have been configured, session not saved",
        )
    except SessionError as problem:
        _complain(r, "error", "AH01822", "error while saving the session, session not saved", problem)


# hooks --------------------------------------------------------------------------------------------
def make_fixup(scope: Scope) -> CompiledHook | None:
    """Load the session, so that it is refused or begun before the handler; show it to programs."""
    conf = scope.dir_config(SessionDirConfig)
    if not conf.enabled:
        return None

    async def fixup(r: Request) -> HookStatus:
        session = await load(r)
        if session is not None and conf.env:
            r.env["HTTP_SESSION"] = encode(session)
        return OK

    return CompiledHook(fixup, Reads.HEAD | Reads.UNCACHEABLE, is_async=True)


def make_insert(scope: Scope) -> CompiledHook | None:
    """Save the session when the answer's head is about to go out."""
    if not scope.dir_config(SessionDirConfig).enabled:
        return None

    def insert(r: Request) -> HookStatus:
        r.add_filter(before_answer)
        return OK

    return CompiledHook(insert, Reads.HEAD | Reads.UNCACHEABLE)


async def before_answer(r: Request) -> None:
    """Take in what SessionHeader's field says, then save."""
    r = r.main or r
    session = await load(r)
    if session is None or session.written:
        return
    name = r.dir_config(SessionDirConfig).header
    given = None
    if name:
        given = r.err_headers_out.get(name)
        given = r.headers_out.get(name) if given is None else given
    if given is not None:
        r.err_headers_out.unset(name)
        r.headers_out.unset(name)
        session.dirty = True
        decode(session, given)
    await save(r, session)


# directives ---------------------------------------------------------------------------------------
def set_update(_cmd: Command, record: SessionDirConfig, words: list[str]) -> None:
    """SessionExpiryUpdateInterval: seconds."""
    record.update = atoi(words[0])
    if record.update < 0:
        raise ConfigError("SessionExpiryUpdateInterval must be zero (disable) or a positive value")


MODULE = Module(
    name="session_module",
    source="mod_session.c",
    versions=Versions.V24,
    dir_config=SessionDirConfig,
    directives=(
        Directive(
            name="Session",
            args=Args.FLAG,
            where=_ANYWHERE,
            apply=set_flag("enabled"),
            help="on if a session should be maintained for these URLs",
        ),
        Directive(
            name="SessionMaxAge",
            args=Args.TAKE1,
            where=_ANYWHERE,
            apply=set_number("max_age"),
            help="length of time for which a session should be valid. Zero to disable",
        ),
        Directive(
            name="SessionHeader",
            args=Args.TAKE1,
            where=_ANYWHERE,
            apply=set_text("header"),
            help="output header, if present, whose contents will be injected into the session.",
        ),
        Directive(
            name="SessionEnv",
            args=Args.FLAG,
            where=_ANYWHERE,
            apply=set_flag("env"),
            help="on if a session should be written to the CGI environment. Defaults to off",
        ),
        Directive(
            name="SessionInclude",
            args=Args.TAKE1,
            where=_ANYWHERE,
            apply=add_text("include"),
            help="URL prefixes to include in the session. Defaults to all URLs",
        ),
        Directive(
            name="SessionExclude",
            args=Args.TAKE1,
            where=_ANYWHERE,
            apply=add_text("exclude"),
            help="URL prefixes to exclude from the session. Defaults to no URLs",
        ),
        Directive(
            name="SessionExpiryUpdateInterval",
            args=Args.TAKE1,
            where=_ANYWHERE,
            apply=set_update,
            help="time interval for which a session's expiry time may change without having to be rewritten. Zero to disable",
        ),
    ),
    hooks=(
        Hook(FIXUPS, make_fixup, Order.MIDDLE),
        Hook(INSERT_FILTER, make_insert, Order.MIDDLE),
        Hook(INSERT_ERROR_FILTER, make_insert, Order.MIDDLE),
    ),
    providers=(Provider("session", "load", load),),
)
