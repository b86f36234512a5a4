"""mod_deflate: compression and decompression of responses, decompression of request bodies.

Manual: mod/mod_deflate.html; RFC 1952.
"""

from __future__ import annotations

from whimbrel.modules.filters.mod_deflate.compress import DEFLATE
from whimbrel.modules.filters.mod_deflate.inflate import INFLATE
from whimbrel.modules.filters.mod_deflate.request_body import DEFLATE_INPUT
from whimbrel.modules.filters.mod_deflate.settings import (
    DIR_SETTERS,
    SERVER_SETTERS,
    DeflateDirConfig,
    DeflateServerConfig,
)
from whimbrel.registry.module import Module, Provider

MODULE = Module(
    name="deflate_module",
    source="mod_deflate.c",
    dir_setters=DIR_SETTERS,
    server_setters=SERVER_SETTERS,
    dir_config=DeflateDirConfig,
    server_config=DeflateServerConfig,
    providers=(
        Provider("output_filter", "deflate", DEFLATE),
        Provider("output_filter", "inflate", INFLATE),
        Provider("input_filter", "deflate", DEFLATE_INPUT),
    ),
)
