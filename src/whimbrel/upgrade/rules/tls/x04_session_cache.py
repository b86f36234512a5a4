"""X04: SSLSessionCache needs a module for its kind of cache.  Document: documents/X04-session-cache.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import change_args
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import is_module_missing

SHM: Final = re.compile(r'(?<!\s)(\s*+"?)shm:', re.IGNORECASE)
NEEDED: Final = {
    "shmcb": "socache_shmcb_module",
    "dbm": "socache_dbm_module",
    "memcache": "socache_memcache_module",
}


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield caches with another name, removed caches, and caches whose module is missing."""
    for line in tree.named("sslsessioncache"):
        kind = (line.words() or [""])[0].partition(":")[0].lower()
        if kind == "shm":
            yield Finding(
                "X04",
                line.place,
                "the session cache shm: is called shmcb:, and 2.4 does not start with the old name",
                "say shmcb:",
                Risk.BREAKS,
                Safety.SAFE,
                change_args(tree, line, SHM.sub(r"\1shmcb:", line.args.strip(), count=1)),
            )
        elif kind in ("dc", "shmht"):
            yield Finding(
                "X04",
                line.place,
                f"2.4 has no session cache {kind}:",
                "use shmcb: for one machine, memcache: for several",
                Risk.BREAKS,
            )
        elif kind in NEEDED and is_module_missing(tree, NEEDED[kind], line):
            yield Finding(
                "X04",
                line.place,
                (
                    f"the session cache {kind}: needs mod_socache_{kind}, which is not loaded: 2.4 does "
                    "not start"
                ),
                f"load mod_socache_{kind}",
                Risk.BREAKS,
            )


RULE = Rule("X04", "session-cache", "SSLSessionCache needs a socache module", check)
