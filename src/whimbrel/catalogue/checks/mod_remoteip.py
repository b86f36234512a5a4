"""mod_remoteip's argument rules."""

from __future__ import annotations

import ipaddress
import os
import re

from whimbrel.catalogue.checks.rules import Around, Rule, split, unresolved
from whimbrel.octets import raw

MASK, ADDRESS = "The specified network mask is invalid.", "The specified IP address is invalid."


def _network(word: str) -> str | None:
    """What APR says of an address or network; None when it takes it, "" when it is no address at all."""
    address, slash, mask = word.partition("/")
    if not re.fullmatch(r"[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*", address):
        return ""
    if ":" not in address and address.count(".") < 3:
        return None if all(p.isdigit() and int(p) < 256 for p in address.split(".") if p) else ADDRESS
    try:
        ipaddress.ip_address(address)
        if slash:
            (ipaddress.IPv6Network if ":" in address else ipaddress.IPv4Network)((0, int(mask) if mask.isdigit() else mask), strict=False)
    except ipaddress.NetmaskValueError:
        return MASK
    except ValueError:
        return ADDRESS
    return None


def _exception(words: list[str], around: Around) -> str | None:
    wrong = _network(words[0])
    if wrong is None:
        return None
    return f"ip address '{words[0].partition('/')[0]}' appears to be invalid" + (f": {wrong}" if wrong else "")


def _proxy(name: str) -> Rule:
    """An address, a network or a host name that resolves."""
    def rule(words: list[str], around: Around) -> str | None:
        word = words[0]
        wrong = _network(word)
        if wrong:
            return f"RemoteIP: Error parsing IP {word} ({wrong} error) for {name}"
        if wrong == "" and "/" in word:
            return f"RemoteIP: Error parsing IP {word} the subnet /{word.partition('/')[2]} is invalid for {name}"
        lost = unresolved(word) if wrong == "" else ""
        return f"RemoteIP: Error parsing IP {word} ({lost} error) for {name}" if lost else None

    return rule


def _list(name: str) -> Rule:
    """A file of proxies, comments and blank lines between them."""
    judge = _proxy(name)

    def rule(words: list[str], around: Around) -> str | None:
        path = around.path(words[0])
        try:
            with open(raw(path), encoding="latin-1") as file:
                lines = file.read().split("\n")
        except OSError as problem:
            return f"{name}: Could not open file {path}: {os.strerror(problem.errno or 0)}"
        for number, line in enumerate(lines, 1):
            for word in split(line.partition("#")[0].strip()):
                if wrong := judge([word], around):
                    return f"{wrong} at line {number} of {path}"
        return None

    return rule


CHECKS: dict[str, Rule] = {
    "remoteipinternalproxy": _proxy("RemoteIPInternalProxy"),
    "remoteiptrustedproxy": _proxy("RemoteIPTrustedProxy"),
    "remoteipinternalproxylist": _list("RemoteIPInternalProxyList"),
    "remoteiptrustedproxylist": _list("RemoteIPTrustedProxyList"),
    "remoteipproxyprotocolexceptions": _exception,
}
