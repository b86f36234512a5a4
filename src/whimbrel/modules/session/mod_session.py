"""mod_session (2.4): per-visitor values, loaded before the handler runs and saved before the response is
sent.

Modules that register under "session_store" store sessions; those under "session_seal" encode their text. The
text is ``key=value&key=value``, escaped as forms are; the key ``expiry`` is microseconds since the epoch.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, cast

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.numbers import strtol
from whimbrel.directives.spec import Versions
from whimbrel.engine.output.filter import FilterType, OutputFilter, add_output_filter
from whimbrel.engine.redirect_chain import client_request
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.url import escape_form
from whimbrel.modules.support.setters import add_text, set_flag, set_in_range, set_number, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import FIXUPS, INSERT_ERROR_FILTER, INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import appended, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE = "session"
_EXPIRY: Final = "expiry"
_SECOND: Final = 1_000_000  # microseconds
_ESCAPE: Final = re.compile(r"%(..?)?", re.DOTALL)


@dataclass(slots=True)
class SessionDirConfig:
    """Per-directory settings; *max_age* in seconds, 0 for none; *update* in seconds; *header* "" for none."""

    enabled: bool = setting(False)
    max_age: int = setting(0)
    header: str = setting("")
    env: bool = setting(False)
    include: list[str] = setting(make=list, merge=appended)
    exclude: list[str] = setting(make=list, merge=appended)
    update: int = setting(0)


@dataclass(slots=True, repr=False)
class Session:
    """One visitor's values; without a representation, so that no log shows them.

    Attributes:
        encoded: the text of the store before it is parsed, then None
        key: the key of the session in its store
        expiry: microseconds since the epoch, 0 for never
        max_age: seconds
    """

    encoded: str | None = None
    entries: Headers = field(default_factory=Headers)
    expiry: int = 0
    max_age: int = 0
    key: str = ""
    dirty: bool = False
    written: bool = False

    def get(self, name: str) -> str | None:
        """Return a value."""
        return self.entries.get(name)

    def set(self, name: str, value: str | None) -> None:
        """Set a value, or remove it (None); the session must then be saved."""
        if value is None:
            self.entries.unset(name)
        else:
            self.entries.set(name, value)
        self.dirty = True


class SessionError(Exception):
    """A store or codec failed; the error is logged, *cause* is the system's reason as APR words it."""

    def __init__(self, cause: str = "") -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Store:
    """A session store that a module registers under "session_store".

    *load* returns the session of a request, None if nothing is configured.  *save* gets the session and its
    text, "" for an empty session, and returns True if it is configured.  Both raise SessionError.
    """

    load: Callable[[Request], Awaitable[Session | None]]
    save: Callable[[Request, Session, str], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class SessionCodec:
    """A codec that a module registers as "session_seal": text to text; both raise SessionError."""

    encode: Callable[[Request, str], str]
    decode: Callable[[Request, str], str]


# text ---------------------------------------------------------------------------------------------
def encode(session: Session) -> str:
    """Return the session as text."""
    if session.expiry:
        session.entries.set(_EXPIRY, str(session.expiry))
    return "&".join(f"{escape_form(name)}={escape_form(value)}" for name, value in session.entries.items())


def decode(session: Session, encoded: str) -> None:
    """Merge *encoded* into the session; keys without value go, pairs with bad escapes count not."""
    for pair in encoded.split("&"):
        key, _, value = pair.lstrip("=").partition("=")
        name = _unescaped(key)
        plain = _unescaped(value)
        if not name or plain is None:
            continue
        if name == _EXPIRY and plain:
            session.expiry = _number(plain)
        elif plain:
            session.entries.set(name, plain)
        else:
            session.entries.unset(name)


def _unescaped(value: str) -> str | None:
    """Return a form's value; None for invalid escapes, and for NUL."""
    bad = False

    def one(match: re.Match[str]) -> str:
        nonlocal bad
        digits = match[1] or ""
        good = len(digits) == 2 and all(c in "0123456789abcdefABCDEF" for c in digits) and digits != "00"
        bad = bad or not good
        return chr(int(digits, 16)) if good else ""

    text = _ESCAPE.sub(one, value.replace("+", " "))
    return None if bad else text


def _number(value: str) -> int:
    return strtol(value)[0]


# loading and saving -------------------------------------------------------------------------------
def _providers(r: Request, group: str) -> list[Any]:
    """Return the objects that loaded modules registered under *group*, in load order."""
    modules = r.engine.configuration.modules.modules
    return [provider.value for module in modules for provider in module.providers if provider.group == group]


def noted(r: Request, name: str) -> Session | None:
    """Return the session stored by `note`."""
    session = cast(dict[str, Any], client_request(r).notes).get(name)
    return session if isinstance(session, Session) else None


def note(r: Request, name: str, session: Session) -> None:
    """Store the session for later loads in the same request."""
    cast(dict[str, Any], client_request(r).notes)[name] = session


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
    """Return the request's session, empty if the client has none or it has expired.

    None if sessions are off or (logged) there is no store.
    """
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
    """Parse the text of the store, once; return False (logged) if it cannot be decoded."""
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
    """Save the session if it changed, or if its expiry moved by the update interval; errors are logged."""
    conf = r.dir_config(SessionDirConfig)
    now = _now(r)
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
    """Load the session before the handler; set HTTP_SESSION for programs."""
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
    """Save the session before the response head is sent."""
    if not scope.dir_config(SessionDirConfig).enabled:
        return None

    def insert(r: Request) -> HookStatus:
        add_output_filter(r, SESSION_OUT)
        return OK

    return CompiledHook(insert, Reads.HEAD | Reads.UNCACHEABLE)


class SessionOut(OutputFilter):
    """Output filter SESSION_OUT."""

    name = "SESSION_OUT"
    type = FilterType.CONTENT_SET

    def begin(self, r: Request) -> Awaitable[None]:
        """Save the session before the head is sent."""
        return merge_and_save(r.main or r)


SESSION_OUT: Final = SessionOut()


async def merge_and_save(r: Request) -> None:
    """Merge the field of SessionHeader into the session, then save it."""
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
MODULE = Module(
    name="session_module",
    source="mod_session.c",
    versions=Versions.V24,
    dir_config=SessionDirConfig,
    dir_setters={
        "Session": set_flag("enabled"),
        "SessionMaxAge": set_number("max_age"),
        "SessionHeader": set_text("header"),
        "SessionEnv": set_flag("env"),
        "SessionInclude": add_text("include"),
        "SessionExclude": add_text("exclude"),
        "SessionExpiryUpdateInterval": set_in_range(
            "update", 0, None, "SessionExpiryUpdateInterval must be zero (disable) or a positive value"
        ),
    },
    hooks=(
        Hook(FIXUPS, make_fixup, Order.MIDDLE),
        Hook(INSERT_FILTER, make_insert, Order.MIDDLE),
        Hook(INSERT_ERROR_FILTER, make_insert, Order.MIDDLE),
    ),
    providers=(Provider("session", "load", load),),
)
