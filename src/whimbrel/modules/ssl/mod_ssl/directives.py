"""The setters of mod_ssl by directive."""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.ssl.mod_ssl import section_setters, server_setters
from whimbrel.modules.ssl.mod_ssl.server_setters import set_entry
from whimbrel.modules.ssl.mod_ssl.settings import SslProxyDirConfig, SslServerConfig
from whimbrel.modules.ssl.mod_ssl.values import (
    depth,
    is_in_section,
    protocols,
    set_directory,
    set_file,
    verify_mode,
)
from whimbrel.modules.support.setters import set_choice, set_flag, set_in_range, set_read, set_text
from whimbrel.registry.settings import UNSET

SOURCE: Final = "mod_ssl.c"
_OCSP = "ocsp_settings"
_STAPLING = "stapling_settings"

SERVER_SETTERS: Final[dict[str, Setter]] = {
    "SSLPassPhraseDialog": server_setters.set_pass_phrase_dialog,
    "SSLSessionCache": server_setters.set_session_cache,
    "SSLCryptoDevice": server_setters.set_crypto_device,
    "SSLRandomSeed": server_setters.check_random_seed,
    "SSLVHostSNIPolicy": set_choice(
        "sni_policy",
        ("strict", "secure", "authonly", "insecure"),
        "Invalid SSLVhostSNIPolicy argument '{word}'",
    ),
    "SSLMutex": server_setters.check_mutex,
    "SSLEngine": server_setters.set_engine,
    "SSLFIPS": server_setters.set_fips,
    "SSLCertificateFile": server_setters.add_certificate("certificates"),
    "SSLCertificateKeyFile": server_setters.add_certificate("keys"),
    "SSLCertificateChainFile": set_file("chain_file"),
    "SSLSessionTicketKeyFile": set_file("ticket_key_file"),
    "SSLCADNRequestPath": set_directory("ca_names_path"),
    "SSLCADNRequestFile": set_file("ca_names_file"),
    "SSLCARevocationPath": set_directory("crl_path"),
    "SSLCARevocationFile": set_file("crl_file"),
    "SSLCARevocationCheck": server_setters.set_revocation_check,
    "SSLSessionCacheTimeout": set_in_range(
        "session_timeout", 0, None, "SSLSessionCacheTimeout: Invalid argument"
    ),
    "SSLProtocol": set_read("protocols", protocols),
    "SSLHonorCipherOrder": set_flag("honor_order"),
    "SSLCompression": server_setters.set_compression,
    "SSLSessionTickets": set_flag("session_tickets"),
    "SSLInsecureRenegotiation": set_flag("insecure_renegotiation"),
    "SSLStrictSNIVHostCheck": set_flag("strict_sni"),
    "SSLSRPVerifierFile": set_file("srp_file"),
    "SSLSRPUnknownUserSeed": set_text("srp_seed"),
    "SSLOCSPEnable": server_setters.set_ocsp,
    "SSLOCSPDefaultResponder": set_entry(_OCSP, "responder", "text"),
    "SSLOCSPOverrideResponder": set_entry(_OCSP, "override", "flag"),
    "SSLOCSPResponseTimeSkew": set_entry(_OCSP, "skew", "seconds"),
    "SSLOCSPResponseMaxAge": set_entry(_OCSP, "max_age", "seconds"),
    "SSLOCSPResponderTimeout": set_entry(_OCSP, "timeout", "seconds"),
    "SSLOCSPUseRequestNonce": set_entry(_OCSP, "nonce", "flag"),
    "SSLOCSPProxyURL": server_setters.set_responder_proxy,
    "SSLOCSPNoVerify": set_entry(_OCSP, "no_verify", "flag"),
    "SSLOCSPResponderCertificateFile": set_entry(_OCSP, "certificates", "file"),
    "SSLStaplingCache": server_setters.set_stapling_cache,
    "SSLUseStapling": set_flag("stapling"),
    "SSLStaplingResponseTimeSkew": set_entry(_STAPLING, "skew", "seconds"),
    "SSLStaplingResponderTimeout": set_entry(_STAPLING, "timeout", "seconds"),
    "SSLStaplingResponseMaxAge": set_entry(_STAPLING, "max_age", "seconds"),
    "SSLStaplingStandardCacheTimeout": set_entry(_STAPLING, "cached", "seconds"),
    "SSLStaplingErrorCacheTimeout": set_entry(_STAPLING, "cached_error", "seconds"),
    "SSLStaplingReturnResponderErrors": set_entry(_STAPLING, "return_errors", "flag"),
    "SSLStaplingFakeTryLater": set_entry(_STAPLING, "fake_try_later", "flag"),
    "SSLStaplingForceURL": set_entry(_STAPLING, "url", "text"),
    "SSLOpenSSLConfCmd": server_setters.add_command,
    "SSLLog": server_setters.refuse,
    "SSLLogLevel": server_setters.refuse,
}
DIR_SETTERS: Final[dict[str, Setter]] = {
    "SSLUserName": set_text("user_name"),
    "SSLOptions": section_setters.set_options,
    "SSLRequireSSL": section_setters.set_requires_tls,
    "SSLRequire": section_setters.add_requirement,
    "SSLRenegBufferSize": set_in_range(
        "request_buffer", 0, None, "Invalid size for SSLRenegBufferSize: {word}"
    ),
}
_OF_BOTH: Final[dict[str, Setter]] = {
    "SSLCipherSuite": section_setters.set_ciphers,
    "SSLCACertificatePath": section_setters.set_authorities(set_directory("ca_path")),
    "SSLCACertificateFile": section_setters.set_authorities(set_file("ca_file")),
    "SSLVerifyClient": section_setters.set_verify,
    "SSLVerifyDepth": section_setters.set_depth,
}
_OF_BACKENDS: Final[dict[str, Setter]] = {
    "SSLProxyEngine": set_flag("engine"),
    "SSLProxyProtocol": set_read("protocols", protocols),
    "SSLProxyCipherSuite": section_setters.set_proxy_ciphers,
    "SSLProxyVerify": set_read("verify", verify_mode),
    "SSLProxyVerifyDepth": set_read("depth", depth),
    "SSLProxyCACertificateFile": set_file("ca_file"),
    "SSLProxyCACertificatePath": set_directory("ca_path"),
    "SSLProxyCARevocationPath": set_directory("crl_path"),
    "SSLProxyCARevocationFile": set_file("crl_file"),
    "SSLProxyCARevocationCheck": server_setters.set_revocation_check,
    "SSLProxyMachineCertificateFile": set_file("certificate_file"),
    "SSLProxyMachineCertificatePath": set_directory("certificate_path"),
    "SSLProxyMachineCertificateChainFile": set_file("chain_file"),
    "SSLProxyCheckPeerExpire": set_flag("check_expire"),
    "SSLProxyCheckPeerCN": set_flag("check_cn"),
    "SSLProxyCheckPeerName": set_flag("check_name"),
}


def _for_backends(setter: Setter) -> Setter:
    """Return *setter* with the record of connections to back ends."""

    def apply(cmd: Command, _none: object, words: list[str]) -> None:
        record = cmd.dir_config(SslProxyDirConfig)
        setter(cmd, record, words)
        if is_in_section(cmd):
            server = cmd.server_config(SslServerConfig)
            known = [] if server.backend_sections is UNSET else server.backend_sections
            if not any(each is record for each in known):
                server.backend_sections = [*known, record]

    return apply


SETTERS: Final = _OF_BOTH | {name: _for_backends(setter) for name, setter in _OF_BACKENDS.items()}
