"""Managed domains as the server works with them, and as md.json has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.model import Server
from whimbrel.modules.md.mod_md.keys import validity
from whimbrel.modules.md.mod_md.settings import (
    LETSENCRYPT,
    RENEW_AUTO,
    RENEW_MANUAL,
    REQUIRE_OFF,
    Definition,
    KeyKind,
    MdServerConfig,
)
from whimbrel.modules.md.mod_md.values import slice_text
from whimbrel.registry.settings import merge, with_defaults

MD_FILE: Final = "md.json"
# states of md.json
UNKNOWN, INCOMPLETE, COMPLETE, EXPIRED, ERROR, MISSING_INFORMATION = range(6)
NO_ADMIN: Final = "[no address given]"


@dataclass(slots=True, eq=False)
class ManagedDomain:
    """One managed domain.

    Attributes:
        names: its DNS names; `name` is the first one.
        settings: merged with the server's.
        contacts: URIs. `authority`: the URL in use, "" before the first order. `account`: its id there.
        acme_tls_names: names whose virtual hosts have the protocol acme-tls/1.
        servers: the virtual hosts that it matches; `tls_servers`: those with TLS.
        state, state_text: as md.json has them.
        certificates: the first certificate of each key with its times, None for missing ones; `keys`.
        is_watched: it is checked for renewals.
    """

    names: list[str]
    settings: MdServerConfig
    contacts: list[str] = field(default_factory=list)
    certificate_files: list[str] = field(default_factory=list)
    key_files: list[str] = field(default_factory=list)
    authority: str = ""
    account: str = ""
    acme_tls_names: list[str] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)
    tls_servers: list[Server] = field(default_factory=list)
    state: int = UNKNOWN
    state_text: str = ""
    certificates: list[Any] = field(default_factory=list)
    is_watched: bool = False

    @property
    def name(self) -> str:
        """The name in the store."""
        return self.names[0]

    @property
    def keys(self) -> tuple[KeyKind, ...]:
        """The kinds of its private keys."""
        return self.settings.keys

    @property
    def authorities(self) -> tuple[str, ...]:
        """The URLs of its authorities."""
        return self.settings.authorities or (LETSENCRYPT,)

    @property
    def renews(self) -> bool:
        """True if certificates are obtained for it (md_will_renew_cert)."""
        mode = self.settings.renew_mode
        return mode != RENEW_MANUAL and not (mode == RENEW_AUTO and self.certificate_files)

    @property
    def key_names(self) -> list[str]:
        """The names of its certificates in md-status: static files have numbers."""
        if self.certificate_files:
            return [f"[{number}]" for number in range(len(self.certificate_files))]
        return [spec.name for spec in self.keys]

    def lifetimes(self) -> list[tuple[float, float] | None]:
        """Return the times of its certificates, None for missing ones."""
        return [None if each is None else validity(each) for each in self.certificates]

    def matches(self, name: str) -> bool:
        """Return True if *name*, in lower case, is one of its names or below a wildcard of it."""
        return name in self.names or any(is_below(name, pattern) for pattern in self.names)


def is_below(name: str, pattern: str) -> bool:
    """Return True if the wildcard *pattern* covers *name*: one label more than its base."""
    return pattern.startswith("*.") and name.partition(".")[2] == pattern[2:] != ""


def uri(contact: str) -> str:
    """Return a contact as a URI."""
    return contact if ":" in contact else f"mailto:{contact}"


def make(definition: Definition, base: MdServerConfig, admin: str) -> ManagedDomain:
    """Return the domain of *definition* with the settings of the server below its own."""
    settings = with_defaults(merge(base, definition.own))
    contact = settings.contact or ("" if admin == NO_ADMIN else admin)
    return ManagedDomain(
        list(definition.names),
        settings,
        [uri(contact)] if contact else [],
        list(definition.certificate_files),
        list(definition.key_files),
    )


def by_name(domains: Iterable[ManagedDomain], name: str) -> ManagedDomain | None:
    """Return the domain of that name."""
    return next((domain for domain in domains if domain.name == name), None)


def by_host(domains: Iterable[ManagedDomain], host: str) -> ManagedDomain | None:
    """Return the domain that has *host*, in lower case, among its names."""
    return next((domain for domain in domains if host in domain.names), None)


def to_json(domain: ManagedDomain, *, with_authority: bool = True) -> dict[str, Any]:
    """Return md.json; *with_authority*: with the authority and the account in use."""
    settings = domain.settings
    ca = dict[str, Any]()
    if with_authority and domain.account:
        ca["account"] = domain.account
    ca["proto"] = settings.protocol
    if with_authority and domain.authority:
        ca["url"] = domain.authority
    ca["urls"] = list(domain.authorities)
    if settings.agreement:
        ca["agreement"] = settings.agreement
    if settings.challenges:
        ca["challenges"] = list(dict.fromkeys(settings.challenges))
    record: dict[str, Any] = {
        "name": domain.name,
        "domains": list(domain.names),
        "contacts": list(domain.contacts),
        "transitive": int(settings.members_auto),
        "ca": ca,
    }
    if keys := [_key_json(spec) for spec in domain.keys if spec.kind != "Default"]:
        record["privkey"] = keys[0] if len(keys) == 1 else keys
    record["state"] = domain.state
    if domain.state_text:
        record["state-descr"] = domain.state_text
    record |= {
        "renew-mode": settings.renew_mode,
        "renew-window": slice_text(settings.renew_window),
        "warn-window": slice_text(settings.warn_window),
    }
    if settings.require_https != REQUIRE_OFF:
        record["require-https"] = settings.require_https
    record |= {
        "must-staple": settings.must_staple,
        "proto": {"acme-tls/1": list(domain.acme_tls_names)},
        "stapling": settings.stapling,
    }
    if settings.binding:
        record["eab"] = dict(zip(("kid", "hmac"), settings.binding, strict=True))
    if settings.profile:
        record["profile"] = settings.profile
    record |= {"profile-mandatory": settings.profile_mandatory, "ari-renewals": settings.ari}
    if domain.certificate_files:
        record |= {"cert-files": list(domain.certificate_files), "pkey-files": list(domain.key_files)}
    return record


def _key_json(spec: KeyKind) -> dict[str, Any]:
    return {"type": "RSA", "bits": spec.bits} if spec.kind == "RSA" else {"type": "EC", "curve": spec.curve}


def names_in(record: dict[str, Any]) -> list[str]:
    """Return the DNS names in md.json; malformed ones are left out."""
    names = record.get("domains")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def text_in(record: dict[str, Any], *keys: str) -> str:
    """Return a text in nested objects, "" without one."""
    value: Any = record
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
