"""Handler of mod_autoindex: responds to a request for a directory with its listing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from whimbrel.base.file_reading import read_regular
from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import lower, strip
from whimbrel.config.core_config import OPT_INDEXES, CoreDirConfig
from whimbrel.engine.deps.files import ASSUMED_DIRECTORY, is_file
from whimbrel.engine.request import Request
from whimbrel.engine.time_slices import Slices, names_in
from whimbrel.http.syntax.url import escape_html, escape_uri, unescape
from whimbrel.modules.core.handler import set_last_modified
from whimbrel.modules.generators.mod_autoindex.entries import Entry, in_order, make_entry, parent_entry
from whimbrel.modules.generators.mod_autoindex.page import (
    ListingStyle,
    columns,
    heading,
    plain_list,
    preamble,
    table,
)
from whimbrel.modules.generators.mod_autoindex.settings import AutoindexDirConfig, IndexOption
from whimbrel.modules.http.etag import make_etag
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

DIRECTORY_HANDLER = "httpd/unix-directory"
HTML = ("text/html", "application/xhtml+xml")
# names in a directory that is listed immediately, whatever the number of such requests
MAX_SMALL_LISTING = 128
# names in a directory whose listing is cached; validating that many files costs as much as a slice of long
# work
MAX_CACHED_NAMES = 1000
LINES = 32  # lines of a listing that are added to the body in one step
BUFFER = 8192  # a longer page is sent before its length is known


# The query --------------------------------------------------------------------------------------
def _formatted(options: IndexOption, value: str) -> IndexOption:
    if value == "0":
        return options & ~(IndexOption.FANCY | IndexOption.TABLE)
    return (
        (options | IndexOption.FANCY) & ~IndexOption.TABLE
        if value == "1"
        else options | IndexOption.FANCY | IndexOption.TABLE
    )


_VALUES = {"C": "NMSD", "O": "AD", "F": "012", "V": "01"}


def read_query(conf: AutoindexDirConfig, args: str | None, new: bool) -> tuple[ListingStyle, str | None]:
    """Return the style of the listing that the query selects, and the pattern of ``P=``.

    Everything after an invalid part is ignored.
    """
    options = conf.options
    chosen = {"C": conf.key or "N", "O": conf.direction or "A"}
    pattern = None
    for part in [] if options & IndexOption.IGNORE_CLIENT else (args or "").replace("&", ";").split(";"):
        key, equals, value = part.partition("=")
        if key == "P" and equals:
            bad, text = _unescaped(value)
            pattern = None if bad or not value else text
        elif equals and key in _VALUES and len(value) == 1 and value in _VALUES[key]:
            chosen[key] = value
            if key == "F":
                options = _formatted(options, value)
            elif key == "V":
                options = (
                    options | IndexOption.VERSION_SORT
                    if value == "1"
                    else options & ~IndexOption.VERSION_SORT
                )
        else:
            break
    carried = "".join(f";{k}={chosen[k]}" for k in "FV" if k in chosen) + (
        f";P={escape_uri(pattern)}" if pattern is not None else ""
    )
    return ListingStyle(conf, options, chosen["C"], chosen["O"] == "D", carried, new), pattern


def _unescaped(text: str) -> tuple[bool, str]:
    plain, status = unescape(text)
    return status != 0, plain


# Header and readme ------------------------------------------------------------------------------
async def _text_file(r: Request, name: str | None) -> tuple[str, Any]:
    """Return ("html", sub-request) for a page, ("text", content) for plain text, ("", None)."""
    if name is None:
        return "", None
    sub = await r.engine.lookup_uri(r, name)
    if sub.status != 200 or not is_file(sub.finfo) or sub.content_type is None:
        return "", None
    kind = lower(strip(sub.content_type.partition(";")[0]))
    if kind in HTML:
        return "html", sub
    if not kind.startswith("text/"):
        return "", None
    try:
        return "text", read_regular(to_bytes(sub.deps.on_disk(sub.filename or ""))).decode("latin-1")
    except OSError:
        sub.set_uncacheable()
        return "", None


async def _included(r: Request, sub: Request) -> bool:
    """Append the output of the sub-request; the page's length is unknown then."""
    r.chunked = True
    status: HookStatus = await r.engine.run_sub(sub)
    return status == OK


async def write_head(r: Request, style: ListingStyle, title: str) -> None:
    """Write the preamble and the heading, or the content of HeaderName."""
    kind, content = await _text_file(r, style.conf.header)
    bare = bool(style.options & IndexOption.SUPPRESS_PREAMBLE)
    if kind == "html":
        if not bare:
            r.write(preamble(style, title))
        if not await _included(r, content):
            r.write((preamble(style, title) if bare else "") + heading(style, title))
    elif kind == "text":
        r.write(f"{preamble(style, title)}<pre>\n{escape_html(content)}</pre>\n")
    else:
        r.write(preamble(style, title) + heading(style, title))


async def write_tail(r: Request, style: ListingStyle) -> None:
    """Write the content of ReadmeName or the signature, then the end."""
    kind, content = await _text_file(r, style.conf.readme)
    if kind == "html" and await _included(r, content):
        r.write("" if style.options & IndexOption.SUPPRESS_PREAMBLE else "</body></html>\n")
    elif kind == "text":
        r.write(f"<pre>\n{escape_html(content)}</pre>\n</body></html>\n")
    else:
        # the table ends with this rule
        r.write(r.engine.signature(r, "") + "</body></html>\n")


# The handler ------------------------------------------------------------------------------------
def _refused(r: Request, new: bool) -> HookStatus:
    if new:
        text = (
            f"Cannot serve directory {r.filename}: No matching DirectoryIndex "
            f"({r.notes.get('dir-index-names', 'none')}) found, and "
            "server-generated directory index forbidden by Options directive"
        )
    else:
        text = f"Directory index forbidden by Options directive: {r.filename}"
    r.log("error", text, code="AH01276", module="autoindex")
    return 403


async def _names(r: Request) -> list[bytes] | None:
    """Return the names in the directory; None, logged, if it cannot be read."""
    if r.deps.stat_directory(r.filename or "") is ASSUMED_DIRECTORY:
        return []
    try:
        return await names_in(to_bytes(r.deps.on_disk(r.filename or "")), Slices(r.engine.turns))
    except OSError:
        r.set_uncacheable()
        r.log("error", f"Can't open directory for index: {r.filename}", code="AH01275", module="autoindex")
        return None


async def _list(
    r: Request, style: ListingStyle, names: list[str], pattern: str | None, types: tuple[str, ...]
) -> None:
    slices = Slices(r.engine.turns)
    title = escape_html(r.uri)
    await write_head(r, style, title.rstrip("/") or "/")
    parent = parent_entry(r, style.conf, style.options, "PARENTDIR" if style.new else "DIR")
    entries = [] if parent is None else [parent]
    for name in names:
        await slices.pause()
        if r.deps.is_uncacheable and len(r.deps.stats) > MAX_CACHED_NAMES:
            r.deps.stats.clear()  # no response that depends on them is cached
        if pattern is None or _matches(pattern, name):
            entry = await make_entry(r, name, style.conf, style.options, types)
            if entry is not None:
                entries.append(entry)
    entries = await in_order(entries, style.key, style.descending, style.options, slices)
    shape: Callable[[ListingStyle, list[Entry]], Iterator[str]] = plain_list
    if style.options & IndexOption.TABLE:
        shape = table
    elif style.options & IndexOption.FANCY:
        shape = columns
    lines = []
    for line in shape(style, entries):
        lines.append(line)
        if len(lines) == LINES:
            r.write("".join(lines))
            lines.clear()
            await slices.pause()
    r.write("".join(lines))
    while entries:  # thousands of entries are not released in one step
        del entries[-LINES:]
        await slices.pause()
    await write_tail(r, style)
    if sum([len(part) for part in r.body if isinstance(part, bytes)]) > BUFFER:
        r.chunked = True


def _matches(pattern: str, name: str) -> bool:
    """Return True if *name* matches P=: backslashes are literal, a leading dot must be explicit."""
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return compile_fnmatch(pattern.replace("\\", "\\\\")).search(name) is not None


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler of GET requests for directories, where Options Indexes allows listings."""
    conf = scope.dir_config(AutoindexDirConfig).settled()
    allowed = bool(scope.dir_config(CoreDirConfig).options.value & OPT_INDEXES)
    new = not scope.dialect.pages_22
    types = HTML if scope.dialect.autoindex_xhtml else HTML[:1]
    kind = f"{conf.content_type or 'text/html'};charset={conf.charset or 'ISO-8859-1'}"

    async def handle(r: Request) -> HookStatus:
        if r.handler != DIRECTORY_HANDLER or r.filename is None:
            return DECLINED
        r.allowed |= 1
        if r.method_number != 0:
            return DECLINED
        if not allowed:
            return _refused(r, new)
        if not r.filename.endswith("/"):
            r.filename += "/"
        names = await _names(r)
        if names is None:
            return 403
        r.content_type = kind
        if conf.options & IndexOption.TRACK_MODIFIED:
            _tracked(r)
        if r.header_only:
            return OK
        style, pattern = read_query(conf, r.args, new)
        if len(names) <= MAX_SMALL_LISTING:
            await _list(r, style, list(map(to_text, names)), pattern, types)
            return OK
        if len(names) > MAX_CACHED_NAMES:
            r.set_uncacheable()
        names.clear()  # a request that waits holds no memory
        async with r.engine.turns.large:
            await _list(r, style, list(map(to_text, await _names(r) or ())), pattern, types)
        return OK

    return CompiledHook(
        handle, Reads.HEAD | Reads.FILES, is_async=True, handlers=frozenset((DIRECTORY_HANDLER,))
    )


def _tracked(r: Request) -> None:
    if r.finfo is not None:
        r.mtime = r.finfo.st_mtime_ns // 1000
        set_last_modified(r)
        etag = make_etag(r)
        if etag:
            r.headers_out.set("ETag", etag)
