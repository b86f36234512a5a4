"""mod_mime_magic: media types by content, for files without a type by name.

Rules come from MimeMagicFile. If none matches, a text may be recognized by its words; compressed data is
decompressed and examined.
"""

from __future__ import annotations

import os
import re
import zlib
from stat import S_ISREG
from typing import TYPE_CHECKING, Final

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import apr_error
from whimbrel.base.file_reading import read_regular, read_start
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.deps.files import is_directory
from whimbrel.modules.support.magic_file import Matcher, Rule, parse_rules
from whimbrel.modules.support.setters import set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, TYPE_CHECKER, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

MAX_EXAMINED: Final = 4095  # bytes of a file that rules are applied to
WORDS_IN: Final = 1024  # bytes that are searched for words
_WORDS: Final = {
    **dict.fromkeys("<html> <HTML> <head> <HEAD> <title> <TITLE> <h1> <H1> <!--".split(), "text/html"),
    **dict.fromkeys(
        (
            "/* #include char The the double extern float real struct union CFLAGS LDFLAGS all: .PRECIOUS "
            ".ascii .asciiz .byte .even .globl clr "
            "(input, dcl"
        ).split(),
        "text/plain",
    ),
    **dict.fromkeys("Received: >From Return-Path: Cc:".split(), "message/rfc822"),
    **dict.fromkeys("Newsgroups: Path: Organization:".split(), "message/news"),
}
_GZIP = b"\x1f\x8b"
_COMPRESS = b"\x1f\x9d"
_PACK = b"\x1f\x1e"
_TROFF: Final = re.compile(rb"\.[ \t\n\v\f\r]*[A-Za-z0-9\\][A-Za-z0-9]")
_RESULT: Final = re.compile(r"\s*(?P<type>[^\s/]+/\S*)(?P<blank>\s)?\s*(?P<encoding>\S+\s?)?", re.ASCII)


@dataclass(slots=True)
class MagicServerConfig:
    """Per-server settings; *rules* are parsed when the server starts."""

    path: str | None = setting(None)
    rules: list[Rule] | None = setting(None)


def read_rules(configuration: Configuration) -> None:
    """Parse the magic file of each server that has one; errors are logged and skipped."""
    known: dict[str, list[Rule]] = {}
    for server in configuration.servers():
        conf = server.config(MagicServerConfig)
        if conf.path is None:
            continue
        path = conf.path if conf.path.startswith("/") else f"{configuration.root}/{conf.path}"
        path = configuration.disk.openable(path)
        if path not in known:
            known[path] = _read(configuration, path)
        conf.rules = known[path]


def _read(configuration: Configuration, path: str) -> list[Rule]:
    def complain(code: str, words: str, cause: str = "") -> None:
        configuration.warn(words, code=code, level="error", module="mime_magic", cause=cause)

    try:
        return parse_rules(to_text(read_regular(to_bytes(path))), complain)
    except OSError as problem:
        complain(
            "AH01515",
            f"mod_mime_magic: can't read magic file {path}",
            apr_error(problem),
        )
        return []


def by_words(data: bytes) -> str | None:
    """Return the type of a text by its first characters, or by the first word that is typical of one type."""
    if _TROFF.match(data):
        return "application/x-troff"
    if re.match(rb"[cC][ \t\n\v\f\r]", data):
        return "text/plain"
    piece = data[:WORDS_IN][:-1].partition(b"\0")[0]
    for word in re.split(rb"[ \t\n\r\f]+", piece):
        kind = _WORDS.get(to_text(word))
        if kind is not None:
            return kind + (" (with escape sequences)" if b"\x1b" in data[:WORDS_IN] else "")
    return "application/x-tar" if _is_tar(data) else None


def _is_tar(data: bytes) -> bool:
    """Return True if the checksum of a tar header is correct."""
    if len(data) < 512:
        return False
    field = re.match(rb" *([0-7]+)[ \0]", data[148:156])
    return field is not None and int(field[1], 8) == sum(data[:148]) + 8 * 32 + sum(data[156:512])


def unpacked(data: bytes) -> bytes | None:
    """Return the beginning of the decompressed *data*; None if it cannot be decompressed."""
    try:
        return zlib.decompressobj(31).decompress(data, MAX_EXAMINED + 1) or None
    except zlib.error:
        return None


def make_type(scope: Scope) -> CompiledHook | None:
    """Set type and encoding by content, if the name gave no type."""
    conf = scope.server_config(MagicServerConfig)
    if conf.path is None:
        return None

    async def find(r: Request) -> HookStatus:
        if r.finfo is None or not r.filename or r.content_type:
            return DECLINED
        if is_directory(r.finfo):
            r.content_type = "httpd/unix-directory"
            return OK
        if await _without_revision(r):
            return OK
        description = _RESULT.match(_detect(r, r.finfo, conf.rules or [], scope.dialect) or "")
        return DECLINED if description is None else _set_type(r, description)

    return CompiledHook(find, Reads.HEAD | Reads.FILES, is_async=True)


def _detect(r: Request, finfo: os.stat_result, rules: list[Rule], dialect: Dialect) -> str | None:
    """Return the type by the file's content; None or "" if unknown."""
    if not S_ISREG(finfo.st_mode):
        return None
    if finfo.st_size == 0:
        return "text/plain"
    try:
        data = read_start(to_bytes(r.deps.on_disk(r.filename or "")), MAX_EXAMINED) + b"\0"
    except OSError as problem:
        r.set_uncacheable()
        message = f"mod_mime_magic: can't read `{r.filename}'"
        if dialect.messages_24:
            _log(r, "AH01512", message)
        else:
            _log(r, "", message, apr_error(problem))
        return None
    if not data.startswith((_GZIP, _COMPRESS, _PACK)):
        return _describe(r, data, rules)
    inner = unpacked(data[:-1]) if data.startswith(_GZIP) else None
    if inner is None:
        message = f"mod_mime_magic: read failed from uncompress of {r.filename}"
        _log(r, "AH01554", message, "(70014)End of file found")
        return _describe(r, data, rules)
    description = _describe(r, inner, rules)
    r.content_encodings = ["x-compress" if data.startswith(_COMPRESS) else "x-gzip"]
    return description


def _describe(r: Request, data: bytes, rules: list[Rule]) -> str | None:
    """Return the description by the magic rules, otherwise by typical words."""
    description = Matcher(data, lambda code, words: _log(r, code, words)).says(rules)
    return description if description is not None else by_words(data)


def _set_type(r: Request, description: re.Match[str]) -> HookStatus:
    """Set the described type and encoding; 500 if the type contains control characters."""
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", description["type"]):
        text_of = (
            f"Response header 'Content-Type' value of '{description['type']}' contains invalid "
            "characters, aborting request"
        )
        r.log("error", text_of, code="AH02430", module="http")
        return 500
    encoding = description["encoding"]
    r.content_type = description["type"].lower() + (description["blank"] if encoding else "")
    if encoding:
        r.content_encodings = [encoding.lower()]
    return OK


def _log(r: Request, code: str, words: str, cause: str = "") -> None:
    """Log an error of the module about *r*."""
    r.log("error", words, code=code, module="mime_magic", cause=cause)


async def _without_revision(r: Request) -> bool:
    """Give ``NAME@12`` the type of NAME; return True if it has one."""
    match = re.fullmatch(r"(.+)@\d+", r.filename or "", re.DOTALL)
    if match is None:
        return False
    sub = await r.engine.lookup_file(r, match[1])
    if not sub.content_type:
        return False
    r.content_type = sub.content_type
    r.content_encodings = r.content_encodings or list(sub.content_encodings)
    r.content_languages = r.content_languages or list(sub.content_languages)
    return True


MODULE = Module(
    name="mime_magic_module",
    source="mod_mime_magic.c",
    server_config=MagicServerConfig,
    server_setters={
        "MimeMagicFile": set_text("path"),
    },
    hooks=(Hook(TYPE_CHECKER, make_type, Order.LAST),),
    post_config=(read_rules,),
)
