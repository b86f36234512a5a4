"""Managed domains for tests: a certificate authority in memory, stores that httpd 2.4.71 has written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.access_site import MODULES, AccessSite
from tests.support.tls import FakeTls
from whimbrel.engine.connection import Connection
from whimbrel.modules.md.mod_md import keys
from whimbrel.modules.md.mod_md.authority import (
    Account,
    AcmeDirectory,
    AuthorityError,
    Authorization,
    CertificateOrder,
    Challenge,
    RenewalInfo,
)
from whimbrel.modules.md.mod_md.challenges import Reach
from whimbrel.modules.md.mod_md.domains import ManagedDomain
from whimbrel.modules.md.mod_md.manager import Manager, manager_of
from whimbrel.modules.md.mod_md.settings import KeyKind, MdGlobalConfig, MdServerConfig
from whimbrel.modules.md.mod_md.store import DOMAINS, FileStore
from whimbrel.registry.settings import with_defaults
from whimbrel.testing.client import TestClient

RECORDED = Path(__file__).parents[1] / "data" / "md_stores.json"
NOW = 1_800_000_000.0
DAY = 86_400.0
URL = "https://ca.example/dir"
EC = KeyKind("EC", curve="secp256r1")  # made in a thousandth of the time of an RSA key


def recorded_store(root: Path, name: str) -> FileStore:
    """Write a store that httpd has written: *name* is installed, staged or down."""
    for path, text in json.loads(RECORDED.read_text()).items():
        if path.startswith(f"{name}/"):
            file = root / path.removeprefix(f"{name}/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    store = FileStore(str(root))
    store.open()
    return store


def domain(*names: str, **properties: Any) -> ManagedDomain:
    """Return a domain with one EC key and an account that agrees to the terms."""
    known = {"keys": (EC,), "agreement": "accepted", "authorities": (URL,), **properties}
    settings = with_defaults(MdServerConfig(**known))
    made = ManagedDomain(list(names) or ["a.test"], settings, ["mailto:me@a.test"])
    made.acme_tls_names = list(made.names)
    return made


def manager(root: Path, *domains: ManagedDomain, **settings: Any) -> Manager:
    """Return a manager with an empty store; `lines` of its store has what it has logged."""
    store = FileStore(str(root / "md"))
    store.open()
    lines: list[tuple[str, ...]] = []
    conf = with_defaults(MdGlobalConfig(**settings))
    made = Manager(conf, list(domains), store, Reach(True, True), lambda *line: lines.append(line))
    made.initial_errors["lines"] = lines  # type: ignore[assignment]
    return made


def leaf(key: Any, names: list[str], begin: float = NOW, days: float = 90) -> x509.Certificate:
    """Return a certificate for *key* that an authority has signed."""
    signer = ec.generate_private_key(ec.SECP256R1())
    first = datetime.fromtimestamp(begin, UTC)
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "CA of tests")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(0x87654321)
        .not_valid_before(first)
        .not_valid_after(first + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, names))), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier(
                bytes.fromhex("69885b6b87464041e1b37b847bd0ae2cde01c8d4"), None, None
            ),
            critical=False,
        )
        .sign(signer, hashes.SHA256())
    )


@dataclass
class FakeAuthority:
    """An authority in memory that issues what it is asked for (CertificateAuthority).

    Attributes:
        check: function of kind and name of a challenge: returns the status of its authorization.
        fails: problems by the name of the method; `calls`: those so far.
        polls: number of times that an order is pending before it goes on.
    """

    offers: AcmeDirectory = field(default_factory=AcmeDirectory)
    kinds: tuple[str, ...] = ("http-01", "tls-alpn-01", "dns-01")
    check: Callable[[str, str], str] = lambda kind, name: "valid"
    fails: dict[str, AuthorityError] = field(default_factory=dict)
    polls: int = 0
    begin: float = NOW
    days: float = 90
    info: RenewalInfo | None = None
    calls: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    orders: list[tuple[list[str], str, str]] = field(default_factory=list)
    binding: tuple[str, str] | None = None
    request: bytes = b""
    spoils: bool = False

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name in self.fails:
            raise self.fails[name]

    def directory(self) -> AcmeDirectory:
        """What is offered."""
        self._call("directory")
        return self.offers

    def use(self, key_pem: bytes, account: str) -> None:
        """Any key will do."""
        self._call(f"use {account}".strip())

    def register(self, contacts: list[str], *, agrees: bool, binding: tuple[str, str] | None) -> Account:
        """Always the same account."""
        self._call("register")
        self.binding = binding
        return Account("https://ca.example/account/1", {"status": "valid", "contact": contacts})

    def check_account(self) -> None:
        """It is valid."""
        self._call("check_account")

    def new_order(self, names: list[str], profile: str, replaces: str) -> CertificateOrder:
        """One authorization for each name."""
        self._call("new_order")
        self.orders.append((list(names), profile, replaces))
        self.answered.clear()
        return self._order("pending")

    def _order(self, status: str) -> CertificateOrder:
        names = self.orders[-1][0]
        return CertificateOrder(
            "https://ca.example/order",
            status,
            tuple(f"https://ca.example/authz/{name}" for name in names),
            "https://ca.example/finalize",
            "https://ca.example/cert" if status == "valid" else "",
        )

    def order(self, url: str) -> CertificateOrder:
        """Pending for some time, then ready; valid once there is a request."""
        self._call("order")
        if self.polls > 0:
            self.polls -= 1
            return self._order("pending")
        return self._order("valid" if self.request else "ready")

    def authorization(self, url: str) -> Authorization:
        """Pending until a challenge was started."""
        self._call("authorization")
        name = url.rpartition("/")[2]
        kind = next((each.partition(" ")[0] for each in self.answered if each.endswith(f" {name}")), "")
        status = self.check(kind, name) if kind else "pending"
        challenges = tuple(Challenge(each, f"{each} {name}", f"token-{name}") for each in self.kinds)
        return Authorization(url, name.removeprefix("*."), status, challenges, "{}")

    def key_authorization(self, token: str) -> str:
        """The token with a thumbprint."""
        return f"{token}.print"

    def start_challenge(self, url: str) -> None:
        """Remember which was started."""
        self._call("start_challenge")
        self.answered.append(url)

    def finalize(self, order: CertificateOrder, request: bytes) -> None:
        """Keep the request."""
        self._call("finalize")
        self.request = request

    def certificate(self, url: str) -> bytes:
        """A certificate for the request."""
        self._call("certificate")
        request = x509.load_der_x509_csr(self.request)
        self.request = b""
        if self.spoils:
            return b"<html>"
        return keys.chain_pem([leaf(request, self.orders[-1][0], self.begin, self.days)])

    def renewal_info(self, identifier: str) -> RenewalInfo:
        """What the test has set."""
        self._call(f"renewal_info {identifier}")
        assert self.info is not None
        return self.info


SITE = (
    "MDStoreDir md\nMDPortMap http:8080 https:8443\nMDCertificateAgreement accepted\n"
    "MDContactEmail me@a.test\nMDPrivateKeys secp256r1\nListen 127.0.0.1:8443\n{more}\n"
    "<Location /md-status>\nSetHandler md-status\n</Location>\n"
    "<Location /server-status>\nSetHandler server-status\n</Location>\n"
    "<VirtualHost *:8080>\nServerName a.test\nServerAlias b.test\n</VirtualHost>\n"
    "<VirtualHost *:8443>\nServerName a.test\nServerAlias b.test\nSSLEngine on\n"
    "Protocols http/1.1 acme-tls/1\n{host}\n</VirtualHost>\n"
)


class ManagedSite(AccessSite):
    """A site with mod_ssl and mod_md, started as a server starts them."""

    def __init__(self, root: Path, more: str = "MDomain a.test\n", host: str = "") -> None:
        modules = f"{MODULES['2.4']} status ssl md"
        super().__init__(root, SITE.replace("{more}", more).replace("{host}", host), "2.4", modules)
        self.configuration = self.engine.configuration

    def begin(self) -> Manager:
        """Return what the start has made."""
        found = manager_of(self.configuration)
        assert found is not None
        return found

    def logged(self) -> list[tuple[str, str, str]]:
        """Return level, code and text of the lines of mod_md and mod_ssl."""
        return [
            (message.level, message.code, message.text)
            for message in self.configuration.messages
            if message.module in ("md", "ssl")
        ]

    def install(self, made: Manager, names: list[str], begin: float = NOW) -> None:
        """Put a certificate into the store, as an earlier start has."""
        key = keys.generate(EC)
        keys.save_key(made.store, DOMAINS, names[0], "privkey.secp256r1.pem", key)
        data = keys.chain_pem([leaf(key, names, begin)])
        made.store.save(DOMAINS, names[0], "pubcert.secp256r1.pem", data)

    def send(self, path: str, host: str = "a.test", method: str = "GET", tls: Any = None) -> str:
        """Return the response to a request."""
        port = 8080 if tls is None else 8443
        connection = Connection("127.0.0.1", 5000, "127.0.0.1", port, tls=tls)
        request = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"
        return TestClient(self.engine, connection).send(request.encode()).decode("latin-1")

    def over_tls(self, manager: Manager) -> FakeTls:
        """Return a session of the host a.test."""
        return FakeTls(b"", server_name="a.test", server=manager.domains[0].tls_servers[0])
