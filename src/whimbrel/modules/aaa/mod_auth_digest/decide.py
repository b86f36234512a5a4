"""Digest authentication of one request: credentials, their verification, challenges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import strtol, strtol_exact
from whimbrel.engine.identity import server_name, server_port
from whimbrel.modules.aaa.mod_auth_digest.clients import Client, Clients
from whimbrel.modules.aaa.mod_auth_digest.header import (
    NONCE_LENGTH,
    Credentials,
    make_nonce,
    read_credentials,
    response,
    same_uri,
    sign,
    split_uri,
    stamp_of,
)
from whimbrel.modules.aaa.mod_auth_digest.settings import AuthDigestDirConfig, AuthDigestServerConfig
from whimbrel.modules.core.access_22 import escape_quotes
from whimbrel.modules.support.auth.auth_api import (
    Authn,
    BoundAuthn,
    auth_name,
    auth_type,
    environment,
    ready_authn,
)
from whimbrel.registry.module import Scope
from whimbrel.registry.phases import DECLINED, FORWARD_PROXY, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

INFO: Final = "auth_digest:info"  # keys of request notes
_MODULE: Final = "auth_digest"
_CHALLENGED: Final = "auth_digest:challenged"
_COUNTED: Final = "auth_digest:counted"
_NEXT_NONCE: Final = 30  # seconds before a nonce expires when its successor is sent


def first_request(r: Request) -> Request:
    """Return the request that the client sent."""
    while r.main is not None:
        r = r.main
    while r.prev is not None:
        r = r.prev
    return r


class Digest:
    """Digest authentication under one merged configuration."""

    def __init__(self, scope: Scope) -> None:
        self.settings = scope.dir_config(AuthDigestDirConfig)
        self.old = scope.dialect.access_in_core
        server = scope.server_config(AuthDigestServerConfig)
        if server.clients is None:
            server.clients = Clients(server.memory)
        self.clients = server.clients
        self.kind = auth_type(scope)
        self.realm_of = auth_name(scope)
        default = scope.provider("authn", "file")
        providers = self.settings.providers or ([default] if default is not None else [])
        self.checks: list[BoundAuthn] = [ready_authn(scope, provider) for provider in providers]
        self.counting = not self.old and (self.settings.count or self.settings.lifetime == 0)

    def concerns(self, r: Request) -> bool:
        """Return True if the request's authentication type is this module's."""
        auth_type_name = self.kind(r)
        return auth_type_name is not None and auth_type_name.lower() == "digest"

    def log(self, r: Request, text: str, code: str, level: str = "error") -> None:
        """Write a line to the error log, with 2.2's prefix in that dialect."""
        r.log(level, f"Digest: {text}" if self.old else text, code=code, module=_MODULE)

    def given(self, r: Request) -> Credentials:
        """Return the client's credentials."""
        return read_credentials(
            first_request(r).headers_in.get(
                "Proxy-Authorization" if r.proxy == FORWARD_PROXY else "Authorization"
            )
        )

    # verification -----------------------------------------------------------------------------------
    async def authenticate(self, r: Request) -> HookStatus:
        """Identify the client (check_user_id)."""
        if not self.concerns(r):
            return DECLINED
        r.set_uncacheable()
        realm = self.realm_of(r)
        if realm is None:
            self.log(r, f"need AuthName: {r.uri}", "AH01780")
            return 500
        given = self.given(r)
        if given.scheme.lower() != "digest" or not given.complete(lengths=not self.old):
            return self._no_credentials(r, given, realm)
        r.user = given.fields["username"]
        r.auth_type = "Digest"
        if not self._means_this(r, given):
            return 400
        client = self._client(given)
        problem = self._odd(given, realm, r)
        if problem is not None:
            return self.refuse(r, realm, given, client, *problem)
        result, first = await self._hash(r, realm)
        problem = (
            self._unknown(r, realm, result) or self._mismatch(r, given, first)
            if result != Authn.GENERAL_ERROR
            else None
        )
        if result == Authn.GENERAL_ERROR:
            return 500
        if problem is not None:
            return self.refuse(r, realm, given, client, *problem)
        stale = self._bad_nonce(r, given, realm, client)
        if stale is not None:
            return self.challenged(r, realm, given, client, stale)
        first_request(r).notes[_COUNTED] = given.fields["nonce"]
        r.notes[INFO] = self._info(r, given, realm, client, first)
        return OK

    def _no_credentials(self, r: Request, given: Credentials, realm: str) -> HookStatus:
        if given.scheme.lower() == "digest":
            text = "missing user, realm, nonce, uri, digest, cnonce, or nonce_count in authorization header: "
            code = "AH01782"
            self.log(r, text + r.uri, code)
        elif given.scheme:
            self.log(r, f"client used wrong authentication scheme `{given.scheme}': {r.uri}", "AH01781")
        return self.challenged(r, realm, given, None, False)

    def _means_this(self, r: Request, given: Credentials) -> bool:
        """Return True if the uri parameter is the request's target; a mismatch is logged."""
        first = first_request(r)
        uri = given.fields["uri"]
        if uri == first.unparsed_uri:
            return True
        sent = split_uri(uri)
        requested = split_uri(first.unparsed_uri)
        if sent is None or requested is None:
            self.log(r, f"invalid uri <{uri}> in Authorization header", "AH01783")
            return False
        port = requested.port if requested.port_text else server_port(first)
        requested = requested if requested.hostname else replace(requested, hostname=server_name(first))
        forgiving = environment(r, "AuthDigestEnableQueryStringHack") is not None
        if r.method != "CONNECT" and same_uri(sent, requested, port, forgive_query=forgiving):
            return True
        self.log(
            r,
            f"uri mismatch - <{uri}> does not match request-uri <{first.unparsed_uri}>",
            "AH01785" if r.method == "CONNECT" else "AH01786",
        )
        return False

    def _client(self, given: Credentials) -> Client | None:
        number = _opaque(given)
        return None if self.old or not number else self.clients.find(number)

    def _odd(self, given: Credentials, realm: str, r: Request) -> tuple[str, str] | None:
        """Return what is wrong with opaque, realm and algorithm: text and code."""
        if given.get("opaque") is not None and _opaque(given) == 0:
            return f"received invalid opaque - got `{given.fields['opaque']}'", "AH01787"
        if given.fields["realm"] != realm:
            return f"realm mismatch - got `{given.fields['realm']}' but expected `{realm}'", "AH01788"
        algorithm = given.get("algorithm")
        if algorithm is not None and algorithm.lower() not in (("md5", "md5-sess") if self.old else ("md5",)):
            return f"unknown algorithm `{algorithm}' received: {r.uri}", "AH01789"
        return None

    async def _hash(self, r: Request, realm: str) -> tuple[int, str]:
        """Return status and hash of the first provider that has the user."""
        if not self.checks:
            self.log(r, "No Authn provider configured", "AH01770")
            return Authn.GENERAL_ERROR, ""
        result: tuple[int, str] = Authn.USER_NOT_FOUND, ""
        for check in self.checks:
            if check.realm_hash is None:
                return Authn.GENERAL_ERROR, ""
            result = await check.realm_hash(r, r.user or "", realm)
            if result[0] != Authn.USER_NOT_FOUND:
                break
        return result

    def _unknown(self, r: Request, realm: str, result: int) -> tuple[str, str] | None:
        if result == Authn.USER_FOUND:
            return None
        if result == Authn.DENIED:
            return f"user `{r.user}' in realm `{realm}' denied by provider: {r.uri}", "AH01791"
        return f"user `{r.user}' in realm `{realm}' not found: {r.uri}", "AH01790"

    def _mismatch(self, r: Request, given: Credentials, first: str) -> tuple[str, str] | None:
        """Return what is wrong with qop and response."""
        qop = given.get("qop")
        if (
            qop is None
            and not self.old
            or qop is not None
            and qop.lower() not in (self.settings.qop or ["auth"])
        ):
            if self.old:
                return f"invalid qop `{qop}' received: {r.uri}", ""
            return (
                f"invalid or missing qop value '{qop or '(null)'}', RFC 2069 is no longer supported: {r.uri}",
                "AH10560",
            )
        if response(first, given, first_request(r).method) != given.fields["response"]:
            return f"user {r.user}: password mismatch: {r.uri}", "AH01794"
        return None

    def _bad_nonce(self, r: Request, given: Credentials, realm: str, client: Client | None) -> bool | None:
        """Return None for a valid nonce; else log it and return True if the client only needs a new one."""
        nonce = given.fields["nonce"]
        if len(nonce) != NONCE_LENGTH:
            self.log(r, f"invalid nonce {nonce} received - length is not {NONCE_LENGTH}", "AH01775")
            return True
        stamp, number = stamp_of(nonce)
        genuine = sign(self.clients.secret, stamp, realm, given.get("opaque") or "")
        if nonce != genuine:
            self.log(r, f"invalid nonce {nonce} received - hash is not {genuine[len(stamp) :]}", "AH01776")
            return True
        lifetime = self.settings.lifetime
        age = first_request(r).time - number / 1e6
        if lifetime > 0 and age < -1e-6:
            self.log(r, f"invalid nonce {nonce} received - user attempted time travel", "AH01777")
            return True
        if lifetime > 0 and age > lifetime:
            text = (
                f"user {r.user}: nonce expired ({age:.2f} seconds old - max lifetime {lifetime:.2f}) - "
                "sending new nonce"
            )
            self.log(r, text, "AH01778", "info")
            return True
        if not self.counting or first_request(r).notes.get(_COUNTED) == nonce:
            return None
        return self._bad_count(r, given, number, client)

    def _bad_count(self, r: Request, given: Credentials, stamp: int, client: Client | None) -> bool | None:
        nonce = given.fields["nonce"]
        written = given.get("nc") or ""
        uses = strtol_exact(written.partition(" ")[0], 16)
        if uses is None:
            self.log(r, f"invalid nc {written} received - not a number", "AH01773")
            return False
        if client is None:
            self.log(r, f"client {_opaque(given)} is no longer known - sending new nonce", "AH10618", "info")
            return True
        if self.settings.lifetime == 0 and client.nonce != nonce:
            self.log(
                r,
                f"user {r.user}: one-time-nonce {nonce} already used - sending new nonce",
                "AH01779",
                "info",
            )
            return True
        known = self.clients.use(client, stamp, uses) if self.settings.count else None
        if known is not None:
            self.log(
                r,
                f"Warning, possible replay attack: nonce-count check failed: {uses} is not above {known} "
                f"for nonce {nonce}",
                "AH01774",
            )
            return False
        return None

    # challenges -------------------------------------------------------------------------------------
    def _nonce(self, r: Request, realm: str, opaque: str, client: Client | None) -> str:
        once = client is not None and self.settings.lifetime == 0
        stamp = self.clients.serial() if once else int(first_request(r).time * 1e6)
        nonce = make_nonce(self.clients.secret, stamp, realm, opaque)
        if client is not None and once:
            client.nonce = nonce
            self.clients.save(client)
        return nonce

    def refuse(
        self, r: Request, realm: str, given: Credentials, client: Client | None, text: str, code: str
    ) -> HookStatus:
        """Log the reason, and send a challenge."""
        self.log(r, text, code)
        return self.challenged(r, realm, given, client, False)

    def challenged(
        self, r: Request, realm: str, given: Credentials, client: Client | None, stale: bool
    ) -> HookStatus:
        """Send a challenge; a client whose entry was replaced gets a new number."""
        r.notes[_CHALLENGED] = "1"
        opaque = given.get("opaque") if client is not None else None
        if opaque is None and not self.old and (self.counting or given.get("opaque") is not None):
            client = self.clients.new()
            opaque, stale = f"{client.number:x}", stale or given.get("opaque") is not None
        nonce = self._nonce(r, realm, opaque or "", client)
        settings = self.settings
        parts = [f'realm="{realm}"', f'nonce="{nonce}"', f"algorithm={settings.algorithm}"]
        parts += [f'opaque="{opaque}"'] if opaque else []
        parts += [f'domain="{" ".join(settings.domain)}"'] if settings.domain and not r.proxy else []
        parts += ["stale=true"] if stale else []
        parts += [] if settings.qop[:1] == ["none"] else [f'qop="{", ".join(settings.qop) or "auth"}"']
        r.err_headers_out.set(
            "Proxy-Authenticate" if r.proxy == FORWARD_PROXY else "WWW-Authenticate",
            "Digest " + ", ".join(parts),
        )
        return 401

    def _info(self, r: Request, given: Credentials, realm: str, client: Client | None, first: str) -> str:
        """Return the Authentication-Info field of a permitted request."""
        lifetime = self.settings.lifetime
        nonce = ""
        is_expiring = (
            lifetime > 0
            and first_request(r).time - stamp_of(given.fields["nonce"])[1] / 1e6 > lifetime - _NEXT_NONCE
        )
        if is_expiring or (lifetime == 0 and client is not None):
            nonce = f', nextnonce="{self._nonce(r, realm, given.get("opaque") or "", client)}"'
        if self.settings.qop[:1] == ["none"] and given.get("qop") is None:
            return nonce.removeprefix(", ")
        out = f'rspauth="{response(first, given, "")}"{nonce}'
        if given.get("cnonce") is not None:
            out += f', cnonce="{escape_quotes(given.fields["cnonce"])}"'
        out += f", nc={given.fields['nc']}" if given.get("nc") is not None else ""
        return out + (f", qop={given.fields['qop']}" if given.get("qop") is not None else "")

    def note(self, r: Request) -> HookStatus:
        """Add the challenge to a 401 of another module."""
        if not self.concerns(r):
            return DECLINED
        if _CHALLENGED in r.notes:
            return OK
        realm = self.realm_of(r) or ""
        if self.old:
            value = f'Digest realm="{realm}", nonce="{int(r.time * 1e6):x}"'
            r.err_headers_out.set(
                "Proxy-Authenticate" if r.proxy == FORWARD_PROXY else "WWW-Authenticate", value
            )
            return OK
        given = self.given(r)
        self.challenged(r, realm, given, self._client(given), False)
        return OK


def _opaque(given: Credentials) -> int:
    return strtol(given.get("opaque") or "", 16)[0]
