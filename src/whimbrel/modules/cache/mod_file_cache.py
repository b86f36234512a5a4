"""mod_file_cache: files that are opened at start and served as they were then.

CacheFile keeps an open file, MMapFile a mapped one; a file that replaces it is seen after a restart. Manual:
mod/mod_file_cache.html.
"""

from __future__ import annotations

import os
import stat

from whimbrel.base.errors import apr_error
from whimbrel.base.file_reading import open_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.directives.command import Command
from whimbrel.modules.support.setters import own
from whimbrel.registry.module import Hook, Module, Order, lazy_maker
from whimbrel.registry.phases import HANDLER
from whimbrel.registry.settings import setting


class OpenedFile:
    """An open file with its stat result at start; workers inherit the descriptor."""

    __slots__ = ("handle", "info")

    def __init__(self, handle: int, info: os.stat_result) -> None:
        self.handle = handle
        self.info = info

    def __del__(self) -> None:
        """Close the file with its configuration."""
        os.close(self.handle)


@dataclass(slots=True)
class FileCacheServerConfig:
    """Per-server settings: open files by path; those of the main server count."""

    files: dict[str, OpenedFile] = setting(make=dict)


def add_file(cmd: Command, conf: FileCacheServerConfig, words: list[str]) -> None:
    """Open a file; one that is none is skipped with a warning."""
    path = cmd.server_path(words[0])
    is_24 = cmd.dialect.messages_24
    name = "" if is_24 else "mod_file_cache: "
    try:
        info = os.stat(to_bytes(path))
    except OSError as problem:
        cmd.warn(f"{name}unable to stat({path}), skipping", code="AH00795", cause=apr_error(problem))
        return
    if not stat.S_ISREG(info.st_mode):
        cmd.warn(f"{name}{path} isn't a regular file, skipping", code="AH00796")
        return
    try:
        handle = open_regular(to_bytes(path))
    except OSError as problem:
        cmd.warn(
            f"{name}unable to open({path}, O_RDONLY), skipping", code="AH00798", cause=apr_error(problem)
        )
        return
    conf.files = {**own(conf, "files", dict), path: OpenedFile(handle, info)}


def share_files(finished: Configuration) -> None:
    """Give the main server's files to all virtual hosts."""
    main, *hosts = finished.servers()
    for host in hosts:
        host.config(FileCacheServerConfig).files = main.config(FileCacheServerConfig).files


MODULE: Final = Module(
    name="file_cache_module",
    source="mod_file_cache.c",
    server_config=FileCacheServerConfig,
    server_setters={"cachefile": add_file, "mmapfile": add_file},
    hooks=(
        Hook(HANDLER, lazy_maker("whimbrel.modules.cache.file_cache_handler", "make_handler"), Order.LAST),
    ),
    post_config=(share_files,),
)
