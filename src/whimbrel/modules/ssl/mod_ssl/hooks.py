"""Hooks of mod_ssl: SSLRequireSSL, SSLRequire, SSLUserName, FakeBasicAuth, variables of programs.

They are those of ssl_engine_kernel.c; a connection without TLS costs a test.
"""

from __future__ import annotations

import base64
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.expr.errors import EvalError
from whimbrel.expr.functions import decode_base64
from whimbrel.modules.ssl.mod_ssl import variables
from whimbrel.modules.ssl.mod_ssl.settings import (
    EXPORT_CERT_DATA,
    FAKE_BASIC_AUTH,
    OPTIONAL,
    STD_ENV_VARS,
    STRICT_REQUIRE,
    SslDirConfig,
    SslRequirement,
    SslServerConfig,
)
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, HookStatus

_MODULE: Final = "ssl"
FORBIDDEN_NOTE: Final = "ssl-access-forbidden"  # access was refused, which Satisfy Any cannot undo
SECURE_NOTE: Final = "ssl-secure-reneg"
_FAKE_PASSWORD: Final = "password"  # of FakeBasicAuth: the stored one is its hash


# access -------------------------------------------------------------------------------------------
def make_access(scope: Scope) -> CompiledHook | None:
    """Return the hook of SSLRequireSSL, SSLUserName and SSLRequire; None without them."""
    conf = scope.dir_config(SslDirConfig)
    server = scope.server_config(SslServerConfig)
    name = "" if FAKE_BASIC_AUTH in conf.options.options else conf.user_name
    if not (conf.requires_tls or name or conf.requirements):
        return None
    upgrades = server.engine == OPTIONAL
    requires_tls = conf.requires_tls
    requirements = conf.requirements
    old = not scope.dialect.messages_24

    def access(r: Request) -> HookStatus:
        if r.connection.tls is None:
            return _without_tls(r, upgrades) if requires_tls else DECLINED
        if name:
            _set_user(r, name)
        for requirement in requirements:
            if not _holds(r, requirement, old):
                r.notes[FORBIDDEN_NOTE] = "1"
                return 403
        return DECLINED

    return CompiledHook(access, Reads.NOTHING)


def _without_tls(r: Request, upgrades: bool) -> HookStatus:
    if upgrades:  # 2.2
        r.err_headers_out.set("Upgrade", "TLS/1.0, HTTP/1.1")
        r.err_headers_out.set("Connection", "Upgrade")
        return 426
    reason = f"access to {r.filename} failed, reason: SSL connection required"
    r.log("error", reason, code="AH02219", module=_MODULE)
    r.notes[FORBIDDEN_NOTE] = "1"
    return 403


def _set_user(r: Request, name: str) -> None:
    value = variables.lookup(r, name)
    if value:
        r.user = value
        if r.plan.dialect.messages_24:
            r.auth_type = "ClientCert"
    elif r.plan.dialect.messages_24:
        r.log("warn", f"Failed to set r->user to '{name}'", code="AH02227", module=_MODULE)


def _holds(r: Request, requirement: SslRequirement, old: bool) -> bool:
    """Return True if an SSLRequire holds; log why it does not."""
    try:
        if requirement.holds(r):
            return True
    except EvalError as problem:
        what = f"Failed to execute SSL requirement expression: {problem.reason}"
        r.log("error", f"access to {r.filename} failed, reason: {what}", code="AH02265", module=_MODULE)
        return False
    address = r.connection.useragent_ip or r.connection.client_ip
    denied = f"Access to {r.filename} denied for {address} (requirement expression not fulfilled)"
    r.log("info", denied, code="AH02266", module=_MODULE)
    r.log("info", f"Failed expression: {requirement.text}", code="AH02228", module=_MODULE)
    hint = " (see SSL logfile for more details)" if old else ""
    reason = f"access to {r.filename} failed, reason: SSL requirement expression not fulfilled{hint}"
    r.log("error", reason, code="AH02229", module=_MODULE)
    return False


# users --------------------------------------------------------------------------------------------
def make_user(scope: Scope) -> CompiledHook:
    """Return the hook that refuses faked names, and sets the user of FakeBasicAuth."""
    options = scope.dir_config(SslDirConfig).options.options
    is_strict = STRICT_REQUIRE in options
    fakes = FAKE_BASIC_AUTH in options

    def check_user(r: Request) -> HookStatus:
        if is_strict and FORBIDDEN_NOTE in r.notes:
            return 403
        if not r.initial:
            return DECLINED
        if _is_spoofed(r):
            return 403
        if fakes and not r.user:
            _fake(r)
        return DECLINED

    return CompiledHook(check_user, Reads.FIELDS)


def _is_spoofed(r: Request) -> bool:
    """Return True if a client without certificate sends what FakeBasicAuth would."""
    field = r.headers_in.get("Authorization")
    scheme, _, rest = (field or "").partition(" ")
    if lower(scheme) != "basic":
        return False
    user, _, password = decode_base64(rest.lstrip(" \t")).partition(":")
    if not user.startswith("/") or password != _FAKE_PASSWORD:
        return False
    r.log("error", f"Encountered FakeBasicAuth spoof: {user}", code="AH02035", module=_MODULE)
    return True


def _fake(r: Request) -> None:
    tls = variables.session_of(r)
    if tls is None or tls.peer_certificate is None:
        return
    from whimbrel.modules.ssl.mod_ssl import certificate_names, certificates  # need an optional library

    user = certificate_names.with_slashes(certificates.parse(tls.peer_certificate).subject)
    line = f"Basic {to_text(base64.b64encode(to_bytes(f'{user}:{_FAKE_PASSWORD}')))}"
    r.own_fields().set("Authorization", line)
    text = f'Faking HTTP Basic Auth header: "Authorization: {line}"'
    r.log("info", text, code="AH02036", module=_MODULE)


def make_auth(scope: Scope) -> CompiledHook | None:
    """Return the hook of +StrictRequire; None without it."""
    if STRICT_REQUIRE not in scope.dir_config(SslDirConfig).options.options:
        return None

    def check(r: Request) -> HookStatus:
        return 403 if FORBIDDEN_NOTE in r.notes else DECLINED

    return CompiledHook(check, Reads.NOTHING)


# Require ssl --------------------------------------------------------------------------------------
def make_require_tls(_scope: Scope, _args: str, _parsed: object) -> AuthzCheck:
    """Require ssl: grant requests over TLS."""
    return AuthzCheck(lambda r: Authz.DENIED if r.connection.tls is None else Authz.GRANTED, Reads.NOTHING)


def make_require_verified(_scope: Scope, _args: str, _parsed: object) -> AuthzCheck:
    """Require ssl-verify-client: grant clients with a certificate that was verified."""

    def check(r: Request) -> int:
        if r.connection.is_http2:  # httpd looks for the session at the stream's connection, which has none
            return Authz.DENIED
        tls = variables.session_of(r)
        is_verified = tls is not None and variables.verified(r, tls) == variables.VERIFY_SUCCESS
        return Authz.GRANTED if is_verified else Authz.DENIED

    return AuthzCheck(check, Reads.NOTHING)


# environment --------------------------------------------------------------------------------------
def make_fixups(scope: Scope) -> CompiledHook:
    """Return the hook that sets the variables of programs and pages."""
    options = scope.dir_config(SslDirConfig).options.options
    standard = STD_ENV_VARS in options
    exported = EXPORT_CERT_DATA in options

    def fixup(r: Request) -> HookStatus:
        tls = r.connection.tls
        if tls is None:
            return DECLINED
        env = r.env
        env["HTTPS"] = "on"
        if tls.server_name:
            env["SSL_TLS_SNI"] = tls.server_name
        if standard or exported:
            r.set_uncacheable()
        if standard:
            env.update(variables.standard_variables(r, tls))
        if exported:
            env.update(variables.certificate_variables(tls))
        r.notes[SECURE_NOTE] = "1" if tls.has_secure_renegotiation else "0"
        return DECLINED

    return CompiledHook(fixup, Reads.NOTHING)
