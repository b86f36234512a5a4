"""Setters of mod_ssl's directives for servers: engine, certificates, randomness, revocation, OCSP."""

from __future__ import annotations

import os

from whimbrel.base.errors import ConfigError, MissingResource
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import atoi, is_digits, is_letter, lower
from whimbrel.base.static_typing import Final
from whimbrel.catalogue.checks.rules import CheckContext
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.ssl.mod_ssl.settings import (
    CRL_CHAIN,
    CRL_LEAF,
    CRL_NONE,
    NO_CRL_OK,
    OFF,
    ON,
    OPTIONAL,
    PassPhraseDialog,
    SslProxyDirConfig,
    SslServerConfig,
    added,
)
from whimbrel.modules.ssl.mod_ssl.values import directory, filled_file, mode_and_flag
from whimbrel.registry.settings import UNSET

_CRL: Final = frozenset({CRL_NONE, CRL_LEAF, CRL_CHAIN})
_OCSP: Final = frozenset({"on", "off", "leaf"})
_MUTEXES: Final = frozenset("none no default yes sem posixsem sysvsem pthread".split())
_MUTEX_FILES: Final = ("file:", "flock:", "fcntl:")


def set_engine(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Set SSLEngine; 2.4 has no longer an upgrade within HTTP (RFC 2817)."""
    mode = lower(words[0])
    old = cmd.dialect.engine_not_inherited
    if mode not in (ON, OFF, OPTIONAL):
        raise ConfigError(f"Argument must be On{', Off, or Optional' if old else ' or Off'}")
    if mode == OPTIONAL and not old:
        cmd.warn("'SSLEngine optional' is no longer supported", code="AH10510", level="notice")
        mode = OFF
    record.engine = mode
    record.engine_of_host = cmd.in_virtual_host


def add_certificate(name: str) -> Setter:
    """Return the setter that appends a file to a list; 2.4 takes keys of PKCS #11 tokens too."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        is_token = words[0].startswith("pkcs11:") and not cmd.dialect.tls_start_22
        file = words[0] if is_token else filled_file(cmd, words[0])
        setattr(record, name, added(getattr(record, name), file))

    return apply


def set_pass_phrase_dialog(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Set SSLPassPhraseDialog."""
    word = words[0]
    if lower(word) == "builtin":
        record.dialog = PassPhraseDialog()
    elif len(word) > 5 and word.startswith("exec:"):
        path = cmd.server_path(word[5:])
        if not os.path.exists(to_bytes(path)):
            raise MissingResource(f"SSLPassPhraseDialog: file '{path}' does not exist")
        record.dialog = PassPhraseDialog("exec", path)
    elif len(word) > 2 and word[0] == "|":
        record.dialog = PassPhraseDialog("pipe", word[1:])
    else:
        raise ConfigError("SSLPassPhraseDialog: Invalid argument")


def check_random_seed(cmd: Command, _record: object, words: list[str]) -> None:
    """Check SSLRandomSeed, which has no effect: the library seeds itself."""
    when = words[0]
    source = words[1]
    if lower(when) not in ("startup", "connect"):
        raise ConfigError(f"SSLRandomSeed: invalid context: `{when}'")
    if lower(source) == "builtin":
        if len(words) > 2:
            raise ConfigError("SSLRandomSeed: byte specification not allowed for builtin seed source")
        return
    if source.startswith("egd:"):
        if cmd.dialect.messages_24:
            raise ConfigError(
                f"Invalid SSLRandomSeed entropy source `{source}': This version of OpenSSL does not support "
                f"the Entropy Gathering Daemon (EGD)."
            )
        raise ConfigError("egd not supported with this SSL toolkit")
    has_kind = len(source) > 5 and source.startswith(("file:", "exec:"))
    path = cmd.server_path(source[5:] if has_kind else source)
    if not os.path.exists(to_bytes(path)):
        raise MissingResource(f"SSLRandomSeed: source path '{path}' does not exist")
    if len(words) > 2 and atoi(words[2]) < 0:
        raise ConfigError("SSLRandomSeed: invalid number of bytes specified")


def set_compression(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Set SSLCompression; the library of 2.4 has no compression."""
    if words[0] == "on" and cmd.dialect.messages_24:
        raise ConfigError(
            "This version of OpenSSL does not have any compression methods available, cannot enable "
            "SSLCompression."
        )
    record.compression = words[0] == "on"


def set_crypto_device(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Set SSLCryptoDevice; 2.4 checks the names of the library's engines."""
    if cmd.dialect.messages_24 and lower(words[0]) != "builtin":
        raise ConfigError(
            "SSLCryptoDevice: Invalid argument; must be one of: 'builtin' (none), 'dynamic' (Dynamic engine "
            "loading support)"
        )
    record.crypto_device = words[0]


def set_fips(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Set SSLFIPS."""
    is_on = words[0] == "on"
    if is_on and not cmd.dialect.messages_24:
        raise ConfigError("SSLFIPS invalid, rebuild httpd and openssl compiled for FIPS")
    record.fips = is_on


def refuse(cmd: Command, _record: object, _words: list[str]) -> None:
    """Refuse a directive of mod_ssl for Apache 1.3: SSLLog, SSLLogLevel."""
    successor = "ErrorLog" if lower(cmd.name) == "ssllog" else "LogLevel"
    raise ConfigError(f"{cmd.name} directive is no longer supported - use {successor}.")


def check_mutex(_cmd: Command, _record: object, words: list[str]) -> None:
    """Check SSLMutex (2.2), which has no effect: nothing needs the lock."""
    word = lower(words[0])
    if word not in _MUTEXES and not word.startswith(_MUTEX_FILES):
        raise ConfigError(
            f"Invalid SSLMutex argument {words[0]} (Valid SSLMutex mechanisms are: `none', `default', "
            f"`flock:/path/to/file', `fcntl:/path/to/file', `sysvsem', `posixsem', `pthread', "
            f"`file:/path/to/file', `sem' )"
        )


def set_revocation_check(cmd: Command, record: SslServerConfig | SslProxyDirConfig, words: list[str]) -> None:
    """Set SSLCARevocationCheck or SSLProxyCARevocationCheck."""
    record.crl_check, record.crl_may_miss = mode_and_flag(cmd, words[0], _CRL, NO_CRL_OK)


def set_ocsp(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Set SSLOCSPEnable."""
    record.ocsp, record.ocsp_may_miss = mode_and_flag(cmd, words[0], _OCSP, "no_ocsp_for_cert_ok")


# SSLOCSP* and SSLStapling*: values by directive ---------------------------------------------------
def _store(record: SslServerConfig, name: str, key: str, value: str | int | bool) -> None:
    table = getattr(record, name)
    setattr(record, name, {**({} if table is UNSET else table), key: value})


def set_entry(name: str, key: str, kind: str) -> Setter:
    """Return the setter of *key* in the table *name*; *kind*: "text", "flag", "file" or "seconds"."""

    def apply(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
        word = words[0]
        value: str | int | bool = word
        if kind == "flag":
            value = word == "on"
        elif kind == "file":
            value = filled_file(cmd, word)
        elif kind == "seconds":
            value = atoi(word)
            if value < 0:
                raise ConfigError(f"{cmd.name}: invalid argument")
        _store(record, name, key, value)

    return apply


def set_responder_proxy(_cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Set SSLOCSPProxyURL: a URL as APR parses it."""
    scheme, colon, rest = words[0].partition(":")
    port = rest[2:].partition("/")[0].rpartition("@")[2].partition(":")[2] if rest.startswith("//") else ""
    if (colon and not is_letter(scheme[:1])) or (port and not is_digits(port)):
        raise ConfigError(f"SSLOCSPProxyURL: Cannot parse URL {words[0]}")
    _store(record, "ocsp_settings", "proxy", words[0])


# SSLOpenSSLConfCmd --------------------------------------------------------------------------------
# Commands of OpenSSL's own configuration (SSL_CONF_cmd), in lower case: of plain values, files, directories.
_VALUES: Final = frozenset(
    """signaturealgorithms clientsignaturealgorithms curves groups minprotocol maxprotocol protocol options
    verifymode recordpadding numtickets cipherstring ciphersuites ecdhparameters chaincastore verifycastore
    requestcastore clientcastore""".split()
)
_FILES: Final = frozenset(
    """certificate privatekey serverinfofile chaincafile verifycafile requestcafile clientcafile
    dhparameters""".split()
)
_DIRECTORIES: Final = frozenset("chaincapath verifycapath requestcapath clientcapath".split())


def add_command(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Add an SSLOpenSSLConfCmd."""
    name = lower(words[0])
    value = words[1]
    if name in _FILES:
        value = filled_file(cmd, value)
    elif name in _DIRECTORIES:
        value = directory(cmd, value)
    elif name not in _VALUES:
        raise ConfigError(f"'{words[0]}': invalid OpenSSL configuration command")
    record.commands = added(record.commands, (words[0], value))


# caches -------------------------------------------------------------------------------------------
def set_session_cache(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Set SSLSessionCache: "" for none."""
    word = words[0]
    if lower(word) not in ("none", "nonenotnull"):
        (_check_cache_22 if cmd.dialect.tls_start_22 else _check_cache)(cmd, word, "session", ".")
    record.session_cache = "none" if lower(word) in ("none", "nonenotnull") else word


def set_stapling_cache(cmd: Command, record: SslServerConfig, words: list[str]) -> None:
    """Set SSLStaplingCache."""
    _check_cache(cmd, words[0], "stapling", "")
    record.stapling_cache = words[0]


def _check_cache_22(cmd: Command, word: str, _kind: str, _dot: str) -> None:
    low = lower(word)
    if len(word) > 4 and low.startswith(("dbm:", "shm:")):
        return
    if len(word) > 3 and low.startswith("dc:"):
        raise ConfigError("SSLSessionCache: distcache support disabled")
    if not (len(word) > 6 and low.startswith("shmcb:")):
        raise ConfigError("SSLSessionCache: Invalid argument")
    _check_segment(cmd, word)


def _check_cache(cmd: Command, word: str, kind: str, dot: str) -> None:
    """Check a socache provider and its arguments; the message lists the names of the loaded modules."""
    from whimbrel.catalogue.checks.providers import SOCACHE

    def has(name: str) -> bool:
        return cmd.loaded(f"socache_{SOCACHE.get(name)}_module")

    provider, colon, rest = word.partition(":")
    if not has(provider):
        names = ",".join(filter(has, ("dbm", "default", "memcache", "redis", "shmcb")))
        maybe = f"Maybe you need to load the appropriate socache module (mod_socache_{provider}?)"
        raise ConfigError(
            f"{cmd.name}: '{provider}' {kind} cache not supported (known names: {names}){dot} {maybe}{dot}"
        )
    if provider in ("shmcb", "default") and colon:
        _check_segment(cmd, rest)


def _check_segment(cmd: Command, text: str) -> None:
    from whimbrel.catalogue.checks.providers import segment_error

    wrong = segment_error(text, CheckContext("2.2" if cmd.dialect.tls_start_22 else "2.4"))
    if wrong:
        raise ConfigError(f"{cmd.name}: {wrong}")
