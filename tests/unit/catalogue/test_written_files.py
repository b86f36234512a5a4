"""What the server writes, by the directive that names it: httpd's manual and the help texts of its tables."""

from __future__ import annotations

import re

import pytest

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.third_party import product_of_directive
from whimbrel.catalogue.written_files import WRITTEN, written_path
from whimbrel.upgrade.rules.modules.r11_fcgid_names import NAMES

TELLING = re.compile(
    r"(?i)file ?name of (the|a)|lock|\bcore\b|run-?time|\bsocket to use|store cache files|"
    r"file for (logging|apache)|name of a log|storage|heartbeat data|store (of|for)|shared object cache|"
    r"shared memory cache"
)
"""Words of the help texts of directives that name what a server writes."""
OTHERS = frozenset(
    "acceptmutex cachelock cachelockmaxage davlockdiscovery h2maxheaderblocklen proxyvia loadfile "
    "heartbeatmaxservers logmessage brotlicompressionmaxinputblock maxmemfree mdstorelocks "
    "ldapsharedcachesize luahookmaptostorage <luahookmaptostorage".split()
)
"""Directives whose help texts have such words, and which name no such file."""


def helps() -> dict[str, str]:
    """Return the help texts of both versions by name."""
    return {row.name.lower(): row.help for version in ("2.2", "2.4") for row in catalogue(version)}


def test_every_directive_of_httpd_that_names_such_a_file_is_in_the_table() -> None:
    telling = {name for name, text in helps().items() if TELLING.search(text)}
    assert telling - WRITTEN.keys() <= OTHERS
    assert len(telling & WRITTEN.keys()) > 20


def test_every_name_is_a_directive() -> None:
    """Of httpd, of a module that others distribute, or an old name of mod_fcgid."""
    known = {*helps(), *NAMES}
    assert [name for name in WRITTEN if name not in known and not product_of_directive(name)] == []


@pytest.mark.parametrize(
    ("name", "word", "path"),
    [
        ("errorlog", "logs/error_log", "logs/error_log"),
        ("errorlog", "syslog:local1", ""),
        ("customlog", "|bin/rotatelogs x", ""),
        ("pidfile", "run/httpd.pid", "run/httpd.pid"),
        ("sslsessioncache", "shmcb:/run/cache(512000)", "/run/cache"),
        ("sslsessioncache", "dbm:logs/cache", "logs/cache"),
        ("sslsessioncache", "none", ""),
        ("sslmutex", "flock:/run/lock", "/run/lock"),
        ("mutex", "file:/run/locks", "/run/locks"),
        ("mutex", "sem", ""),
    ],
)
def test_paths(name: str, word: str, path: str) -> None:
    assert written_path(name, word) == path
