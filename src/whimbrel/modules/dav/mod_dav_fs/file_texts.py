"""Texts about files in a listing: one function for each sequence of live properties.

mod_dav writes the text about a template as that about any resource, with words in place of live values; a
function compiled for these words fills in the values of each file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from stat import S_IXUSR
from time import gmtime
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.core_config import ETAG_MTIME, ETAG_NONE, ETAG_SIZE
from whimbrel.http.semantics.dates import format_http
from whimbrel.modules.dav.mod_dav.provider import HREF, MARK, FileText, LiveReader
from whimbrel.modules.http.etag import file_etag

if TYPE_CHECKING:
    import os

SECOND: Final = 1_000_000_000
MAX_WORDS: Final = 32  # in one text
DEFAULT_BITS: Final = ETAG_SIZE | ETAG_MTIME
_ETAG_NAME: Final = "getetag"
# the live properties in httpd's order, with their words; a file has an empty resourcetype
WORDS: Final = {
    ("lp1", "resourcetype"): "",
    ("lp1", "creationdate"): f"{MARK}creationdate{MARK}",
    ("lp1", "getcontentlength"): f"{MARK}getcontentlength{MARK}",
    ("lp1", "getlastmodified"): f"{MARK}getlastmodified{MARK}",
    ("lp1", "getetag"): f"{MARK}getetag{MARK}",
    ("lp2", "executable"): f"{MARK}executable{MARK}",
}
# the part of an f-string for each word
_EXPRESSIONS: Final = {
    HREF.strip(MARK): "{link}",
    "creationdate": f"{{iso_date(info.st_ctime_ns // {SECOND})}}",
    "getcontentlength": "{info.st_size}",
    "getlastmodified": "{date}",
    "getetag": "{style.etag(info)}",
    "executable": f'{{"T" if info.st_mode & {S_IXUSR} else "F"}}',
}
_DEFAULT_ETAG: Final = (
    f'{{"" if style.time - modified > {SECOND} else "W/"}}"{{"%x" % info.st_size}}-{{tag}}"'
)


@lru_cache(maxsize=2048)
def _stamp(modified: int) -> tuple[str, str]:
    """Return a time of modification, in nanoseconds, as a date and as a part of ETags."""
    return format_http(modified // SECOND), f"{modified // 1000:x}"


@lru_cache(maxsize=1024)
def iso_date(seconds: int) -> str:
    """``1994-11-06T08:49:37Z``."""
    return "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format(*gmtime(seconds)[:6])


@dataclass(frozen=True, slots=True)
class FileStyle:
    """What one request needs to know about all files.

    Attributes:
        is_old: 2.2's statuses.
        etag_bits: parts of an ETag, FileETag.
        time: of the request, in nanoseconds; younger files have a weak ETag.
    """

    is_old: bool
    etag_bits: int
    time: int

    def etag(self, info: os.stat_result) -> str:
        """Return the ETag of GET, which FileETag Digest does not change; "" without one."""
        if self.etag_bits & ETAG_NONE:
            return ""
        tag = file_etag(self.etag_bits, info)
        return tag if self.is_old or self.time - info.st_mtime_ns > SECOND else f"W/{tag}"


class FileProperties:
    """Properties in place of those of any file without dead ones; see PropertyTemplate."""

    __slots__ = ("_style", "exists", "key")

    def __init__(self, style: FileStyle) -> None:
        self.exists = True
        self.key = ""
        self._style = style

    def live_properties(self, _r: object) -> Iterator[tuple[str, str, str]]:
        """Yield prefix, name and value of the live properties."""
        for (prefix, name), word in WORDS.items():
            if not self._lacks(name):
                yield prefix, name, word

    @classmethod
    def live_reader(cls, prefix: str, name: str) -> LiveReader | None:
        """Return the function that reads one live property."""
        word = WORDS.get((prefix, name))
        return None if word is None else lambda template, _r: None if template._lacks(name) else word

    def properties(self) -> None:
        """Return None: there are no dead properties."""

    def compile(self, text: str) -> FileText | None:
        """Return the function that fills the words in *text*; None if it has too many."""
        pieces = text.split(MARK)
        if not len(pieces) & 1 or len(pieces) > 2 * MAX_WORDS + 1:
            return None
        style = self._style
        is_default = style.etag_bits == DEFAULT_BITS and not style.is_old
        return _function_of(tuple(pieces[1::2]), is_default)(style, pieces[::2])

    def _lacks(self, name: str) -> bool:
        return name == _ETAG_NAME and bool(self._style.etag_bits & ETAG_NONE)


@lru_cache(maxsize=64)
def _function_of(words: tuple[str, ...], is_default: bool) -> Callable[[FileStyle, Sequence[str]], FileText]:
    """Return the function that makes a `FileText` of a style and the texts around *words*; *is_default*: the
    ETag has size and time.
    """
    texts = [f"text_{index}" for index in range(len(words) + 1)]
    parts = [f"{{{texts[0]}}}"]
    for word, text in zip(words, texts[1:], strict=True):
        parts.append(_DEFAULT_ETAG if is_default and word == _ETAG_NAME else _EXPRESSIONS[word])
        parts.append(f"{{{text}}}")
    lines = [
        "def make(style, texts):",
        f"    {', '.join(texts)}, = texts",
        "    def text_of(link, info):",
        "        modified = info.st_mtime_ns",
        "        date, tag = stamp(modified)",
        f"        return f'''{''.join(parts)}'''",
        "    return text_of",
    ]
    values: dict[str, Any] = {"stamp": _stamp, "iso_date": iso_date}
    exec("\n".join(lines), values)
    function: Callable[[FileStyle, Sequence[str]], FileText] = values["make"]
    return function
