"""Settings of mod_ssl: records per server, per directory and for connections to back ends.

Merging is that of ssl_engine_config.c.  Manual: mod/mod_ssl.html.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.registry.settings import UNSET, appended, overlaid, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

# values of SSLEngine
OFF = "off"
ON = "on"
OPTIONAL = "optional"
# values of SSLVerifyClient and SSLProxyVerify
VERIFY_NONE = "none"
VERIFY_OPTIONAL = "optional"
VERIFY_REQUIRE = "require"
VERIFY_NO_CA = "optional_no_ca"
# values of SSLCARevocationCheck
CRL_NONE = "none"
CRL_LEAF = "leaf"
CRL_CHAIN = "chain"
NO_CRL_OK: Final = "no_crl_for_cert_ok"

PROTOCOLS: Final = ("SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")  # in the order of their versions
DEFAULT_CIPHERS: Final = "DEFAULT:!aNULL:!eNULL:!EXP"
DEFAULT_DEPTH: Final = 1
DEFAULT_REQUEST_BUFFER: Final = 128 * 1024
FIRST_CERTIFICATES: Final = 3  # of an inherited list: those that a virtual host's own replace one by one

# words of SSLOptions in lower case
STD_ENV_VARS = "stdenvvars"
EXPORT_CERT_DATA = "exportcertdata"
FAKE_BASIC_AUTH = "fakebasicauth"
STRICT_REQUIRE = "strictrequire"
OPT_RENEGOTIATE = "optrenegotiate"
LEGACY_DN = "legacydnstringformat"


@dataclass(frozen=True, slots=True)
class PassPhraseDialog:
    """The value of SSLPassPhraseDialog: *kind* is "builtin", "exec" or "pipe"; *command* the program."""

    kind: str = "builtin"
    command: str = ""


@dataclass(frozen=True, slots=True)
class SslOptions:
    """SSLOptions.

    Attributes:
        options: those that are on.
        is_relative: True without a word without sign, which replaces what outer sections set.
        added, removed: the words with signs.
    """

    options: frozenset[str] = frozenset()
    is_relative: bool = True
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()

    def over(self, base: SslOptions) -> SslOptions:
        """Return these options of an inner section over those of an outer one."""
        if not self.is_relative:
            return self
        added = (base.added - self.removed) | self.added
        removed = (base.removed - self.added) | self.removed
        return SslOptions((base.options - removed) | added, base.is_relative, added, removed)

    def with_word(self, sign: str, option: str) -> SslOptions:
        """Return the options after one more word; one without sign leaves no other."""
        one = frozenset({option})
        if sign == "+":
            return SslOptions(self.options | one, self.is_relative, self.added | one, self.removed - one)
        if sign == "-":
            return SslOptions(self.options - one, self.is_relative, self.added - one, self.removed | one)
        return SslOptions(one, False)


@dataclass(frozen=True, slots=True)
class SslRequirement:
    """One SSLRequire line; *holds* is evaluated for each request and may raise EvalError."""

    text: str
    holds: Callable[[Request], bool]


def certificates_merged(base: Any, over: Any) -> Any:
    """Return a virtual host's files over the main server's: the first ones replace each other."""
    inner = over[:FIRST_CERTIFICATES]
    return inner + base[len(inner) :] + over[FIRST_CERTIFICATES:]


@dataclass(slots=True)
class SslServerConfig:
    """Per-server settings.

    Attributes:
        engine: SSLEngine; `engine_of_host`: the line stands in a virtual host, which 2.2 does not inherit.
        protocols: names in PROTOCOLS; None: all that the library has.
        certificates, keys: SSLCertificateFile and SSLCertificateKeyFile, in pairs.
        ca_names_file, ca_names_path: SSLCADNRequestFile and -Path.
        verify, depth: SSLVerifyClient and SSLVerifyDepth.
        crl_check: SSLCARevocationCheck; `crl_may_miss`: its no_crl_for_cert_ok.
        verifies_in_sections: a section asks for certificates, which takes a further handshake.
        ocsp: SSLOCSPEnable: "off", "on" or "leaf"; `ocsp_may_miss`: its no_ocsp_for_cert_ok.
        ocsp_settings, stapling_settings: further SSLOCSP* and SSLStapling* values by directive.
        commands: SSLOpenSSLConfCmd.
        session_cache, stapling_cache: of the main server; "" without one.
        crypto_device, fips, sni_policy, dialog: of the main server.
        backend_sections: the records of <Proxy> sections.
    """

    engine: str = setting(OFF)
    engine_of_host: bool = setting(False)
    protocols: frozenset[str] | None = setting(None)
    ciphers: str = setting("")
    tls13_ciphers: str = setting("")
    honor_order: bool = setting(False)
    compression: bool = setting(False)
    certificates: list[str] = setting(make=list, merge=certificates_merged)
    keys: list[str] = setting(make=list, merge=certificates_merged)
    chain_file: str = setting("")
    ca_file: str = setting("")
    ca_path: str = setting("")
    ca_names_file: str = setting("")
    ca_names_path: str = setting("")
    crl_file: str = setting("")
    crl_path: str = setting("")
    crl_check: str = setting(CRL_NONE)
    crl_may_miss: bool = setting(False)
    verify: str = setting(VERIFY_NONE)
    depth: int = setting(DEFAULT_DEPTH)
    verifies_in_sections: bool = setting(False)
    session_timeout: int = setting(300)
    session_tickets: bool = setting(True)
    ticket_key_file: str = setting("")
    insecure_renegotiation: bool = setting(False)
    strict_sni: bool = setting(False)
    ocsp: str = setting(OFF)
    ocsp_may_miss: bool = setting(False)
    ocsp_settings: dict[str, str | int | bool] = setting(make=dict, merge=overlaid)
    stapling: bool = setting(False)
    stapling_settings: dict[str, str | int | bool] = setting(make=dict, merge=overlaid)
    srp_file: str = setting("")
    srp_seed: str = setting("")
    commands: list[tuple[str, str]] = setting(make=list, merge=appended)
    dialog: PassPhraseDialog = setting(PassPhraseDialog())
    session_cache: str = setting("")
    stapling_cache: str = setting("")
    crypto_device: str = setting("")
    fips: bool = setting(False)
    sni_policy: str = setting("secure")
    backend_sections: list[SslProxyDirConfig] = setting(make=list)


@dataclass(slots=True)
class SslDirConfig:
    """Per-directory settings.

    Attributes:
        requires_tls: SSLRequireSSL. `requirements`: SSLRequire.
        ciphers, verify, depth: of a section, which renegotiates; None outside of sections.
        user_name: the variable of SSLUserName, "" without one.
        request_buffer: SSLRenegBufferSize.
    """

    requires_tls: bool = setting(False)
    requirements: list[SslRequirement] = setting(make=list, merge=appended)
    options: SslOptions = setting(SslOptions(), merge=lambda base, over: over.over(base))
    ciphers: str | None = setting(None)
    verify: str | None = setting(None)
    depth: int | None = setting(None)
    user_name: str = setting("")
    request_buffer: int = setting(DEFAULT_REQUEST_BUFFER)


@dataclass(slots=True)
class SslProxyDirConfig:
    """Settings of connections to back ends: of a server, or of a <Proxy> section.

    Attributes:
        check_expire, check_cn, check_name: SSLProxyCheckPeer*; None without a line.
        certificate_file, certificate_path, chain_file: SSLProxyMachineCertificate*.
    """

    engine: bool = setting(False)
    protocols: frozenset[str] | None = setting(None)
    ciphers: str = setting("")
    tls13_ciphers: str = setting("")
    verify: str = setting(VERIFY_NONE)
    depth: int = setting(DEFAULT_DEPTH)
    ca_file: str = setting("")
    ca_path: str = setting("")
    crl_file: str = setting("")
    crl_path: str = setting("")
    crl_check: str = setting(CRL_NONE)
    crl_may_miss: bool = setting(False)
    certificate_file: str = setting("")
    certificate_path: str = setting("")
    chain_file: str = setting("")
    check_expire: bool | None = setting(None)
    check_cn: bool | None = setting(None)
    check_name: bool | None = setting(None)


def added(entries: Any, *more: Any) -> list[Any]:
    """Return the list setting *entries* with *more*."""
    return [*([] if entries is UNSET else entries), *more]
