"""mod_negotiation: content negotiation with MultiViews and type maps.

Manual: mod/mod_negotiation.html, content-negotiation.html.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.core_config import OPT_MULTI, CoreDirConfig
from whimbrel.directives.command import Command
from whimbrel.engine.deps.files import ASSUMED_DIRECTORY, is_file
from whimbrel.engine.time_slices import Slices
from whimbrel.http.semantics.conditional import PreconditionResult, meets_conditions
from whimbrel.http.syntax.url import escape_segment, escape_uri
from whimbrel.modules.http.etag import MICROSECONDS, make_etag
from whimbrel.modules.mappers.mod_negotiation.accept import CGI_TYPE, entry, members, transparency
from whimbrel.modules.mappers.mod_negotiation.answer import set_fields, variant_list
from whimbrel.modules.mappers.mod_negotiation.choose import FALLBACK, PREFER, Negotiation, Variant
from whimbrel.modules.mappers.mod_negotiation.typemap import MapError, MapReader
from whimbrel.modules.support.cgi.environment import path_info_start
from whimbrel.modules.support.setters import add_text, own, set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, HANDLER, OK, TYPE_CHECKER, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

NONE = 1
_GET = 0
_POST = 2
_OPTIONS = 5
MAP_TYPE = "application/x-type-map"
MAP_HANDLER = "type-map"


@dataclass(slots=True)
class NegotiationDirConfig:
    """LanguagePriority, and the bits of ForceLanguagePriority (NONE, PREFER, FALLBACK)."""

    priority: list[str] = setting(make=list)
    force: int = setting(PREFER)


@dataclass(slots=True)
class NegotiationServerConfig:
    """CacheNegotiatedDocs."""

    cache: bool = setting(False)


def set_force(_cmd: Command, conf: NegotiationDirConfig, words: list[str]) -> None:
    """Set None alone, or Prefer and Fallback."""
    known = own(conf, "force", int)
    word = words[0].lower()
    if word == "none":
        if known & ~NONE:
            raise ConfigError("Cannot combine ForceLanguagePriority options with None")
        conf.force = NONE
    elif word in ("prefer", "fallback"):
        if known & NONE:
            raise ConfigError(f"Cannot combine ForceLanguagePriority options None and {word.capitalize()}")
        conf.force = known | (PREFER if word == "prefer" else FALLBACK)
    else:
        raise ConfigError(f"Invalid ForceLanguagePriority option {words[0]}")


# Finding variants -------------------------------------------------------------------------------
def _start(r: Request) -> Negotiation:
    conf = r.dir_config(NegotiationDirConfig)
    directory = (r.filename or "/").rpartition("/")[0] + "/"

    def size_of(variant: Variant) -> int:
        if variant.size < 0:
            info = variant.sub.finfo if variant.sub is not None else r.deps.stat(directory + variant.name)
            variant.size = -1 if info is None else info.st_size
        return variant.size

    exact = r.plan.dialect.language_case
    return Negotiation(r.headers_in, conf.priority, conf.force, size_of, exact=exact)


def _fits(requested: str, notes: dict[str, str]) -> bool:
    """Return True if each extension without attributes is part of the requested name, in the same order."""
    others = notes.get("ap-mime-exceptions-list")
    if others is None:
        return False
    left = others.split("\0")
    for part in requested.split("."):
        if left and part == left[0]:
            left.pop(0)
    return not left


async def _read_directory(r: Request, n: Negotiation) -> HookStatus:
    """Add the files whose names continue the requested name; return OK or the status of a failure."""
    directory, _, requested = (r.filename or "").rpartition("/")
    listed = r.deps.stat_directory(directory or "/")
    slices = Slices(r.engine.turns)
    is_readable = listed is not ASSUMED_DIRECTORY
    try:
        place = r.deps.on_disk(directory or "/")
        names = await _names(place, to_bytes(requested + "."), slices) if is_readable else []
    except OSError:
        r.set_uncacheable()
        r.log("error", f"cannot read directory for multi: {directory}/", code="AH00686", module="negotiation")
        return 403
    for name in names:
        await slices.pause()
        sub = await r.engine.lookup_entry(r, name, with_query=True)
        if not is_file(sub.finfo):
            continue
        if r.path_info:
            sub.path_info, sub.uri = r.path_info, sub.uri + r.path_info
        if sub.handler is not None and sub.content_type is None:
            sub.content_type = CGI_TYPE
        if not _fits(requested, sub.notes) or sub.status != 200 or sub.content_type is None:
            continue
        if sub.content_type == MAP_TYPE or sub.handler == MAP_HANDLER:
            n.variants = []
            return _read_map(r, sub, n)
        variant = Variant(
            name=name,
            sub=sub,
            encoding=", ".join(sub.content_encodings),
            languages=list(sub.content_languages),
        )
        variant.take_type(entry(sub.content_type)[0])
        n.variants.append(variant)
    if names and not n.variants:
        words = f"Negotiation: discovered file(s) matching request: {r.filename} (None could be negotiated)."
        r.log("error", words, code="AH00687", module="negotiation")
        return 404
    _validate_list(r, r, listed)
    n.variants.sort(key=lambda v: (-v.source_quality, v.name))
    return OK


async def _names(directory: str, beginning: bytes, slices: Slices) -> list[str]:
    """Return the sorted names in *directory* with this beginning that are no directories; raise OSError."""
    names = []
    count = 0
    with os.scandir(to_bytes(directory)) as entries:
        for dir_entry in entries:
            count += 1
            if not count & 63:
                await slices.pause()
            if dir_entry.name.startswith(beginning) and not dir_entry.is_dir(follow_symlinks=False):
                names.append(to_text(dir_entry.name))
    return sorted(names)


def _read_map(r: Request, source: Request, n: Negotiation) -> HookStatus:
    """Add the variants that the map *source* names."""
    path = source.filename or ""
    source.deps.stat(path)
    try:
        data = read_regular(to_bytes(r.deps.on_disk(path)))
    except IsADirectoryError:  # httpd can open it, but reads nothing from it
        data = b""
    except OSError as problem:
        r.set_uncacheable()
        r.log("error", f"cannot access type map file: {path}", code="AH00683", module="negotiation")
        return 404 if isinstance(problem, (FileNotFoundError, NotADirectoryError)) else 403
    reader = MapReader(data, path)
    try:
        reader.read()
    except MapError as problem:
        r.log("error", problem.words, code=problem.code, module="negotiation")
        if not problem.ends:
            return 500
    n.variants = reader.variants
    _validate_list(r, source, source.finfo, data)
    return OK


def _validate_list(
    r: Request, source: Request, info: os.stat_result | None, data: bytes | None = None
) -> None:
    """Add the validator of the list of variants to the ETag: of the map *data*, or the directory's time."""
    if info is not None:
        mtime = info.st_mtime_ns // 1000
        source.mtime = mtime if source.mtime is None else max(source.mtime, mtime)
    r.vlist_validator = make_etag(source, None if data is None else lambda: data)


# Deciding ---------------------------------------------------------------------------------------
async def _decide(r: Request, n: Negotiation, prefer_scripts: bool) -> tuple[HookStatus, Variant | None]:
    """Return (OK, the best variant), or a status and None."""
    if r.method_number == _GET:
        n.transparent = not r.path_info and not any("/" in v.name or v.body is not None for v in n.variants)
    if n.transparent:
        n.client = transparency(r.headers_in.get("Negotiate"), r.headers_in.get("User-Agent"))
    n.add_default_types(prefer_scripts)
    best = n.best(r.env.get("prefer-language"))
    if best is None:
        n.client.alternates = True
        set_fields(r, n, chosen=False)
        (r.main or r).notes["variant-list"] = variant_list(n.variants)
        r.notes["variant-list"] = (r.main or r).notes["variant-list"]
        if n.transparent and n.client.supported:
            return 300, None
        r.log("error", f"no acceptable variant: {r.filename}", code="AH00690", module="negotiation")
        return 406, None
    if not n.transparent:
        set_fields(r, n, chosen=True)
        return OK, best
    status = await _choice(r, n, best)
    return (OK, best) if status == OK else (status, None)


async def _choice(r: Request, n: Negotiation, best: Variant) -> HookStatus:
    """Set the fields of a server choice; a variant that is negotiated itself is an error."""
    if best.sub is None:
        sub = await r.engine.lookup_file(r, best.name)
        if sub.status != 200 and "TCN" not in sub.err_headers_out:
            return sub.status
        best.sub = sub
    if "TCN" in best.sub.err_headers_out or best.sub.handler == MAP_HANDLER:
        return 506
    vary = best.sub.err_headers_out.get_list("Vary")
    if vary is not None:
        r.err_headers_out.set("Variant-Vary", vary)
        r.err_headers_out.set("Vary", vary)
        best.sub.err_headers_out.unset("Vary")
    r.err_headers_out.set("Content-Location", escape_segment(best.name))
    set_fields(r, n, chosen=True)
    return OK


# Hooks ------------------------------------------------------------------------------------------
def make_multiviews(scope: Scope) -> CompiledHook | None:
    """Make the hook of MultiViews: a missing file is replaced by the best file that begins with its name."""
    if not scope.dir_config(CoreDirConfig).options.value & OPT_MULTI:
        return None

    async def multiviews(r: Request) -> HookStatus:
        if r.finfo is not None or r.proxy or not (r.filename or "").startswith("/"):
            return DECLINED
        n = _start(r)
        status = await _read_directory(r, n)
        if status != OK:
            return status
        if not n.variants:
            return DECLINED
        status, best = await _decide(r, n, r.method_number != _GET or r.args is not None)
        if best is None:
            return status
        sub = best.sub or await r.engine.lookup_file(r, best.name)
        if sub.status != 200:
            return sub.status
        if sub.args is None:
            sub.args = r.args
        r.engine.fast_redirect(sub, r, keeps_filters=best.sub is None)
        r.mtime = None
        return OK

    return CompiledHook(multiviews, Reads.HEAD | Reads.FILES, is_async=True)


def make_map_handler(scope: Scope) -> CompiledHook:
    """Make the handler of type maps, which redirects internally to the best variant.

    Without CacheNegotiatedDocs the response to HTTP/1.0 is one that caches do not keep.
    """
    is_cacheable = scope.server_config(NegotiationServerConfig).cache

    async def handler(r: Request) -> HookStatus:
        if r.handler not in (MAP_TYPE, MAP_HANDLER):
            return DECLINED
        n = _start(r)
        status = _read_map(r, r, n)
        if status != OK:
            return status
        status, best = await _decide(r, n, False)
        if best is None:
            return status
        r.no_cache = r.no_cache or (not is_cacheable and r.proto < (1, 1))
        if best.body is not None:
            return await _send_body(r, best)
        uri = r.uri[: path_info_start(r.uri, r.path_info)] if r.path_info else r.uri
        directory = escape_uri(uri.rpartition("/")[0] + "/")
        query = "" if r.untracked_args is None else f"?{r.untracked_args}"
        target = directory + best.name + (r.path_info or "") + query
        return await r.engine.internal_redirect(target, r)

    return CompiledHook(
        handler, Reads.HEAD | Reads.FILES, is_async=True, handlers=frozenset((MAP_TYPE, MAP_HANDLER))
    )


async def _send_body(r: Request, best: Variant) -> HookStatus:
    """Respond with a variant inside the map."""
    r.allowed |= 1 << _GET | 1 << _OPTIONS | 1 << _POST
    await r.body_in.discard()
    if r.method_number not in (_GET, _POST):
        if not r.plan.dialect.messages_24:
            r.log("error", f"Invalid method in request {r.the_request}", module="negotiation")
        return 405
    body = best.body or b""
    r.headers_out.set("Accept-Ranges", "none" if r.plan.core.max_ranges == 0 else "bytes")
    r.headers_out.set("Content-Length", str(len(body)))
    if best.kind:
        r.content_type = f"{best.kind}; charset={best.charset}" if best.charset else best.kind
    if best.languages:  # else those of the map's own name, DefaultLanguage among them
        r.content_languages = list(best.languages)
    if best.encoding:
        r.content_encodings = [best.encoding]
    seconds = int(r.time) if r.mtime is None else r.mtime // MICROSECONDS
    met = meets_conditions(
        r.method, r.headers_in, None, seconds, int(r.time), r.status, version22=r.plan.dialect.wire_22
    )
    if met is not PreconditionResult.OK and not r.no_local_copy:
        return 304 if met is PreconditionResult.NOT_MODIFIED else 412
    r.write(body)
    return OK


def make_fixup(_scope: Scope) -> CompiledHook:
    """Make the fixup that names an encoding as the client does: gzip or x-gzip."""

    def fixup(r: Request) -> HookStatus:
        if len(r.content_encodings) != 1:
            return DECLINED
        name = r.content_encodings[0].removeprefix("x-")
        for member in members(r.headers_in.get_list("Accept-Encoding")) or ():
            if member.name.removeprefix("x-") == name:
                r.content_encodings = [member.name]
                break
        return DECLINED

    return CompiledHook(fixup, Reads.FIELDS, needs_file=True)


MODULE = Module(
    name="negotiation_module",
    source="mod_negotiation.c",
    dir_config=NegotiationDirConfig,
    server_config=NegotiationServerConfig,
    dir_setters={
        "LanguagePriority": add_text("priority"),
        "ForceLanguagePriority": set_force,
    },
    server_setters={
        "CacheNegotiatedDocs": set_flag("cache"),
    },
    hooks=(
        Hook(TYPE_CHECKER, make_multiviews, Order.FIRST),
        Hook(HANDLER, make_map_handler, Order.MIDDLE),
        Hook(FIXUPS, make_fixup, Order.MIDDLE),
    ),
)
