"""mod_ldap's argument rules."""

from __future__ import annotations

import errno
import os

from whimbrel.base.latin1 import to_bytes
from whimbrel.catalogue.checks.numbers import atoi, strtol
from whimbrel.catalogue.checks.rules import (
    CheckContext,
    CheckWarning,
    Rule,
    Warner,
    duration,
    in_range,
    one_of,
    when,
)

GLOBAL = (
    "CA_DER CA_BASE64 CA_CERT7_DB CA_SECMOD CERT_DER CERT_BASE64 CERT_KEY3_DB CERT_NICKNAME KEY_DER "
    "KEY_BASE64"
)
CLIENT = "CA_DER CA_BASE64 CERT_DER CERT_BASE64 CERT_NICKNAME CERT_PFX KEY_DER KEY_BASE64 KEY_PFX"
AUTHORITIES = frozenset(GLOBAL.split()) - {"CERT_NICKNAME"} | {"CERT_PFX", "KEY_PFX"}
HOPS = "LDAPReferralHopLimit must be greater than zero (Use 'LDAPReferrals Off' to disable referral chasing)"


def _certificate(known_types: str, type_error: str, hidden_types: str, path_error: str) -> Rule:
    """A certificate's type and its file; a nickname is not a file."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        kind = words[0].upper()
        if kind not in known_types.split() + hidden_types.split():
            return type_error.replace("{0}", words[0])
        return (
            None if kind == "CERT_NICKNAME" or os.path.exists(to_bytes(around.path(words[1]))) else path_error
        )

    return rule


def _timeout(words: list[str], around: CheckContext) -> str | None:
    value, rest, _ = strtol(words[0])
    if rest:
        return "Timeout not numerical"
    return "Timeout must be non-negative" if value < 0 else None


def _unreadable(code: str, what: str) -> Warner:
    """Warn of a missing file with the system's reason; the rule reports it a second time, as in httpd."""

    def check_file(words: list[str], around: CheckContext) -> CheckWarning | None:
        path = around.path(words[1])
        if words[0].upper() not in AUTHORITIES or os.path.exists(to_bytes(path)):
            return None
        message = f"LDAP: Could not open SSL {what} file - {path}"
        return CheckWarning(message, code, "error", f"({errno.ENOENT}){os.strerror(errno.ENOENT)}")

    return check_file


_CERTIFICATE = "The certificate type {} is not recognised. It should be one of "

CHECKS: dict[str, Rule] = {
    "ldaptrustedglobalcert": _certificate(
        GLOBAL,
        _CERTIFICATE.format("{0}") + ", ".join(GLOBAL.split()),
        "CERT_PFX KEY_PFX",
        "Invalid global certificate file path",
    ),
    "ldaptrustedclientcert": _certificate(
        CLIENT,
        _CERTIFICATE.format('"{0}"') + ", ".join(CLIENT.split()),
        "",
        "Invalid client certificate file path",
    ),
    "ldaptrustedmode": one_of(
        "none ssl tls starttls", "Invalid LDAPTrustedMode setting: must be one of NONE, SSL, or TLS/STARTTLS"
    ),
    "ldapconnectionpoolttl": when(
        lambda words, around: not words[0].startswith("-") and duration("x")(words, around) is not None,
        "LDAPConnectionPoolTTL has wrong format",
    ),
    "ldapreferralhoplimit": in_range(1, None, HOPS),
    "ldapreferrals": one_of("on off default", "LDAPReferrals must be 'on', 'off', or 'default'"),
    "ldapretries": when(lambda words, around: atoi(words[0]) < 0, "LDAPRetries must be >= 0"),
    "ldapretrydelay": duration("LDAPRetryDelay has wrong format"),
    "ldaptimeout": _timeout,
}
WARNINGS: dict[str, Warner] = {
    "ldaptrustedglobalcert": _unreadable("AH01304", "trusted certificate authority"),
    "ldaptrustedclientcert": _unreadable("AH01306", "client certificate"),
}
