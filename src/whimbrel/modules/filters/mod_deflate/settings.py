"""mod_deflate: settings records and directives.

httpd merges neither record: a virtual host with one of the directives has the defaults of all others, and so
has a section.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue.checks.numbers import strtol
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.codings import ADD_SUFFIX, ETAG_MODES, set_note
from whimbrel.modules.support.setters import set_choice, set_in_range
from whimbrel.registry.settings import ReplacedRecord, setting


@dataclass(slots=True)
class DeflateServerConfig(ReplacedRecord):
    """Per-server settings.

    Attributes:
        level: 1 to 9; -1 for zlib's default, 6.
        window, memory: binary logarithm of the window; memory level of zlib.
        buffer: bytes of output that are passed on together.
        etag: what becomes of the ETag, one of `ETAG_MODES`.
        input_note, output_note, ratio_note: names of the notes for access logs; "" for none.
    """

    level: int = setting(-1)
    window: int = setting(15)
    memory: int = setting(9)
    buffer: int = setting(8096)
    etag: str = setting(ADD_SUFFIX)
    input_note: str = setting("")
    output_note: str = setting("")
    ratio_note: str = setting("")


@dataclass(slots=True)
class DeflateDirConfig(ReplacedRecord):
    """Per-directory settings: limits of inflation.

    Attributes:
        limit: bytes of an inflated request body; 0 for LimitRequestBody.
        ratio, burst: the output is at most *ratio* times the input, except *burst* times in a row.
    """

    limit: int = setting(0)
    ratio: int = setting(200)
    burst: int = setting(3)


def set_limit(_cmd: Command, conf: DeflateDirConfig, words: list[str]) -> None:
    """Set DeflateInflateLimitRequestBody BYTES."""
    value, rest, cut = strtol(words[0])
    if cut:
        raise ConfigError("DeflateInflateLimitRequestBody is not parsable.")
    if rest or value < 0:
        raise ConfigError("DeflateInflateLimitRequestBody requires a non-negative integer.")
    conf.limit = value


MAX_INT: Final = (1 << 31) - 1


DIR_SETTERS: Final[dict[str, Setter]] = {
    "DeflateInflateLimitRequestBody": set_limit,
    "DeflateInflateRatioLimit": set_in_range(
        "ratio", 1, MAX_INT, "DeflateInflateRatioLimit must be positive"
    ),
    "DeflateInflateRatioBurst": set_in_range(
        "burst", 1, MAX_INT, "DeflateInflateRatioBurst must be positive"
    ),
}
SERVER_SETTERS: Final[dict[str, Setter]] = {
    "DeflateFilterNote": set_note("Unknown note type {}"),
    "DeflateWindowSize": set_in_range("window", 1, 15, "DeflateWindowSize must be between 1 and 15"),
    "DeflateBufferSize": set_in_range("buffer", 1, MAX_INT, "DeflateBufferSize should be positive"),
    "DeflateMemLevel": set_in_range("memory", 1, 9, "DeflateMemLevel must be between 1 and 9"),
    "DeflateCompressionLevel": set_in_range("level", 1, 9, "Compression Level must be between 1 and 9"),
    "DeflateAlterEtag": set_choice(
        "etag", ETAG_MODES, "DeflateAlterETAG accepts only 'NoChange', 'AddSuffix', and 'Remove'"
    ),
}
