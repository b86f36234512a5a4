"""mod_md's argument rules."""

from __future__ import annotations

import os

from whimbrel.catalogue.checks.numbers import atoi, md_duration, strtol
from whimbrel.catalogue.checks.rules import Around, Rule, always, one_of, when
from whimbrel.octets import raw

SWITCHES = (
    "mdbaseserver mdcertificatestatus mdmuststaple mdserverstatus mdstapleothers mdstapling mdprofilemandatory mdrenewviaari"
)
INSIDE = "MDCertificateFile MDCertificateKeyFile"
AUTHORITIES = ("letsencrypt", "letsencrypt-test", "buypass", "buypass-test")
PORTS = "invalid number for port map, must be in ]0,65535]"


def _window(name: str, most: int = 100, too_much: str = "a") -> Rule:
    """A duration or a percentage of the certificate's life, below *most*."""
    def rule(words: list[str], around: Around) -> str | None:
        value, unit, _ = strtol(words[0])
        if md_duration(words[0]) is not None:
            return None
        if not unit.startswith("%") or unit == words[0]:
            return f"{name} has unrecognized format"
        if value < 0:
            return f"{name} percent must be less than 100"
        return f"{name} {too_much} length of 100% or more is not allowed." if value >= most else None

    return rule


def _delay(low: int, message: str) -> Rule:
    """A duration of more than *low* milliseconds."""
    def rule(words: list[str], around: Around) -> str | None:
        value = md_duration(words[0])
        if value is None:
            return "unrecognized duration format"
        return message if value <= low else None

    return rule


def _authority(words: list[str], around: Around) -> str | None:
    for word in words:
        if ":" not in word and word.lower() not in AUTHORITIES:
            return (f"The CA name '{word}' is not known and it is not a URL either (missing uri scheme). "
                    "Known CA names are: LetsEncrypt LetsEncrypt-Test Buypass Buypass-Test.")
    return None


def _account(words: list[str], around: Around) -> str | None:
    """none, an id with its key, or a file."""
    if words[0].lower() == "none" or len(words) > 1:
        return None
    path = around.path(words[0])
    return None if os.path.exists(raw(path)) else f"MDExternalAccountBinding: file not found: {path}"


def _proxy(words: list[str], around: Around) -> str | None:
    scheme, colon, rest = words[0].partition(":")
    if not colon:
        return "missing uri scheme"
    port = rest.removeprefix("//").partition("/")[0].rpartition(":")[2] if ":" in rest else ""
    if port and not port.isdigit():
        return "not an uri"
    return None if scheme.lower() in ("http", "https") else "uri scheme must be http or https"


def _port_map(words: list[str], around: Around) -> str | None:
    for word in words:
        name, colon, port = word.partition(":")
        if name.isdigit() and strtol(name)[2]:
            return "unable to parse first port number"
        if not colon or not (name.isdigit() or name in ("http", "https")):
            return "no ':' after first port number"
        if name.isdigit() and name not in ("80", "443"):
            return "mapped port number must be 80 or 443"
        if port != "-" and not (port.isdigit() and 0 < int(port) < 65536):
            return PORTS
    return None


def _keys(words: list[str], around: Around) -> str | None:
    """RSA with its bits, or names of curves."""
    if not words:
        return "needs to specify the private key type"
    bits = words[1] if words[0].lower() == "rsa" and len(words) == 2 else words[0][3:] if words[0][:3].lower() == "rsa" else ""
    return "must be 2048 or higher in order to be considered safe." if bits.isdigit() and int(bits) < 2048 else None


def _locks(words: list[str], around: Around) -> str | None:
    good = words[0].lower() in ("on", "off") or md_duration(words[0]) is not None
    return None if good else "neither 'on', 'off' or a duration specified"


def _domain(words: list[str], around: Around) -> str | None:
    return None if words and words[0] else "needs at least one domain name"


def _members(name: str) -> Rule:
    """auto or manual; lists of domains belong into <MDomainSet>."""
    def rule(words: list[str], around: Around) -> str | None:
        if len(words) != 1:
            return f"{name} is only valid inside a '<MDomainSet' context, not here"
        return None if words[0].lower() in ("auto", "manual") else 'unknown value, use "auto|manual"'

    return rule


CHECKS: dict[str, Rule] = {
    **{name: one_of("on off", "unknown '{0}', supported parameter values are 'on' and 'off'") for name in SWITCHES.split()},
    **{name.lower(): always(f"{name} is only valid inside a '<MDomainSet' context, not here") for name in INSIDE.split()},
    "mdrenewwindow": _window("MDRenewWindow"),
    "mdwarnwindow": _window("MDWarnWindow"),
    "mdstaplingkeepresponse": _window("MDStaplingKeepResponse", 2**63),
    "mdstaplingrenewwindow": _window("MDStaplingRenewWindow", too_much="with a"),
    "mdactivationdelay": _delay(-(2**62), ""),
    "mdinitialdelay": _delay(-1, "initial delay must not be negative"),
    "mdretrydelay": _delay(0, "minimum delay must be greater than 0"),
    "mdcheckinterval": _delay(999, "check interval cannot be less than one second"),
    "mdcertificateauthority": _authority,
    "mdchallengedns01version": when(lambda words, around: words[0] not in ("1", "2"), "Only versions `1` and `2` are supported"),
    "mddrivemode": one_of("auto always manual", "unknown MDDriveMode {0}"),
    "mdrenewmode": one_of("auto always manual", "unknown MDDriveMode {0}"),
    "mdexternalaccountbinding": _account,
    "mdhttpproxy": _proxy,
    "mdmatchnames": one_of("all servernames", "invalid argument, must be a 'all' or 'servernames'"),
    "mdmember": _members("MDMember"),
    "mdmembers": _members("MDMembers"),
    "mdomain": _domain,
    "mdportmap": _port_map,
    "mdprivatekeys": _keys,
    "mdrequirehttps": one_of("off temporary permanent", "unknown '{0}', supported parameter values are 'temporary' and 'permanent'"),
    "mdretryfailover": when(lambda words, around: atoi(words[0]) <= 0, "invalid argument, must be a number > 0"),
    "mdstorelocks": _locks,
}
