"""The block of a status page about the cache of TLS sessions (ssl_ext_status_hook).

Sessions are kept in tickets, which the cache does not store: its counts are zero, as httpd's are where all
clients use tickets.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.numbers import lower, strtol
from whimbrel.engine.request import Request
from whimbrel.modules.ssl.mod_ssl.settings import SslServerConfig

DEFAULT_SIZE: Final = 512 * 1024  # bytes of shmcb
_HEADER: Final = 88  # bytes of shmcb's header
_SESSION: Final = 180  # bytes of one session and its index, as shmcb divides its memory
_MAX_SUBCACHES: Final = 256
_SHMCB: Final = (
    "cache type: <b>SHMCB</b>, shared memory: <b>{}</b> bytes, current entries: <b>0</b><br>subcaches: "
    "<b>{}</b>, indexes per subcache: <b>{}</b><br>index usage: <b>0%</b>, cache usage: <b>0%</b><br>total "
    "entries stored since starting: <b>0</b><br>total entries replaced since starting: <b>0</b><br>total "
    "entries expired since starting: <b>0</b><br>total (pre-expiry) entries scrolled out of the cache: "
    "<b>0</b><br>total retrieves since starting: <b>0</b> hit, <b>0</b> miss<br>total removes since "
    "starting: <b>0</b> hit, <b>0</b> miss<br>"
)
_SHMCB_AUTO: Final = """CacheType: SHMCB
CacheSharedMemory: {}
CacheCurrentEntries: 0
CacheSubcaches: {}
CacheIndexesPerSubcaches: {}
CacheIndexUsage: 0%
CacheUsage: 0%
CacheStoreCount: 0
CacheReplaceCount: 0
CacheExpireCount: 0
CacheDiscardCount: 0
CacheRetrieveHitCount: 0
CacheRetrieveMissCount: 0
CacheRemoveHitCount: 0
CacheRemoveMissCount: 0
"""
_DBM: Final = (
    "cache type: <b>DBM</b>, maximum size: <b>unlimited</b><br>current entries: <b>0</b>, current size: "
    "<b>0</b> bytes<br>average entry size: <b>0</b> bytes<br>"
)
_DBM_AUTO: Final = """CacheType: DBM
CacheMaximumSize: unlimited
CacheCurrentEntries: 0
CacheCurrentSize: 0
CacheAvgEntrySize: 0
"""
_PAGE: Final = (
    '<hr>\n<table cellspacing=0 cellpadding=0>\n<tr><td bgcolor="#000000">\n<b><font color="#ffffff" '
    'face="Arial,Helvetica">SSL/TLS Session Cache Status:</font></b></td></tr>\n<tr><td bgcolor="#ffffff">\n'
    "{}</td></tr>\n</table>\n"
)


def subcaches(size: int) -> tuple[int, int]:
    """Return the number of subcaches that shmcb makes of *size* bytes, and of indexes in each."""
    sessions = max(0, size - _HEADER) // _SESSION
    count = _MAX_SUBCACHES
    while count > 1 and sessions // count < 2 * count:
        count //= 2
    return count, sessions // count


def section(r: Request, auto: bool) -> str:
    """Return the block, "" without SSLSessionCache; for ``?auto`` as lines."""
    cache = r.engine.main.config(SslServerConfig).session_cache
    if cache in ("", "none"):
        return ""
    kind, _, argument = cache.partition(":")
    text = ""
    if lower(kind) == "shmcb":
        size = strtol(argument.partition("(")[2])[0] if "(" in argument else DEFAULT_SIZE
        text = (_SHMCB_AUTO if auto else _SHMCB).format(size, *subcaches(size))
    elif lower(kind) == "dbm":
        text = _DBM_AUTO if auto else _DBM
    return f"TLSSessionCacheStatus\n{text}" if auto else _PAGE.format(text)
