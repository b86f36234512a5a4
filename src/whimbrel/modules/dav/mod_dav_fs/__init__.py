"""mod_dav_fs: the provider ``filesystem`` of mod_dav, which Dav On selects.

Files: file_resource, uploads (PUT), transfer (COPY, MOVE, DELETE), property_store (dead properties),
new_files.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.modules.dav.mod_dav.settings import set_lock_database
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, PathRules, Provider, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request
    from whimbrel.modules.dav.mod_dav.locks import LockStore
    from whimbrel.modules.dav.mod_dav_fs.file_resource import FileResource

_STATE_DIRECTORY: Final = ".DAV"


@dataclass(slots=True)
class DavFsServerConfig:
    """Per-server settings: the path of the lock database, "" without one."""

    lock_database: str = setting("")


class FileRepository:
    """The provider ``filesystem``."""

    __slots__ = ()
    name: Final = "filesystem"
    property_sets: Final = ("<http://apache.org/dav/propset/fs/1>",)

    def resource(self, r: Request) -> FileResource:
        """Return the file that *r* is mapped to; raises DavError."""
        from whimbrel.modules.dav.mod_dav_fs.repository import resource_of

        return resource_of(r)

    def locks(self, r: Request) -> LockStore:
        """Return the lock database of this worker for the server of *r*."""
        from whimbrel.modules.dav.mod_dav.locks import store_of

        return store_of(r, r.server_conf(DavFsServerConfig).lock_database, "DAVLockDB")


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Make the hook that hides the state directories."""
    from whimbrel.modules.dav.mod_dav.settings import DavDirConfig

    provider = scope.dir_config(DavDirConfig).provider
    if not isinstance(provider, FileRepository) or scope.dialect.dav_22:
        return None

    def fixup(r: Request) -> HookStatus:
        path = (r.filename or "") + (r.path_info or "")
        if _STATE_DIRECTORY not in path or _STATE_DIRECTORY not in path.split("/"):
            return DECLINED
        text = f"access to {_STATE_DIRECTORY} state directory denied for {path}"
        r.log("error", text, code="AH10619", module="dav_fs")
        return 403

    rules = PathRules(classify=_STATE_DIRECTORY.__eq__)
    return CompiledHook(fixup, Reads.FIELDS, path_rules=rules)


def check_lock_databases(configuration: Configuration) -> None:
    """Name the files in place of a lock database that are none; they stay as they are."""
    from whimbrel.modules.dav.mod_dav.locks import foreign_files

    known: set[str] = set()
    for server in configuration.servers():
        path = server.config(DavFsServerConfig).lock_database
        if path and path not in known:
            known.add(path)
            for text in foreign_files(path):
                configuration.warn(text, module="dav_fs")


MODULE = Module(
    name="dav_fs_module",
    source="mod_dav_fs.c",
    server_config=DavFsServerConfig,
    server_setters={
        "DAVLockDB": set_lock_database("DAVLockDB"),
    },
    hooks=(Hook(FIXUPS, make_fixup, Order.FIRST),),
    providers=(Provider("dav", FileRepository.name, FileRepository()),),
    post_config=(check_lock_databases,),
)
