"""Settings of mod_md: properties of managed domains, and settings of the whole server."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    pass

LETSENCRYPT: Final = "https://acme-v02.api.letsencrypt.org/directory"
AUTHORITIES: Final = {
    "letsencrypt": LETSENCRYPT,
    "letsencrypt-test": "https://acme-staging-v02.api.letsencrypt.org/directory",
    "buypass": "https://api.buypass.com/acme/directory",
    "buypass-test": "https://api.test4.buypass.no/acme/directory",
}
# MDRenewMode and MDRequireHttps, as md.json has them
RENEW_MANUAL = 0
RENEW_AUTO = 1
RENEW_ALWAYS = 2
REQUIRE_OFF = "off"
REQUIRE_PERMANENT = "permanent"
DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a lifetime: *percent* of it, or *seconds* if percent is 0."""

    seconds: float = 0.0
    percent: int = 0


@dataclass(frozen=True, slots=True)
class KeyKind:
    """The kind of a private key: *kind* is RSA, EC or Default; *bits* of RSA, *curve* of EC as written."""

    kind: str
    bits: int = 0
    curve: str = ""

    @property
    def name(self) -> str:
        """The name in messages and in md-status: ``rsa``, or the curve."""
        return self.curve or "rsa"

    @property
    def suffix(self) -> str:
        """What the names of its files have before ``.pem``."""
        return f".{self.curve.lower()}" if self.curve else ""

    @property
    def description(self) -> str:
        """The name in messages about orders: ``default``, ``rsa-3072``, ``ec-P-256``."""
        if self.curve:
            return f"ec-{self.curve}"
        if self.bits:
            return f"rsa-{self.bits}"
        return "default"


DEFAULT_KEYS: Final = (KeyKind("Default"),)


@dataclass(slots=True)
class MdServerConfig:
    """Properties of managed domains, per server or of one <MDomainSet>.

    Attributes:
        members_auto: MDMembers: names of virtual hosts are added.
        keys: MDPrivateKeys. `authorities`: URLs. `challenges`: MDCAChallenges, () for all that are possible.
        binding: MDExternalAccountBinding: key id and MAC key, None for none.
        dns01: MDChallengeDns01 of a section, "" for the server's.
        ca_file: trust anchors for connections to the authority, "" for the system's.
        definition: the section that is being read.
    """

    members_auto: bool = setting(True)
    require_https: str = setting(REQUIRE_OFF)
    renew_mode: int = setting(RENEW_AUTO)
    must_staple: bool = setting(False)
    keys: tuple[KeyKind, ...] = setting(DEFAULT_KEYS)
    renew_window: Slice = setting(Slice(percent=33))
    warn_window: Slice = setting(Slice(percent=10))
    authorities: tuple[str, ...] = setting(())
    contact: str = setting("")
    protocol: str = setting("ACME")
    agreement: str = setting("")
    challenges: tuple[str, ...] = setting(())
    binding: tuple[str, str] | None = setting(None)
    stapling: bool = setting(False)
    staple_others: bool = setting(True)
    dns01: str = setting("")
    profile: str = setting("")
    profile_mandatory: bool = setting(False)
    ari: bool = setting(True)
    ca_file: str = setting("")
    proxy: str = setting("")
    proxy_ca_file: str = setting("")
    definition: Any = setting(None)


@dataclass(slots=True)
class Definition:
    """A managed domain as it is written.

    Attributes:
        names: in lower case, the first names the domain.
        own: the settings of its section.
        certificate_files, key_files: static files, absolute.
    """

    names: list[str]
    own: MdServerConfig
    certificate_files: list[str] = field(default_factory=list)
    key_files: list[str] = field(default_factory=list)


@dataclass(slots=True)
class MdGlobalConfig:
    """Settings of the main server for all domains; virtual hosts set them as well.

    Attributes:
        local_80, local_443: local ports of http and https, 0 if not reachable; is_mapped_80,
            is_mapped_443: MDPortMap names them.
        match_servernames: MDMatchNames servernames.
        lock_wait: seconds to wait for the lock of the store, 0 without locks.
        dns01, dns01_version: the command for dns-01 and its arguments.
        times (check_interval, initial_delay, retry_delay, activation_delay): seconds.
    """

    definitions: list[Definition] = setting(make=list)
    store_dir: str = setting("")
    local_80: int = setting(80)
    local_443: int = setting(443)
    manages_main: bool = setting(False)
    notify_command: str = setting("")
    message_command: str = setting("")
    dns01: str = setting("")
    dns01_version: str = setting("1")
    server_status: bool = setting(False)
    certificate_status: bool = setting(True)
    staple_keep: Slice = setting(Slice(7 * DAY))
    staple_renew: Slice = setting(Slice(percent=33))
    check_name: str = setting("crt.sh")
    check_url: str = setting("https://crt.sh?q=")
    check_interval: float = setting(DAY / 2)
    initial_delay: float = setting(0.0)
    retry_delay: float = setting(30.0)
    retry_failover: int = setting(13)
    activation_delay: float = setting(0.0)
    lock_wait: float = setting(0.0)
    match_servernames: bool = setting(False)
