"""Challenges: which kinds are possible, what answers them in the store, and their removal."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.md.mod_md import commands, keys
from whimbrel.modules.md.mod_md.domains import ManagedDomain
from whimbrel.modules.md.mod_md.result import NOT_IMPLEMENTED
from whimbrel.modules.md.mod_md.store import CHALLENGES, FileStore

HTTP_01 = "http-01"
TLS_ALPN_01 = "tls-alpn-01"
DNS_01 = "dns-01"
HTTP_FILE: Final = "acme-http-01.txt"
TLS_PREFIX: Final = "acme-tls-alpn-01-"
ACME_TLS: Final = "acme-tls/1"
_NO_DNS: Final = (
    " The DNS challenge 'dns-01' is disabled because the directive 'MDChallengeDns01' is not configured."
)
_NO_PROTOCOL: Final = (
    " The https: challenge 'tls-alpn-01' is disabled because the Protocols configuration does not include "
    "the 'acme-tls/1' protocol."
)
_NO_443: Final = (
    " The https: challenge 'tls-alpn-01' is disabled because the server seems not reachable on public port "
    "443."
)
_NO_80: Final = (
    " The http: challenge 'http-01' is disabled because the server seems not reachable on public port 80."
)
_UNSUITABLE: Final = "None of the ACME challenge methods configured for this domain are suitable."


@dataclass(frozen=True, slots=True)
class Reach:
    """How the outside reaches the server: *http* on port 80, *https* on port 443.

    Attributes:
        dns01: the command for dns-01, "" without one; `dns01_version`: its arguments.
    """

    http: bool
    https: bool
    dns01: str = ""
    dns01_version: str = "1"


class NoChallenge(Exception):
    """No kind of challenge is possible; the text is httpd's."""


class SetupFailed(Exception):
    """A challenge cannot be set up; another kind may be.

    Attributes:
        status: of APR; NOT_IMPLEMENTED if this kind is not configured. `text`: for the log, or "".
    """

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def possible(domain: ManagedDomain, reach: Reach) -> list[str]:
    """Return the kinds that are possible in the order of preference; raises NoChallenge."""
    if domain.settings.challenges:
        return list(domain.settings.challenges)  # the administrator knows how the server is reached
    wanted = (TLS_ALPN_01, HTTP_01, DNS_01)
    disabled = {}
    if not reach.http:
        disabled[HTTP_01] = _NO_80
    if not reach.https:
        disabled[TLS_ALPN_01] = _NO_443
    elif not domain.acme_tls_names:
        disabled[TLS_ALPN_01] = _NO_PROTOCOL
    if not (domain.settings.dns01 or reach.dns01):
        disabled[DNS_01] = _NO_DNS
    present = [kind for kind in wanted if kind not in disabled]
    if not present:
        raise NoChallenge(_UNSUITABLE + "".join(disabled.values()))
    return present


class ChallengeStore:
    """Answers to challenges of one domain.

    Attributes:
        setups: kind, name and digest of each answer that stands.
    """

    def __init__(
        self, store: FileStore, domain: ManagedDomain, reach: Reach, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._domain = domain
        self._reach = reach
        self._clock = clock
        self.setups: list[tuple[str, str, str]] = []

    def names(self) -> list[str]:
        """Return ``kind:name`` of the answers, as order.json has them."""
        return list(dict.fromkeys(f"{kind}:{name}" for kind, name, _digest in self.setups))

    def set_up(self, kind: str, name: str, authorization: str) -> None:
        """Write the answer to a challenge; raises SetupFailed, OSError, ValueError or MdStoreError."""
        if kind == HTTP_01:
            self._store.save(CHALLENGES, name, HTTP_FILE, authorization.encode())
        elif kind == TLS_ALPN_01:
            self._set_up_tls(name, authorization)
        elif kind == DNS_01:
            self._run_dns("setup", name, _digest(authorization))
        else:
            raise SetupFailed(NOT_IMPLEMENTED)
        self.setups.append((kind, name, _digest(authorization)))

    def _set_up_tls(self, name: str, authorization: str) -> None:
        if not self._domain.acme_tls_names:
            text = f"{name}: protocol 'acme-tls/1' seems not enabled for this or any other associated domain."
            raise SetupFailed(NOT_IMPLEMENTED, f"{text} Not attempting challenge type tls-alpn-01.")
        for spec in self._domain.keys:
            key: Any = keys.generate(spec)
            certificate = keys.challenge_certificate(key, name, authorization, self._clock())
            file = keys.key_file(spec, TLS_PREFIX)
            self._store.save(CHALLENGES, name, file, keys.key_pem(key), secret=True)
            data = keys.chain_pem([certificate])
            self._store.save(CHALLENGES, name, keys.chain_file(spec, TLS_PREFIX), data)

    def _run_dns(self, action: str, *arguments: str) -> None:
        command = self._domain.settings.dns01 or self._reach.dns01
        if not command:
            raise SetupFailed(NOT_IMPLEMENTED)
        code = commands.run(command, action, *arguments)
        if code != 0:
            text = f"{self._domain.name}: dns-01 {action} command returns {code} for {arguments[0]}"
            raise SetupFailed(commands.status_of(code), text)

    def tear_down(self) -> None:
        """Remove all answers."""
        for kind, name, digest in self.setups:
            if kind == DNS_01:
                answer = [digest] if self._reach.dns01_version == "2" else []
                try:
                    self._run_dns("teardown", name, *answer)
                except SetupFailed:
                    continue
            else:
                self._store.purge(CHALLENGES, name)
        self.setups.clear()


def _digest(authorization: str) -> str:
    """Return the value of the TXT record (RFC 8555, 8.4)."""
    return keys.base64url(sha256(authorization.encode()).digest())


def tls_answer(store: FileStore, domains: list[ManagedDomain], name: str) -> tuple[bytes, bytes] | None:
    """Return certificate and key in PEM that answer tls-alpn-01 for *name*, None without a challenge.

    Raises OSError or ValueError.
    """
    suffixes = dict.fromkeys(spec.suffix for domain in domains for spec in domain.keys)
    for suffix in suffixes:
        try:
            certificate = store.load(CHALLENGES, name, f"{TLS_PREFIX}pubcert{suffix}.pem")
            return certificate, store.load(CHALLENGES, name, f"{TLS_PREFIX}privkey{suffix}.pem")
        except FileNotFoundError:
            continue
    return None
