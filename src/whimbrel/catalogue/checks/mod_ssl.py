"""mod_ssl's argument rules."""

from __future__ import annotations

import os

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.catalogue.checks.numbers import atoi
from whimbrel.catalogue.checks.providers import has_socache, segment_error
from whimbrel.catalogue.checks.rules import (
    CheckContext,
    CheckWarning,
    Rule,
    Warner,
    always,
    by_version,
    directory,
    filled_file,
    in_range,
    one_of,
    only,
    split_args,
    when,
)

VERIFY = "none off on optional require optional_no_ca"
FILES = (
    "SSLCACertificateFile SSLCADNRequestFile SSLCARevocationFile SSLCertificateChainFile "
    "SSLProxyCACertificateFile SSLProxyCARevocationFile "
    "SSLProxyMachineCertificateFile SSLProxyMachineCertificateChainFile SSLSessionTicketKeyFile "
    "SSLOCSPResponderCertificateFile SSLSRPVerifierFile"
).split()
DIRECTORIES = (
    "SSLCACertificatePath SSLCADNRequestPath SSLCARevocationPath SSLProxyCACertificatePath "
    "SSLProxyCARevocationPath SSLProxyMachineCertificatePath"
)
TIMES = (
    "SSLOCSPResponderTimeout SSLOCSPResponseMaxAge SSLOCSPResponseTimeSkew SSLStaplingErrorCacheTimeout "
    "SSLStaplingResponderTimeout "
    "SSLStaplingResponseMaxAge SSLStaplingResponseTimeSkew SSLStaplingStandardCacheTimeout"
)
OPTIONS = "stdenvvars exportcertdata fakebasicauth strictrequire optrenegotiate"
PROTOCOLS = {
    "2.2": "all sslv2 sslv3 tlsv1 tlsv1.1 tlsv1.2",
    "2.4": "all sslv2 sslv3 tlsv1 tlsv1.1 tlsv1.2 tlsv1.3",
}
MUTEX = (
    "Invalid SSLMutex argument {0} (Valid SSLMutex mechanisms are: `none', `default', "
    "`flock:/path/to/file', `fcntl:/path/to/file', `sysvsem',"
    " `posixsem', `pthread', `file:/path/to/file', `sem' )"
)
CRL = ("none leaf chain", "no_crl_for_cert_ok")


def _options(words: list[str], around: CheckContext) -> str | None:
    known = OPTIONS + (" legacydnstringformat" if around.version == "2.4" else "")
    for word in split_args(words[0]):
        option = word[1:] if word[:1] in ("+", "-") else word
        if option.lower() not in known.split():
            return f"SSLOptions: Illegal option '{option}'"
    return None


def _protocol(name: str) -> Rule:
    """[+|-]protocol ...; 2.4 dropped SSLv2 and its OpenSSL SSLv3, which may only be disabled."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        for word in split_args(words[0]):
            sign, protocol = (word[0], word[1:]) if word[:1] in ("+", "-") else ("", word)
            if protocol.lower() not in PROTOCOLS[around.version].split():
                return f"{name}: Illegal protocol '{protocol}'"
            if around.version == "2.4" and sign != "-":
                if protocol.lower() == "sslv2":
                    return "SSLProtocol: SSLv2 is no longer supported"
                if protocol.lower() == "sslv3":
                    return "SSLv3 not supported by this version of OpenSSL"
        return None

    return rule


def _ciphers(words: list[str], around: CheckContext) -> str | None:
    return (
        None if len(words) < 2 or words[0] in ("SSL", "TLSv1.3") else f"protocol '{words[0]}' not supported"
    )


def _pass_phrase(words: list[str], around: CheckContext) -> str | None:
    word = words[0]
    if word.lower() == "builtin" or (word[0] == "|" and len(word) > 2):
        return None
    if len(word) > 5 and word.startswith("exec:"):
        path = around.path(word[5:])
        return (
            None if os.path.exists(to_bytes(path)) else f"SSLPassPhraseDialog: file '{path}' does not exist"
        )
    return "SSLPassPhraseDialog: Invalid argument"


def _random_seed(words: list[str], around: CheckContext) -> str | None:
    context, source = words[0], words[1]
    if context.lower() not in ("startup", "connect"):
        return f"SSLRandomSeed: invalid context: `{context}'"
    if source.lower() == "builtin":
        return (
            "SSLRandomSeed: byte specification not allowed for builtin seed source"
            if len(words) > 2
            else None
        )
    if source.startswith("egd:"):
        if around.version == "2.2":
            return "egd not supported with this SSL toolkit"
        return (
            f"Invalid SSLRandomSeed entropy source `{source}': This version of OpenSSL does not support "
            "the Entropy Gathering Daemon (EGD)."
        )
    named = len(source) > 5 and source.startswith(("file:", "exec:"))
    path = around.path(source[5:] if named else source)
    if not os.path.exists(to_bytes(path)):
        return f"SSLRandomSeed: source path '{path}' does not exist"
    return (
        "SSLRandomSeed: invalid number of bytes specified" if len(words) > 2 and atoi(words[2]) < 0 else None
    )


def _session_cache22(words: list[str], around: CheckContext) -> str | None:
    word = words[0]
    if word.lower() in ("none", "nonenotnull") or (
        len(word) > 4 and word.lower().startswith(("dbm:", "shm:"))
    ):
        return None
    if len(word) > 3 and word.lower().startswith("dc:"):
        return "SSLSessionCache: distcache support disabled"
    if not (len(word) > 6 and word.lower().startswith("shmcb:")):
        return "SSLSessionCache: Invalid argument"
    return _segment_error("SSLSessionCache", word, around)


def _segment_error(name: str, text: str, around: CheckContext) -> str | None:
    wrong = segment_error(text, around)
    return wrong and f"{name}: {wrong}"


def _cache24(name: str, kind: str, dot: str) -> Rule:
    """A socache provider and its arguments; the message lists the names of the loaded modules."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        provider, colon, rest = words[0].partition(":")
        if name == "SSLSessionCache" and words[0].lower() in ("none", "nonenotnull"):
            return None
        if not has_socache(provider, around):
            known = ",".join(
                sorted(n for n in ("default", "shmcb", "dbm", "memcache", "redis") if has_socache(n, around))
            )
            maybe = f"Maybe you need to load the appropriate socache module (mod_socache_{provider}?)"
            return f"{name}: '{provider}' {kind} cache not supported (known names: {known}){dot} {maybe}{dot}"
        return _segment_error(name, rest, around) if provider in ("shmcb", "default") and colon else None

    return rule


def _certificate(name: str) -> Rule:
    plain = filled_file(name)
    return lambda words, around: (
        None if around.version == "2.4" and words[0].startswith("pkcs11:") else plain(words, around)
    )


def _mode(name: str, modes: str, flag: str) -> Rule:
    """A mode and any number of one flag."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        mode, *flags = split_args(words[0]) or [""]
        bad = [mode] if mode.lower() not in modes.split() else [w for w in flags if w.lower() != flag]
        return f"{name}: Invalid argument '{bad[0]}'" if bad else None

    return rule


def _own_server(rule: Rule) -> Rule:
    """Return *rule*, for the server only: OpenSSL has no certificate authorities per directory."""

    def apply(words: list[str], around: CheckContext) -> str | None:
        wrong = rule(words, around)
        if wrong is None and around.is_per_directory and around.version == "2.4":
            return "Your SSL library does not have support for per-directory CA"
        return wrong

    return apply


def _require(words: list[str], around: CheckContext) -> str | None:
    """2.2 has its own grammar, in which any variable is defined."""
    wrong = around.expression_error(words[0].strip(), False)
    if not wrong or (around.version == "2.2" and wrong.startswith("Variable ")):
        return None
    return f"SSLRequire: {wrong if around.version == '2.4' else 'syntax error'}"


# Commands of OpenSSL's own configuration (SSL_CONF_cmd), in lower case: those of plain values, of files, of
# directories.
VALUES = """signaturealgorithms clientsignaturealgorithms curves groups minprotocol maxprotocol
    protocol options verifymode recordpadding numtickets
    cipherstring ciphersuites ecdhparameters chaincastore verifycastore requestcastore clientcastore"""
OF_FILES = (
    "certificate privatekey serverinfofile chaincafile verifycafile requestcafile clientcafile dhparameters"
)
OF_DIRECTORIES = "chaincapath verifycapath requestcapath clientcapath"


def _overriding(directive: str) -> Warner:
    """Warn of a protocol without sign, which overrides the ones before it on the line."""

    def check_overrides(words: list[str], around: CheckContext) -> CheckWarning | None:
        if around.version == "2.2":
            return None
        lost: list[str] = []
        chosen: set[str] = set()
        for word in split_args(words[0]):
            sign, name = (word[0], word[1:].lower()) if word[:1] in ("+", "-") else ("", word.lower())
            if name not in PROTOCOLS["2.4"].split():
                break
            meant = set(PROTOCOLS["2.4"].split()) if name == "all" else {name}
            if not sign and chosen:
                lost.append(word)
            chosen = chosen - meant if sign == "-" else chosen | meant if sign else meant
        template = (
            f"{directive}: Protocol '{{}}' overrides already set parameter(s). Check if a +/- prefix "
            "is missing."
        )
        warnings = [CheckWarning(template.format(word), "AH02532") for word in lost]
        return replace(warnings[0], more=tuple(warnings[1:])) if warnings else None

    return check_overrides


def _engine(words: list[str], around: CheckContext) -> CheckWarning | None:
    """SSLEngine optional (RFC 2817) was removed from 2.4, which starts without TLS."""
    if around.version == "2.2" or words[0].lower() != "optional":
        return None
    return CheckWarning("'SSLEngine optional' is no longer supported", "AH10510", "notice")


def _responder_proxy(words: list[str], around: CheckContext) -> str | None:
    """A URL as APR parses it."""
    scheme, colon, rest = words[0].partition(":")
    port = rest[2:].partition("/")[0].rpartition("@")[2].partition(":")[2] if rest.startswith("//") else ""
    if (colon and not scheme[:1].isalpha()) or (port and not port.isdigit()):
        return f"SSLOCSPProxyURL: Cannot parse URL {words[0]}"
    return None


def _openssl_command(words: list[str], around: CheckContext) -> str | None:
    name = words[0].lower()
    if name in OF_FILES.split():
        return filled_file("SSLOpenSSLConfCmd", 1)(words, around)
    if name in OF_DIRECTORIES.split():
        return directory("SSLOpenSSLConfCmd")(words[1:], around)
    return None if name in VALUES.split() else f"'{words[0]}': invalid OpenSSL configuration command"


VERIFY_DEPTH = "{}: Invalid argument '{{0}}'"
BAD_SNI = "Invalid SSLVhostSNIPolicy argument '{0}'"
MUTEXES = frozenset("none no default yes sem posixsem sysvsem pthread".split())
MUTEX_FILES = ("file:", "flock:", "fcntl:")

CHECKS: dict[str, Rule] = {
    **{name.lower(): filled_file(name) for name in FILES},
    **{name.lower(): directory(name) for name in DIRECTORIES.split()},
    **{name.lower(): in_range(0, None, f"{name}: invalid argument") for name in TIMES.split()},
    "sslcacertificatefile": _own_server(filled_file("SSLCACertificateFile")),
    "sslcacertificatepath": _own_server(directory("SSLCACertificatePath")),
    "sslrequire": _require,
    "sslcertificatefile": _certificate("SSLCertificateFile"),
    "sslcertificatekeyfile": _certificate("SSLCertificateKeyFile"),
    "sslciphersuite": _ciphers,
    "sslproxyciphersuite": _ciphers,
    "sslcarevocationcheck": _mode("SSLCARevocationCheck", *CRL),
    "sslproxycarevocationcheck": _mode("SSLProxyCARevocationCheck", *CRL),
    "sslcompression": only(
        "2.4",
        when(
            lambda words, around: words[0] == "on",
            "This version of OpenSSL does not have any compression methods available, cannot enable "
            "SSLCompression.",
        ),
    ),
    "sslcryptodevice": only(
        "2.4",
        one_of(
            "builtin",
            "SSLCryptoDevice: Invalid argument; must be one of: 'builtin' (none), 'dynamic'"
            " (Dynamic engine loading support)",
        ),
    ),
    "sslengine": by_version(
        one_of("on off optional", "Argument must be On, Off, or Optional"),
        one_of("on off optional", "Argument must be On or Off"),
    ),
    "sslfips": only(
        "2.2",
        when(
            lambda words, around: words[0] == "on",
            "SSLFIPS invalid, rebuild httpd and openssl compiled for FIPS",
        ),
    ),
    "ssllog": always("SSLLog directive is no longer supported - use ErrorLog."),
    "sslloglevel": always("SSLLogLevel directive is no longer supported - use LogLevel."),
    "sslmutex": when(
        lambda words, around: (
            words[0].lower() not in MUTEXES and not words[0].lower().startswith(MUTEX_FILES)
        ),
        MUTEX,
    ),
    "sslocspenable": _mode("SSLOCSPEnable", "on off leaf", "no_ocsp_for_cert_ok"),
    "sslocspproxyurl": _responder_proxy,
    "sslopensslconfcmd": _openssl_command,
    "ssloptions": _options,
    "sslpassphrasedialog": _pass_phrase,
    "sslprotocol": _protocol("SSLProtocol"),
    "sslproxyprotocol": _protocol("SSLProxyProtocol"),
    "sslproxyverify": one_of(VERIFY, "SSLProxyVerify: Invalid argument '{0}'"),
    "sslproxyverifydepth": in_range(0, None, VERIFY_DEPTH.format("SSLProxyVerifyDepth")),
    "sslrandomseed": _random_seed,
    "sslrenegbuffersize": in_range(0, None, "Invalid size for SSLRenegBufferSize: {0}"),
    "sslsessioncache": by_version(_session_cache22, _cache24("SSLSessionCache", "session", ".")),
    "sslsessioncachetimeout": in_range(0, None, "SSLSessionCacheTimeout: Invalid argument"),
    "sslstaplingcache": _cache24("SSLStaplingCache", "stapling", ""),
    "sslverifyclient": one_of(VERIFY, "SSLVerifyClient: Invalid argument '{0}'"),
    "sslverifydepth": in_range(0, None, VERIFY_DEPTH.format("SSLVerifyDepth")),
    "sslvhostsnipolicy": one_of("strict secure authonly insecure", BAD_SNI),
}
WARNINGS: dict[str, Warner] = {
    "sslengine": _engine,
    "sslprotocol": _overriding("SSLProtocol"),
    "sslproxyprotocol": _overriding("SSLProxyProtocol"),
}
