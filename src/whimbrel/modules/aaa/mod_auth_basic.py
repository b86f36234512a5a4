"""mod_auth_basic: HTTP Basic authentication (RFC 7617)."""

from __future__ import annotations

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.directives.command import Command
from whimbrel.engine.expressions import StringExpression, literal, read_string
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.expr.errors import EvalError
from whimbrel.modules.aaa.mod_authn_core import find_provider
from whimbrel.modules.support.auth.auth_api import (
    Authn,
    AuthnProvider,
    BoundAuthn,
    auth_name,
    auth_type,
    ready_authn,
)
from whimbrel.modules.support.setters import add_values, set_choice, set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import (
    CHECK_USER_ID,
    DECLINED,
    FIXUPS,
    FORWARD_PROXY,
    NOTE_AUTH_FAILURE,
    OK,
    HookStatus,
)
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE = "auth_basic"
_log = module_log(_MODULE)
_BASE64 = compile(r"[A-Za-z0-9+/]*")
FakeUser = tuple[StringExpression, StringExpression]


@dataclass(slots=True)
class AuthBasicDirConfig:
    """Per-directory settings; *fake*: AuthBasicFake; *digest*: providers return MD5(user:realm:pw)."""

    providers: list[AuthnProvider] = setting(make=list)
    authoritative: bool = setting(True)
    fake: FakeUser | None = setting(None)
    digest: bool = setting(False)


def set_fake(cmd: Command, record: AuthBasicDirConfig, words: list[str]) -> None:
    """AuthBasicFake: off, or expressions for user and password."""
    if words[0].lower() == "off":
        record.fake = None
        return
    user = read_string(cmd, words[0], f"Could not parse fake username expression '{words[0]}'")
    if len(words) == 1:
        record.fake = (user, literal("password"))
        return
    record.fake = (
        user,
        read_string(
            cmd, words[1], f"Could not parse fake password expression associated to user '{words[0]}'"
        ),
    )


# credentials of the request -----------------------------------------------------------------------
def decode_base64(value: str) -> str:
    """Decode *value* as APR's base64 decoder does: up to the first character outside the alphabet."""
    from binascii import a2b_base64

    match = _BASE64.match(value)
    digits = match[0] if match else ""
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    return to_text(a2b_base64(digits + "=" * (-len(digits) % 4)))


def credentials(r: Request) -> tuple[str, str] | None:
    """Return user and password of the request; None without them (another scheme is logged)."""
    line = r.headers_in.get("Proxy-Authorization" if r.proxy == FORWARD_PROXY else "Authorization")
    if line is None:
        return None
    scheme, _, rest = line.partition(" ")
    if scheme.lower() != "basic":
        _log(r, "error", "AH01614", f"client used wrong authentication scheme: {r.uri}")
        return None
    user, _, password = decode_base64(rest.lstrip(" ")).partition("\0")[0].partition(":")
    return user, password


def challenge(r: Request, realm: str | None) -> None:
    """Send a challenge for credentials."""
    r.err_headers_out.set(
        "Proxy-Authenticate" if r.proxy == FORWARD_PROXY else "WWW-Authenticate",
        f'Basic realm="{"(null)" if realm is None else realm}"',
    )


# hooks --------------------------------------------------------------------------------------------
def is_basic(kind: str | None) -> bool:
    """Return True if the authentication type is this module's."""
    return kind is not None and kind.lower() == "basic"


def make_authenticate(scope: Scope) -> CompiledHook:
    """Identify the client and verify the password (check_user_id)."""
    settings = scope.dir_config(AuthBasicDirConfig)
    kind = auth_type(scope)
    realm_of = auth_name(scope)
    checks = [ready_authn(scope, provider) for provider in _providers(scope, settings)]
    reads = Reads.FIELDS
    for check in checks:
        reads |= check.reads

    async def authenticate(r: Request) -> HookStatus:
        auth_type_name = kind(r)
        if auth_type_name is None or auth_type_name.lower() != "basic":
            return DECLINED
        realm = realm_of(r)
        if realm is None:
            _log(r, "error", "AH01615", f"need AuthName: {r.uri}")
            return 500
        r.auth_type = auth_type_name
        given = credentials(r)
        if given is None:
            challenge(r, realm)
            return 401
        r.user, password = given
        result = await _check_password(r, checks, settings.digest, realm, password)
        if result == Authn.GRANTED:
            return OK
        if not settings.authoritative and result != Authn.DENIED:
            return DECLINED
        return _refused(r, result, realm)

    return CompiledHook(authenticate, reads, is_async=True)


def _providers(scope: Scope, settings: AuthBasicDirConfig) -> list[AuthnProvider]:
    """Return the providers of AuthBasicProvider; by default that of mod_authn_file."""
    default = scope.provider("authn", "file")
    return settings.providers or ([default] if default is not None else [])


async def _check_password(
    r: Request, checks: list[BoundAuthn], digest: bool, realm: str, password: str
) -> int:
    """Return the authn_status of the first provider that has the user."""
    if not checks:
        _log(r, "error", "AH01616", "No Authn provider configured")
        return Authn.GENERAL_ERROR
    result = Authn.USER_NOT_FOUND
    user = r.user or ""
    for check in checks:
        result = await (
            _by_realm(r, check, user, realm, password) if digest else check.password(r, user, password)
        )
        if result != Authn.USER_NOT_FOUND:
            break
    return result


async def _by_realm(r: Request, check: BoundAuthn, user: str, realm: str, password: str) -> int:
    """AuthBasicUseDigestAlgorithm: compare the provider's hash with MD5(user:realm:password)."""
    if check.realm_hash is None:
        return Authn.GENERAL_ERROR
    result, stored = await check.realm_hash(r, user, realm)
    if result != Authn.USER_FOUND:
        return result
    from hashlib import md5

    return (
        Authn.GRANTED if md5(to_bytes(f"{user}:{realm}:{password}")).hexdigest() == stored else Authn.DENIED
    )


def _refused(r: Request, result: int, realm: str) -> HookStatus:
    if result == Authn.DENIED:
        _log(r, "error", "AH01617", f'user {r.user}: authentication failure for "{r.uri}": Password Mismatch')
    elif result == Authn.USER_NOT_FOUND:
        _log(r, "error", "AH01618", f"user {r.user} not found: {r.uri}")
    else:
        return 500
    challenge(r, realm)
    return 401


def make_note(scope: Scope) -> CompiledHook:
    """Add the challenge to a 401 of another module."""
    kind = auth_type(scope)
    realm_of = auth_name(scope)

    def note(r: Request) -> HookStatus:
        if not is_basic(kind(r)):
            return DECLINED
        challenge(r, realm_of(r))
        return OK

    return CompiledHook(note, Reads.FIELDS)


def make_fake(scope: Scope) -> CompiledHook | None:
    """AuthBasicFake: set an Authorization field for the backend."""
    fake = scope.dir_config(AuthBasicDirConfig).fake
    if fake is None or scope.dialect.access_in_core:
        return None
    from base64 import b64encode

    user, password = fake

    def set_header(r: Request) -> HookStatus:
        values = []
        for template, what, failed, empty in (
            (user, "user", "AH02455", "AH02458"),
            (password, "password", "AH02456", "AH02459"),
        ):
            try:
                value = template.text(r, _MODULE)
            except EvalError as problem:
                line = (
                    f"AuthBasicFake: could not evaluate {what} expression for URI '{r.uri}': {problem.reason}"
                )
                _log(r, "error", failed, line)
                return 500
            if not value:
                name = "username" if what == "user" else what
                _log(r, "info", empty, f"AuthBasicFake: empty {name} expression for URI '{r.uri}', ignoring")
                r.own_fields().unset("Authorization")
                return DECLINED
            values.append(value)
        credentials = "Basic " + to_text(b64encode(to_bytes(":".join(values))))
        r.own_fields().set("Authorization", credentials)
        r.log("info", f'AuthBasicFake: "Authorization: {credentials}"', code="AH02457", module=_MODULE)
        return OK

    return CompiledHook(set_header)


MODULE = Module(
    name="auth_basic_module",
    source="mod_auth_basic.c",
    dir_config=AuthBasicDirConfig,
    dir_setters={
        "AuthBasicProvider": add_values("providers", lambda cmd, words: [find_provider(cmd, words[0])]),
        "AuthBasicAuthoritative": set_flag("authoritative"),
        "AuthBasicFake": set_fake,
        "AuthBasicUseDigestAlgorithm": set_choice(
            "digest", {"off": False, "md5": True}, "Invalid algorithm in AuthBasicUseDigestAlgorithm: {word}"
        ),
    },
    hooks=(
        Hook(CHECK_USER_ID, make_authenticate),
        Hook(FIXUPS, make_fake, Order.LAST),
        Hook(NOTE_AUTH_FAILURE, make_note),
    ),
)
