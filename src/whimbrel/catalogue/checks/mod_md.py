"""mod_md's argument rules."""

from __future__ import annotations

import json
import os

from whimbrel.base.latin1 import to_bytes
from whimbrel.catalogue.checks.numbers import atoi, md_duration, strtol
from whimbrel.catalogue.checks.rules import CheckContext, Rule, always, one_of, when

SWITCHES = (
    "mdbaseserver mdcertificatestatus mdmuststaple mdserverstatus mdstapleothers mdstapling "
    "mdprofilemandatory mdrenewviaari"
)
INSIDE = "MDCertificateFile MDCertificateKeyFile"
AUTHORITIES = ("letsencrypt", "letsencrypt-test", "buypass", "buypass-test")
PORTS = "invalid number for port map, must be in ]0,65535]"


def _window(name: str, most: int = 100, too_much: str = "a") -> Rule:
    """A duration or a percentage of the certificate's lifetime, below *most*."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        value, unit, _ = strtol(words[0])
        if md_duration(words[0]) is not None:
            return None
        if not unit.startswith("%"):
            return f"{name} has unrecognized format"
        if value < 0:
            return f"{name} percent must be less than 100"
        return f"{name} {too_much} length of 100% or more is not allowed." if value >= most else None

    return rule


def _delay(low: int, message: str) -> Rule:
    """A duration of more than *low* milliseconds."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        value = md_duration(words[0])
        if value is None:
            return "unrecognized duration format"
        return message if value <= low else None

    return rule


def _not_a_url(word: str) -> str:
    """Return why *word* is not an absolute URL (md_util_abs_uri_check); "" if it is one."""
    if any(char.isspace() for char in word):
        return "whitespace in uri"
    scheme, colon, rest = word.partition(":")
    if not colon:
        return "missing uri scheme"
    if not rest:
        return "missing uri identifier"
    if not scheme[:1].isalpha():
        return "not an uri"
    return _wrong_server(rest) if scheme.lower() in ("http", "https") else ""


def _wrong_server(rest: str) -> str:
    """Return why the text after ``http:`` names no server; "" if it does."""
    if not rest.startswith("//"):
        return "missing hostname"
    host, colon, port = rest[2:].partition("/")[0].rpartition("@")[2].partition(":")
    if host.startswith("["):
        return "invalid hostname"
    if port and not port.isdigit():
        return "not an uri"
    if not all(char.isascii() and char.isalnum() or char in "-." for char in host) or ".." in host:
        return "invalid hostname"
    return "invalid port" if colon and not port else ""


def _authority(words: list[str], around: CheckContext) -> str | None:
    for word in words:
        wrong = "" if word.lower() in AUTHORITIES else _not_a_url(word)
        if wrong:
            return (
                f"The CA name '{word}' is not known and it is not a URL either ({wrong}). "
                "Known CA names are: LetsEncrypt LetsEncrypt-Test Buypass Buypass-Test."
            )
    return None


def _account(words: list[str], around: CheckContext) -> str | None:
    """none, an id with its key, or a file"""
    if words[0].lower() == "none" or len(words) > 1:
        return None
    path = around.path(words[0])
    if not os.path.isfile(to_bytes(path)):
        return f"MDExternalAccountBinding: file not found: {path}"
    return None if _is_json(path) else f"MDExternalAccountBinding: error reading JSON file {path}"


def _is_json(path: str) -> bool:
    try:
        with open(to_bytes(path), "rb") as file:
            json.load(file)
    except (OSError, ValueError):
        return False
    return True


def _proxy(words: list[str], around: CheckContext) -> str | None:
    if wrong := _not_a_url(words[0]):
        return wrong
    return (
        None
        if words[0].partition(":")[0].lower() in ("http", "https")
        else "uri scheme must be http or https"
    )


def _port_map(words: list[str], around: CheckContext) -> str | None:
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


def _keys(words: list[str], around: CheckContext) -> str | None:
    """RSA with its bits, or names of curves"""
    if not words:
        return "needs to specify the private key type"
    seen: set[str] = set()
    rest = [*words]
    while rest:
        word = rest.pop(0)
        kind = "RSA" if word[:3].lower() == "rsa" and (not word[3:] or word[3].isdigit()) else word
        if kind.lower() in seen:
            return f"two keys of type '{kind}' are not possible."
        if kind.lower() == "default" and (seen or rest):
            return "'Default' allows no other parameter"
        seen.add(kind.lower())
        bits = (
            word[3:]
            if kind == "RSA" and word[3:]
            else rest.pop(0)
            if kind == "RSA" and rest and rest[0][:1].isdigit()
            else ""
        )
        if bits and atoi(bits) < 2048:
            return "must be 2048 or higher in order to be considered safe."
    return None


def _locks(words: list[str], around: CheckContext) -> str | None:
    good = words[0].lower() in ("on", "off") or md_duration(words[0]) is not None
    return None if good else "neither 'on', 'off' or a duration specified"


def _domain(words: list[str], around: CheckContext) -> str | None:
    return None if words and words[0] else "needs at least one domain name"


def _members(name: str) -> Rule:
    """auto or manual; lists of domains are allowed in <MDomainSet> only."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        if len(words) != 1:
            return f"{name} is only valid inside a '<MDomainSet' context, not here"
        return None if words[0].lower() in ("auto", "manual") else 'unknown value, use "auto|manual"'

    return rule


CHECKS: dict[str, Rule] = {
    **{
        name: one_of("on off", "unknown '{0}', supported parameter values are 'on' and 'off'")
        for name in SWITCHES.split()
    },
    **{
        name.lower(): always(f"{name} is only valid inside a '<MDomainSet' context, not here")
        for name in INSIDE.split()
    },
    "mdrenewwindow": _window("MDRenewWindow"),
    "mdwarnwindow": _window("MDWarnWindow"),
    "mdstaplingkeepresponse": _window("MDStaplingKeepResponse", 2**63),
    "mdstaplingrenewwindow": _window("MDStaplingRenewWindow", too_much="with a"),
    "mdactivationdelay": _delay(-(2**62), ""),
    "mdinitialdelay": _delay(-1, "initial delay must not be negative"),
    "mdretrydelay": _delay(0, "minimum delay must be greater than 0"),
    "mdcheckinterval": _delay(999, "check interval cannot be less than one second"),
    "mdcertificateauthority": _authority,
    "mdchallengedns01version": when(
        lambda words, around: words[0] not in ("1", "2"), "Only versions `1` and `2` are supported"
    ),
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
    "mdrequirehttps": one_of(
        "off temporary permanent", "unknown '{0}', supported parameter values are 'temporary' and 'permanent'"
    ),
    "mdretryfailover": when(
        lambda words, around: atoi(words[0]) <= 0, "invalid argument, must be a number > 0"
    ),
    "mdstorelocks": _locks,
}
