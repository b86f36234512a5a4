"""Values of mod_ssl's directives, read with httpd's messages: files, protocols, ciphers, modes."""

from __future__ import annotations

import os

from whimbrel.base.errors import ConfigError, MissingResource
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import atoi, lower
from whimbrel.base.static_typing import Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.ssl.mod_ssl.settings import (
    PROTOCOLS,
    VERIFY_NO_CA,
    VERIFY_NONE,
    VERIFY_OPTIONAL,
    VERIFY_REQUIRE,
)
from whimbrel.modules.support.setters import set_read

_VERIFY: Final = {
    "none": VERIFY_NONE,
    "off": VERIFY_NONE,
    "optional": VERIFY_OPTIONAL,
    "require": VERIFY_REQUIRE,
    "on": VERIFY_REQUIRE,
    "optional_no_ca": VERIFY_NO_CA,
}
NO_WEAK_CIPHERS: Final = ":!aNULL:!eNULL:!EXP"  # what 2.4 appends to every list
_ALL: Final = frozenset(PROTOCOLS)


def is_in_section(cmd: Command) -> bool:
    """Return True if the directive is in a section or a .htaccess file."""
    return bool(cmd.path) or cmd.in_htaccess


def filled_file(cmd: Command, word: str) -> str:
    """Return the absolute path of a regular file that is not empty (ssl_cmd_check_file)."""
    path = cmd.server_path(word)
    name = to_bytes(path)
    if not os.path.isfile(name) or not os.path.getsize(name):
        raise MissingResource(f"{cmd.name}: file '{path}' does not exist or is empty")
    return path


def directory(cmd: Command, word: str) -> str:
    """Return the absolute path of a directory (ssl_cmd_check_dir)."""
    path = cmd.server_path(word)
    if not os.path.isdir(to_bytes(path)):
        raise MissingResource(f"{cmd.name}: directory '{path}' does not exist")
    return path


def set_file(name: str) -> Setter:
    """Return the setter of a file that is not empty."""
    return set_read(name, filled_file)


def set_directory(name: str) -> Setter:
    """Return the setter of a directory."""
    return set_read(name, directory)


def protocols(cmd: Command, text: str) -> frozenset[str]:
    """Return the protocols of SSLProtocol: words with or without sign."""
    old = cmd.dialect.tls_protocols_22
    chosen: frozenset[str] = frozenset()
    for word in split_words(text):
        sign, name = (word[0], word[1:]) if word[:1] in ("+", "-") else ("", word)
        named = _protocol(cmd.name, name, old=old, is_removed=sign == "-")
        if sign == "-":
            chosen -= named
        elif sign:
            chosen |= named
        else:
            if chosen and not old:
                cmd.warn(
                    f"{cmd.name}: Protocol '{word}' overrides already set parameter(s). Check if a +/- "
                    f"prefix is missing.",
                    code="AH02532",
                )
            chosen = named
    return chosen


def _protocol(directive: str, name: str, *, old: bool, is_removed: bool) -> frozenset[str]:
    low = lower(name)
    if low == "all":
        return _ALL - {"TLSv1.3"} if old else _ALL - {"SSLv3"}
    if low == "sslv2":
        if not old and not is_removed:
            raise ConfigError("SSLProtocol: SSLv2 is no longer supported")
        return frozenset({"SSLv2"})
    for known in PROTOCOLS:
        if low == lower(known) and not (old and known == "TLSv1.3"):
            if known == "SSLv3" and not old and not is_removed:
                raise ConfigError("SSLv3 not supported by this version of OpenSSL")
            return frozenset({known})
    raise ConfigError(f"{directive}: Illegal protocol '{name}'")


def cipher_list(cmd: Command, words: list[str]) -> tuple[str, str]:
    """Return the field that SSLCipherSuite is about, ``ciphers`` or ``tls13_ciphers``, and its value."""
    kind, text = ("SSL", words[0]) if len(words) == 1 else (words[0], words[1])
    if kind == "SSL":
        return "ciphers", text if cmd.dialect.tls_protocols_22 else text + NO_WEAK_CIPHERS
    if kind == "TLSv1.3":
        return "tls13_ciphers", text
    raise ConfigError(f"protocol '{kind}' not supported")


def verify_mode(cmd: Command, word: str) -> str:
    """Return the value of SSLVerifyClient or SSLProxyVerify."""
    mode = _VERIFY.get(lower(word))
    if mode is None:
        raise ConfigError(f"{cmd.name}: Invalid argument '{word}'")
    return mode


def depth(cmd: Command, word: str) -> int:
    """Return the value of SSLVerifyDepth or SSLProxyVerifyDepth."""
    value = atoi(word)
    if value < 0:
        raise ConfigError(f"{cmd.name}: Invalid argument '{word}'")
    return value


def mode_and_flag(cmd: Command, text: str, modes: frozenset[str], flag: str) -> tuple[str, bool]:
    """Return one of *modes*, and True if *flag* follows it."""
    mode, *flags = split_words(text) or [""]
    wrong = [mode] if lower(mode) not in modes else [word for word in flags if lower(word) != flag]
    if wrong:
        raise ConfigError(f"{cmd.name}: Invalid argument '{wrong[0]}'")
    return lower(mode), bool(flags)
