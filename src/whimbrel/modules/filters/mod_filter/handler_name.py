"""The name of the handler that makes a response, as filters see it while it runs."""

from __future__ import annotations

from stat import S_IFDIR
from typing import TYPE_CHECKING

from whimbrel.engine.deps.files import KIND

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

DEFAULT_HANDLER = ""
DIRECTORY_TYPE = "httpd/unix-directory"


def handler_name(r: Request) -> str:
    """Return the handler's name; without one, ap_invoke_handler takes the media type."""
    if r.handler is not None:
        return r.handler
    if r.finfo is not None and r.finfo.st_mode & KIND == S_IFDIR:
        return DIRECTORY_TYPE
    return r.content_type.partition(";")[0] if r.content_type is not None else DEFAULT_HANDLER
