"""From requests to files."""

from __future__ import annotations

from stat import S_ISDIR
from typing import Final

from whimbrel.config.core_config import ETAG_INODE, ETAG_MTIME, ETAG_SIZE, CoreDirConfig
from whimbrel.engine.request import Request
from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav_fs.file_resource import FileResource
from whimbrel.modules.dav.mod_dav_fs.file_texts import FileStyle
from whimbrel.modules.http.etag import default_bits

_OLD_ETAG: Final = ETAG_INODE | ETAG_SIZE | ETAG_MTIME


def resource_of(r: Request) -> FileResource:
    """Return the file that *r* is mapped to, which may not exist; raise DavError for a path below a file."""
    path = (r.filename or "") + (r.path_info or "")
    path = path[:-1] if len(path) > 1 and path.endswith("/") else path
    uri = r.uri[:-1] if len(r.uri) > 1 and r.uri.endswith("/") else r.uri
    info = r.finfo
    if info is not None and r.path_info:
        if not S_ISDIR(info.st_mode):
            raise DavError(
                400,
                "The URL contains extraneous path components. The resource could not be identified.",
            )
        if r.path_info != "/":
            info = None
    dialect = r.plan.dialect
    bits = _OLD_ETAG
    if not dialect.dav_22:
        bits = r.dir_config(CoreDirConfig).etag.value or default_bits(dialect)
    style = FileStyle(dialect.dav_22, bits, int(r.time * 1_000_000_000))
    return FileResource(uri, path, info, style)
