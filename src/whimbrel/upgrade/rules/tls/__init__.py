"""TLS and directories."""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.tls import (
    c36_ldap_client_certificate,
    c40_revocation_check,
    c41_dn_format,
    c42_ssl_v2,
    c43_proxy_peer_checks,
    r05_authorities_of_directories,
    x04_session_cache,
)

RULES: tuple[Rule, ...] = (
    c36_ldap_client_certificate.RULE,
    c40_revocation_check.RULE,
    c41_dn_format.RULE,
    c42_ssl_v2.RULE,
    c42_ssl_v2.V3,
    c43_proxy_peer_checks.RULE,
    r05_authorities_of_directories.RULE,
    x04_session_cache.RULE,
)
