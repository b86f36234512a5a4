"""mod_dav_lock: a lock database for providers of other modules than mod_dav_fs.

Such a provider finds the function of `PROVIDER` under the group ``dav-lock`` and the name ``generic``.  It
names its resources by URL paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.dav.mod_dav.settings import set_lock_database
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.dav.mod_dav.locks import LockStore


@dataclass(slots=True)
class DavLockDirConfig:
    """Per-directory settings: the path of the lock database, "" without one."""

    lock_database: str = setting("")


def generic_locks(r: Request) -> LockStore:
    """Return the LockStore of this worker for *r*."""
    from whimbrel.modules.dav.mod_dav.locks import store_of

    return store_of(r, r.dir_config(DavLockDirConfig).lock_database, "DAVGenericLockDB")


MODULE = Module(
    name="dav_lock_module",
    source="mod_dav_lock.c",
    dir_config=DavLockDirConfig,
    dir_setters={
        "DAVGenericLockDB": set_lock_database("DAVGenericLockDB"),
    },
    providers=(Provider("dav-lock", "generic", generic_locks),),
)
