"""Canonical forms of lines: every entry of the tables, against the manual of each version."""

from __future__ import annotations

import pytest

from whimbrel.base.dialect import DIALECTS, V22, V24
from whimbrel.catalogue.load import catalogue
from whimbrel.verify import canonical as subject
from whimbrel.verify.canonical import canonical, says_default
from whimbrel.verify.config_lines import ConfigLine, LineScope

SCOPE = LineScope("server", "", "", 0)
NOT_IN_2_2 = {
    "authformprovider": "file",
    "authzsendforbiddenonfailure": "off",
    "mergeslashes": "off",
    "ssilegacyexprparser": "on",
    "sslcarevocationcheck": "chain no_crl_for_cert_ok",
    "sslproxycarevocationcheck": "chain no_crl_for_cert_ok",
    "sslproxycheckpeername": "off",
    "substitutemaxlinelength": "1g",
}
"""Directives of 2.4 alone, with the argument by which 2.4 does what 2.2 always does."""
NOT_THE_MANUALS = {
    "2.2": {
        "cachedirlevels": "2",  # mod_disk_cache.c; the manual has 3, of 2.0
        "requestreadtimeout": "body=0 header=0",  # "Unset; no limit"
        "ssloptions": "+legacydnstringformat",  # an option of 2.4 for what 2.2 always does
    },
    "2.4": {
        "requestreadtimeout": "body=20,minrate=500 header=20-40,minrate=500",  # without the handshake of TLS
    },
}
"""Entries that the row "Default" of the manual does not give word by word."""


def manual(version: str, name: str) -> str | None:
    entry = catalogue(version).find(name)
    return entry[0].default.strip('"').lower() if entry else None


def form(text: str, version: str = "2.4") -> subject.Form:
    name, _, args = text.partition(" ")
    return canonical(ConfigLine(name.lower(), args, "", 1, SCOPE), DIALECTS[version])


def both(line: str) -> list[tuple[str, str]]:
    return [("2.2", line), ("2.4", line)]


def entries() -> list[tuple[str, str]]:
    return [(version, name) for version, table in subject._DEFAULTS.items() for name in table]


@pytest.mark.parametrize(("version", "name"), entries())
def test_defaults_are_those_of_the_manual(version: str, name: str) -> None:
    default = NOT_THE_MANUALS[version].get(name) or manual(version, name)
    if default is None:
        default = NOT_IN_2_2[name]
    dialect = DIALECTS[version]
    assert says_default([form(f"{name} {default}", version)], dialect)
    assert says_default([form(f"{name} {default.upper()}", version)], dialect)
    assert not says_default([form(f"{name} {default} more", version)], dialect)
    assert not says_default([form(f"{name} other", version)], dialect)


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("2.2", "Options All"),
        ("2.2", "AllowOverride All"),
        ("2.2", "DefaultType text/plain"),
        ("2.2", "FileETag Size INode MTime"),
        ("2.2", "LimitRequestBody 0"),
        ("2.2", "Timeout 300"),
        ("2.2", "SSLProxyCheckPeerCN off"),
        ("2.2", "SSLProxyCheckPeerExpire off"),
        ("2.2", "AuthDigestProvider file"),
        ("2.4", "Options FollowSymLinks"),
        ("2.4", "AllowOverrideList None"),
        ("2.4", "DefaultType None"),
        ("2.4", "FileETag Size MTime"),
        ("2.4", "LimitRequestBody 1073741824"),
        ("2.4", "Timeout 60"),
        ("2.4", "SSLCARevocationCheck none"),
        ("2.4", "SSILegacyExprParser off"),
        ("2.4", "SubstituteMaxLineLength 1m"),
        *both("AddDefaultCharset off"),
        *both("AuthBasicProvider file"),
        *both("AuthLDAPCompareDNOnServer on"),
        *both("DirectoryIndex index.html"),
        *both("IndexOrderDefault Ascending Name"),
        *both("MultiviewsMatch NegotiatedOnly"),
        *both('IndexIgnore "."'),
    ],
)
def test_a_default_of_the_manual_says_nothing(version: str, line: str) -> None:
    assert says_default([form(line, version)], DIALECTS[version])


def test_order_counts_where_httpd_reads_an_order() -> None:
    assert not says_default([form("IndexOrderDefault Name Ascending")], V24)
    assert not says_default([form("DirectoryIndex index.html index.php")], V24)


def test_every_line_must_say_the_default() -> None:
    assert says_default([form("Timeout 60"), form("Timeout 60")], V24)
    assert not says_default([form("Timeout 60"), form("Timeout 61")], V24)
    assert not says_default([form("Timeout 60")], V22)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("MaxClients 150", "MaxRequestWorkers 150"),
        ("MaxRequestsPerChild 0", "MaxConnectionsPerChild 0"),
        ("IPCCommTimeout 9", "FcgidIOTimeout 9"),
        ("IPCConnectTimeout 3", "FcgidConnectTimeout 3"),
        ("MaxProcessCount 8", "FcgidMaxProcesses 8"),
        ("DefaultMaxClassProcessCount 4", "FcgidMaxProcessesPerClass 4"),
        ("SocketPath /run/f", "FcgidIPCDir /run/f"),
        ("DefaultType text/html", 'Header set Content-Type "text/html" "expr=-z %{CONTENT_TYPE}"'),
        ("DefaultType text/html", "header SET content-type text/html 'expr=-z %{CONTENT_TYPE}'"),
        ("RewriteRule ^a b [L]", "RewriteRule ^a b [L,UnsafeAllow3F]"),
        ("RewriteRule ^a b [L]", "RewriteRule ^a b [UnsafePrefixStat,L,BCTLS,BNP]"),
        ("RewriteRule ^a b", "RewriteRule ^a b [UnsafeAllow3F]"),
        ("RewriteRule ^a b [R=301]", "RewriteRule  ^a  b  [R=301]"),
        ("FilterProvider f DEFLATE resp=Content-Type *", 'FilterProvider f DEFLATE "-n %{CONTENT_TYPE}"'),
    ],
)
def test_two_spellings_have_one_form(old: str, new: str) -> None:
    assert form(old, "2.2") == form(new, "2.4")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("DefaultType text/html", 'Header add Content-Type text/html "expr=-z %{CONTENT_TYPE}"'),
        ("DefaultType text/html", 'Header set X-Type text/html "expr=-z %{CONTENT_TYPE}"'),
        ("DefaultType text/html", "Header set Content-Type text/html"),
        ("DefaultType text/html", 'Header set Content-Type text/html "expr=-n %{CONTENT_TYPE}"'),
        ("RewriteRule ^a b [L]", "RewriteRule ^a b [L,NE]"),
        ("RewriteRule ^a b [L]", "RewriteRule ^a b"),
        ("RewriteRule ^a UnsafeAllow3F", "RewriteRule ^a b"),
    ],
)
def test_other_words_have_another_form(old: str, new: str) -> None:
    assert form(old, "2.2") != form(new, "2.4")


def test_2_2_has_no_flags_that_restore_2_2() -> None:
    assert form("RewriteRule ^a b [BNP]", "2.2") != form("RewriteRule ^a b", "2.2")


def test_the_option_that_keeps_the_names_of_certificates_changes_nothing() -> None:
    """2.4 writes them with LegacyDNStringFormat as 2.2 does without an option."""
    old = form("SSLOptions +StdEnvVars +FakeBasicAuth", "2.2")
    assert form("SSLOptions +StdEnvVars +FakeBasicAuth +LegacyDNStringFormat") == old
    assert form("SSLOptions +StdEnvVars") != old
    assert says_default([form("SSLOptions +LegacyDNStringFormat")], V22)
