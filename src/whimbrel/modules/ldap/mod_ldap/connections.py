"""Connections to LDAP servers: opened, bound and reused by threads (httpd's uldap_connection_*).

The functions block; they run in threads. A connection belongs to one operation at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from threading import Lock
from typing import Any, Final, TypeVar

import ldap

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.ldap.mod_ldap.results import (
    INVALID_DN_SYNTAX,
    OTHER,
    SERVER_DOWN,
    SUCCESS,
    TIMEOUT,
    UNAVAILABLE,
    LdapResult,
)

T = TypeVar("T")
_MAX_IDLE: Final = 64  # idle connections of a worker
_DEREFERENCE: Final = {
    "never": ldap.DEREF_NEVER,
    "searching": ldap.DEREF_SEARCHING,
    "finding": ldap.DEREF_FINDING,
    "always": ldap.DEREF_ALWAYS,
}


class Failed(Exception):
    """An operation failed; *code* and *text* are the library's."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text

    @property
    def is_server_down(self) -> bool:
        """Return True if the connection is lost, so that another one may serve."""
        return self.code in (SERVER_DOWN, UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files of LDAPTrustedGlobalCert and LDAPTrustedClientCert; "" where none is set."""

    authorities: str = ""
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """An LDAP server and the way to it.

    Attributes:
        uris: of the server, or of several that stand in for each other, separated by blanks
        secure: "none", "ssl" or "starttls"
        dereference: never, searching, finding or always
        referrals: True to follow them, None for the library's default; hops: their limit, 0 for the default
        certificates, verify: TLS: files, and whether the server's certificate is checked
        connect_timeout, timeout: seconds to connect, and for one operation; 0 for no limit
        retries, retry_delay: after a lost connection, and seconds before each
        idle_timeout: seconds that a connection may be idle; below zero for ever
    """

    uris: str
    secure: str = "none"
    dereference: str = "always"
    referrals: bool | None = True
    hops: int = 0
    certificates: Certificates = Certificates()
    verify: bool = True
    connect_timeout: int = 10
    timeout: int = 60
    retries: int = 3
    retry_delay: float = 0
    idle_timeout: float = -1


def utf8(text: str) -> str:
    """Return the characters of *text*, bytes of UTF-8; raises Failed for other bytes."""
    try:
        return to_bytes(text).decode()
    except UnicodeDecodeError as problem:
        raise Failed(INVALID_DN_SYNTAX, "Invalid DN syntax") from problem


def call(operation: Callable[..., T], *arguments: object) -> T:
    """Return *operation* of *arguments*; raises Failed for every error of the library."""
    try:
        return operation(*arguments)
    except ldap.LDAPError as problem:
        details = problem.args[0] if problem.args and isinstance(problem.args[0], dict) else {}
        code = details.get("result", getattr(problem, "errnum", OTHER))
        raise Failed(code, str(details.get("desc", "")) or str(problem)) from problem
    except (ValueError, TypeError, UnicodeError) as problem:  # a NUL in a name, say
        raise Failed(OTHER, str(problem)) from problem


class LdapConnection:
    """One connection to a target, opened at its first use.

    Attributes:
        reason: how the last operation ended, for httpd's messages
        bound: is the connection bound with its present credentials
    """

    def __init__(self, target: Target, dn: str | None, password: str | None) -> None:
        self.target = target
        self.dn = dn
        self.password = password
        self.handle: Any = None
        self.bound = False
        self.reason = ""
        self.idle_since = 0.0

    def open(self) -> None:
        """Connect and bind where that is not done; raises Failed."""
        if self.bound:
            self.reason = "LDAP: connection open successful (already bound)"
            return
        target = self.target
        for attempt in range(target.retries + 1):
            if attempt and target.retry_delay:
                time.sleep(target.retry_delay)
            try:
                if self.handle is None:
                    self._connect()
                self._bind()
            except Failed as problem:
                is_last = attempt == target.retries
                if is_last or not (problem.is_server_down or problem.code == TIMEOUT):
                    self.close()
                    raise
                self.close()
            else:
                self.bound = True
                self.reason = "LDAP: connection open successful"
                return

    def _bind(self) -> None:
        self.reason = "LDAP: ldap_simple_bind() failed"
        dn = None if self.dn is None else utf8(self.dn)
        call(self.handle.simple_bind_s, dn, None if self.password is None else to_bytes(self.password))

    def _connect(self) -> None:
        self.reason = "LDAP: ldap initialization failed"
        target = self.target
        handle = call(ldap.initialize, _uris(target))
        handle.protocol_version = ldap.VERSION3
        handle.set_option(ldap.OPT_DEREF, _DEREFERENCE[target.dereference])
        if target.referrals is not None:
            handle.set_option(ldap.OPT_REFERRALS, ldap.OPT_ON if target.referrals else ldap.OPT_OFF)
        handle.set_option(ldap.OPT_NETWORK_TIMEOUT, target.connect_timeout or None)
        if target.timeout:
            handle.timeout = target.timeout
            handle.set_option(ldap.OPT_TIMEOUT, target.timeout)
        if target.secure != "none":
            self._secure(handle)
        self.handle = handle

    def _secure(self, handle: Any) -> None:
        target = self.target
        files = self.target.certificates
        demand = ldap.OPT_X_TLS_DEMAND if target.verify else ldap.OPT_X_TLS_NEVER
        call(handle.set_option, ldap.OPT_X_TLS_REQUIRE_CERT, demand)
        for option, path in (
            (ldap.OPT_X_TLS_CACERTFILE, files.authorities),
            (ldap.OPT_X_TLS_CERTFILE, files.certificate),
            (ldap.OPT_X_TLS_KEYFILE, files.key),
        ):
            if path:
                call(handle.set_option, option, path)
        call(handle.set_option, ldap.OPT_X_TLS_NEWCTX, 0)
        if target.secure == "starttls":
            self.reason = "LDAP: ldap_start_tls_s() failed"
            call(handle.start_tls_s)

    def operate(self, what: str, operation: Callable[[Any], T]) -> T:
        """Return *operation* of the open connection, again on a new one where it is lost; raises Failed.

        *what* begins the reason: ``ldap_compare_s()``.
        """
        target = self.target
        attempt = 0
        while True:
            self.open()
            try:
                return operation(self.handle)
            except Failed as problem:
                self.reason = f"{what} failed"
                if problem.is_server_down:
                    self.reason += " with server down"
                elif problem.code == TIMEOUT:
                    self.reason += " with timeout"
                else:
                    raise
                self.close()
                if attempt >= target.retries:
                    raise
            attempt += 1
            if target.retry_delay:
                time.sleep(target.retry_delay)

    def verify(self, dn: str, password: str) -> LdapResult:
        """Bind as *dn*; the connection must be bound again before its next use."""
        what = "ldap_simple_bind() to check user credentials"
        try:
            call(self.handle.simple_bind_s, utf8(dn), to_bytes(password))
        except Failed as problem:
            self.close()
            down = " with server down" if problem.is_server_down else ""
            timed = problem.code == TIMEOUT
            self.reason = f"{what} timed out" if timed else f"{what} failed{down}"
            return LdapResult(problem.code, self.reason, problem.text)
        self.bound = False
        return LdapResult(SUCCESS, "Authentication successful")

    def close(self) -> None:
        """Close the connection; it may be opened again."""
        handle, self.handle, self.bound = self.handle, None, False
        if handle is not None:
            with suppress(ldap.LDAPError):
                handle.unbind_s()


class Connections:
    """The idle connections of a worker, at most `_MAX_IDLE`; for several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._idle: list[LdapConnection] = []  # the one used last at the end
        self._lock = Lock()
        self._clock = clock

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, target: Target, dn: str | None, password: str | None) -> LdapConnection:
        """Return an idle connection to *target* with these credentials, else one to bind, or a new one."""
        expired: list[LdapConnection] = []
        with self._lock:
            found = self._find(target, (dn, password), expired)
            if found is None:
                found = self._find(target, None, expired)
        for connection in expired:
            connection.close()
        if found is None:
            return LdapConnection(target, dn, password)
        if (found.dn, found.password) != (dn, password):
            found.bound = False
            found.dn = dn
            found.password = password
        return found

    def _find(
        self, target: Target, credentials: Hashable | None, expired: list[LdapConnection]
    ) -> LdapConnection | None:
        limit = target.idle_timeout
        for index in range(len(self._idle) - 1, -1, -1):
            connection = self._idle[index]
            if connection.target != target:
                continue
            if credentials is not None and (connection.dn, connection.password) != credentials:
                continue
            del self._idle[index]
            if limit < 0 or self._clock() - connection.idle_since <= limit:
                return connection
            expired.append(connection)
        return None

    def give(self, connection: LdapConnection) -> None:
        """Keep *connection* for others if it is open."""
        if connection.handle is None:
            return
        if connection.target.idle_timeout == 0:
            connection.close()
            return
        connection.idle_since = self._clock()
        with self._lock:
            self._idle.append(connection)
            oldest = self._idle.pop(0) if len(self._idle) > _MAX_IDLE else None
        if oldest is not None:
            oldest.close()

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def texts(values: list[bytes] | None) -> str | None:
    """Return the values of an attribute as httpd joins them; None without one."""
    return "; ".join(map(to_text, values)) if values else None


def _uris(target: Target) -> str:
    """Return the URIs of *target*; with mode SSL those of ldap:// mean TLS from the first byte as well."""
    return target.uris.replace("ldap://", "ldaps://") if target.secure == "ssl" else target.uris
