"""mod_proxy's argument rules; the parameters of workers and balancers are in `proxy_parameters`."""

from __future__ import annotations

import re
import socket

from whimbrel.catalogue.checks.numbers import atoi, strtol
from whimbrel.catalogue.checks.proxy_parameters import parameter, url_error
from whimbrel.catalogue.checks.rules import (
    CheckContext,
    CheckWarning,
    Rule,
    Warner,
    compiles,
    in_range,
    one_of,
    only,
    split_args,
    unresolved,
    when,
)

PAIR = "Invalid ProxyPass|ProxyPassMatch parameter. Parameter must be in the form 'key=value'."
PROXY_PAIR = "Invalid Proxy parameter. Parameter must be in the form 'key=value'"
BUFFER = "{} must be >= 512 bytes, or 0 for system default."
CODES = "ProxyErrorOverride: status codes to intercept must be valid HTTP Status Codes >=400 && <600"


def _pass(match: bool) -> Rule:
    """[path] url [nocanon|interpolate|noquery|key=value ...]; in a section its path is the first argument."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        rest = [w for w in split_args(words[0]) if w.lower() not in ("nocanon", "interpolate", "noquery")]
        place = [] if around.is_per_directory else rest[:1]
        rest = rest[len(place) :]
        if not rest or (
            not around.is_per_directory
            and "=" in rest[0]
            and "://" not in rest[0]
            and len(rest) == 1
            and not place
        ):
            return "ProxyPass|ProxyPassMatch needs a path when not defined in a location"
        if match and place and not compiles(place[0]):
            return "Regular expression could not be compiled."
        if rest[0] == "!":
            return None
        if around.is_per_directory and len(rest) > 1 and "=" not in rest[1] and rest[0].startswith("/"):
            return "ProxyPass|ProxyPassMatch can not have a path when defined in a location."
        if any("=" not in word for word in rest[1:]):
            return PAIR
        wrong = url_error(rest[0], around) or next(
            (m for word in rest[1:] if (m := parameter(rest[0], word, around))), None
        )
        if (
            wrong is None
            and rest[0].startswith("balancer:")
            and around.version == "2.2"
            and "proxy_balancer_module" not in around.loaded
        ):
            wrong = "Can't find 'byrequests' lb method"
        return wrong and f"ProxyPass {wrong}"

    return rule


def _reverse(words: list[str], around: CheckContext) -> str | None:
    rest = words[:-1] if words[-1].lower() == "interpolate" else words
    if around.is_per_directory:
        return "ProxyPassReverse can not have a path when defined in a location" if len(rest) > 1 else None
    return "ProxyPassReverse needs a path when not defined in a location" if len(rest) < 2 else None


def _member(words: list[str], around: CheckContext) -> str | None:
    """[balancer] url [key=value ...]; in a section its argument is the balancer."""
    rest = split_args(words[0])
    plain = [around.argument] * around.is_per_directory + [
        word for word in rest if "=" not in word or "://" in word.partition("=")[0]
    ]
    if len(plain) > 2:
        return (
            "BalancerMember can not have a balancer name when defined in a location"
            if around.is_per_directory
            else "Invalid BalancerMember parameter. Parameter must be in the form 'key=value'."
        )
    if not plain:
        return "BalancerMember must define balancer name when outside <Proxy > section"
    if len(plain) < 2:
        return "BalancerMember must define remote proxy server"
    balancer, url = plain
    if not balancer.startswith("balancer:"):
        return "BalancerMember Bad syntax for a balancer name" + (
            f" ({balancer})" if around.version == "2.4" else ""
        )
    if around.version == "2.2" and "proxy_balancer_module" not in around.loaded:
        return "BalancerMember Can't find 'byrequests' lb method"
    wrong = url_error(url, around) or next(
        (m for word in rest if word not in plain and (m := parameter(url, word, around))), None
    )
    return wrong and f"BalancerMember {wrong}"


def _set(words: list[str], around: CheckContext) -> str | None:
    """[url] key=value ...; in <Proxy> the section's argument is the url, elsewhere it must be declared
    before.
    """
    rest = split_args(words[0]) or [""]
    if around.sections[:1] not in (("<proxy",), ("<proxymatch",)):
        return (
            f"ProxySet can not find '{rest[0]}' "
            f"{'Balancer' if rest[0].startswith('balancer:') else 'Worker'}."
        )
    url = around.argument
    wrong = None if url.startswith("balancer:") else url_error(url, around)
    if wrong:
        return f"ProxySet {wrong}"
    for word in rest:
        if word and "=" not in word:
            return "Invalid ProxySet parameter. Parameter must be in the form 'key=value'"
        if word and (wrong := parameter(url, word, around)):
            return f"ProxySet: {wrong} {word}; {url}"
    return None


def _remote(name: str) -> Rule:
    """PATTERN SCHEME://HOST[:PORT]"""
    bad = f"{name}: Bad syntax for a remote proxy server"

    def rule(words: list[str], around: CheckContext) -> str | None:
        if name == "ProxyRemoteMatch" and not compiles(words[0]):
            return "Regular expression for ProxyRemoteMatch could not be compiled."
        scheme, slashes, rest = words[1].partition("://")
        if not slashes or not scheme:
            return bad
        port = rest.rpartition(":")[2].rstrip("/") if ":" in rest else "80"
        return None if port[:1].isdigit() and atoi(port) <= 65535 else f"{bad} (bad port number)"

    return rule


def _override(words: list[str], around: CheckContext) -> str | None:
    """On or Off, the last of which holds; after On any number of status codes."""
    word = words[0].lower()
    if word in ("on", "off"):
        return None
    if not around.earlier:
        return "ProxyErrorOverride first parameter must be one of: off | on"
    if not word[:1].isdigit():
        return "ProxyErrorOverride: status codes to intercept must be numeric"
    switches = [earlier.lower() for earlier in around.earlier if earlier.lower() in ("on", "off")]
    if switches[-1] != "on":
        return "ProxyErrorOverride: status codes must follow a value of 'on'"
    return None if 400 <= atoi(word) < 600 else CODES


def _proxy(words: list[str], around: CheckContext) -> str | None:
    """<Proxy>: parameters are allowed for workers and balancers only."""
    url, *rest = split_args(words[0].rpartition(">")[0] or words[0]) or [""]
    if not rest:
        return None
    if any(char in url for char in "*?["):
        return "<Proxy> arguments are not supported for wildchar url."
    if ":" not in url:
        return "<Proxy> arguments are not supported for non url."
    if not url.startswith("balancer:") and (wrong := url_error(url, around)):
        return f"<Proxy {wrong}"
    wrong = next(
        (
            PROXY_PAIR if "=" not in word else f"{m} {word}; {url}" if around.version == "2.4" else m
            for word in rest
            if (m := parameter(url, word, around)) or "=" not in word
        ),
        None,
    )
    return wrong if wrong is None or wrong is PROXY_PAIR else f"<Proxy {wrong}"


def _proxy_match(words: list[str], around: CheckContext) -> str | None:
    pattern, *rest = split_args(words[0].rpartition(">")[0] or words[0]) or [""]
    if not compiles(pattern):
        return "Regex could not be compiled"
    return "Multiple <ProxyMatch> arguments not (yet) supported." if rest else None


def _connect22(words: list[str], around: CheckContext) -> str | None:
    return None if words[0][:1].isdigit() else "AllowCONNECT: port number must be numeric"


def _address(words: list[str], around: CheckContext) -> str | None:
    """An address in any of inet_aton's forms, a path, or a host name, which is resolved."""
    numeric = re.fullmatch(r"[0-9.]+|0[xX][0-9a-fA-F]+", words[0])
    try:
        if numeric:
            socket.inet_aton(words[0])
    except OSError:
        return "ProxySourceAddress invalid value"
    return (
        None
        if numeric or words[0].startswith("/") or not unresolved(words[0])
        else "ProxySourceAddress invalid value"
    )


def _buffer(name: str) -> Rule:
    return when(lambda words, around: atoi(words[0]) < 512 and atoi(words[0]) != 0, BUFFER.format(name))


_QUADS = re.compile(r"([0-9A-Fa-fxX]+(?:\.[0-9A-Fa-fxX]+){0,3})\.?(?:/([0-9]+))?")


def _number(text: str) -> int | None:
    """Return a number as C reads one of any base; None for other text."""
    base = 16 if text[:2].lower() == "0x" else 8 if text[0] == "0" and len(text) > 1 else 10
    try:
        return int(text, base)
    except ValueError:
        return None


def _network(words: list[str], around: CheckContext) -> CheckWarning | None:
    """NoProxy: warn of a mask that is guessed, and of one that truncates the address."""
    match = _QUADS.fullmatch(words[0]) if around.version == "2.4" else None
    parts = [_number(part) for part in match[1].split(".")] if match else []
    address = 0
    for at, part in enumerate(parts):
        if part is None or part > 255:
            return None
        address |= part << (24 - 8 * at)
    if match is None or not address:
        return None
    if match[2] is None:
        bits = next(32 - 8 * zeros for zeros in (3, 2, 1, 0) if address % (1 << 8 * zeros) == 0)
        guess = f"Warning: NetMask not supplied with IP-Addr; guessing: {_dotted(address)}/{bits}"
        return CheckWarning(guess, "AH00900", "startup") if bits < 32 else None
    bits = int(match[2])
    network_bits = address >> (32 - bits) << (32 - bits) if bits <= 32 else address
    if network_bits == address:
        return None
    disagree = f"Warning: NetMask and IP-Addr disagree in {_dotted(address)}/{bits}"
    return CheckWarning(
        disagree,
        "AH00901",
        "startup",
        more=(CheckWarning(f"         Set to {_dotted(network_bits)}/{bits}", "AH00902", "startup"),),
    )


def _dotted(address: int) -> str:
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


CHECKS: dict[str, Rule] = {
    "<proxy": _proxy,
    "<proxymatch": _proxy_match,
    "proxypass": _pass(False),
    "proxypassmatch": _pass(True),
    "proxypassreverse": _reverse,
    "balancermember": _member,
    "proxyset": _set,
    "proxyremote": _remote("ProxyRemote"),
    "proxyremotematch": _remote("ProxyRemoteMatch"),
    "proxyerroroverride": only("2.4", _override),
    "allowconnect": _connect22,
    "balancergrowth": in_range(0, 1000, "BalancerGrowth must be between 0 and 1000"),
    "proxybadheader": one_of(
        "IsError Ignore StartBody", "ProxyBadHeader must be one of: IsError | Ignore | StartBody"
    ),
    "proxydomain": when(
        lambda words, around: not words[0].startswith("."), "ProxyDomain: domain name must start with a dot."
    ),
    "proxyiobuffersize": only(
        "2.4",
        when(
            lambda words, around: strtol(words[0])[0] < 512 and strtol(words[0])[0] != 0,
            BUFFER.format("ProxyIOBufferSize"),
        ),
    ),
    "proxyreceivebuffersize": _buffer("ProxyReceiveBufferSize"),
    "proxysourceaddress": _address,
    "proxystatus": one_of("off on full", "ProxyStatus must be one of: off | on | full"),
    "proxytimeout": in_range(1, None, "Proxy Timeout must be at least 1 second."),
    "proxyvia": one_of("off on full block", "ProxyVia must be one of: off | on | full | block"),
}
WARNINGS: dict[str, Warner] = {"noproxy": _network}
