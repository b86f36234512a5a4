"""mod_mime: media type, language, encoding, charset, handler and filters by file name extensions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container
from functools import partial
from stat import S_IFDIR

from whimbrel.base.errors import ConfigError, PostConfigError
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.config.execute import state_of
from whimbrel.config.handlers import note_handler
from whimbrel.config.model import confs
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import words as split_words
from whimbrel.engine.deps.files import KIND
from whimbrel.engine.output.filter import OutputFilter, add_output_filter
from whimbrel.modules.support.setters import set_flag, set_path, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, PathRules, Reads, Scope
from whimbrel.registry.phases import DECLINED, INSERT_FILTER, OK, TYPE_CHECKER, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.directives.spec import Setter
    from whimbrel.engine.request import Request

DIRECTORY_TYPE = "httpd/unix-directory"
EXCEPTIONS: Final = "ap-mime-exceptions-list"
Extensions = dict[str, dict[str, str]]


def _overlaid(base: Extensions, over: Extensions) -> Extensions:
    """Merge per extension and attribute: the inner value wins, also "", the mark of Remove...."""
    return {**base, **{ext: {**base.get(ext, {}), **attributes} for ext, attributes in over.items()}}


@dataclass(slots=True)
class MimeDirConfig:
    """Per-directory settings.

    *extensions* maps an extension (lower case, no dot) to its attributes. The value "" marks an attribute as
    removed, which overrides TypesConfig, too. *match* holds the keywords of MultiviewsMatch.
    """

    extensions: Extensions = setting(make=dict, merge=_overlaid)
    default_language: str | None = setting(None)
    use_path_info: bool = setting(False)
    match: frozenset[str] = setting(frozenset())


@dataclass(slots=True)
class MimeServerConfig:
    """Per-server settings: TypesConfig, and after post_config its content, extension to type."""

    types_config: str | None = setting(None)
    types: dict[str, str] = setting(make=dict)


# Setters ----------------------------------------------------------------------------------------
def _extension(word: str) -> str:
    return word.removeprefix(".").lower()


def _store(conf: MimeDirConfig, word: str, attribute: str, value: str) -> None:
    """Store an attribute; all but types stay removed in a section that removes them."""
    known = conf.extensions if isinstance(conf.extensions, dict) else {}
    ext = _extension(word)
    if attribute != "type" and known.get(ext, {}).get(attribute) == "":
        return
    conf.extensions = {**known, ext: {**known.get(ext, {}), attribute: value}}


def _add(attribute: str) -> Setter:
    def add(cmd: Command, conf: MimeDirConfig, words: list[str]) -> None:
        if attribute == "handler" or (attribute == "type" and words[0][:12].lower() == "application/"):
            note_handler(state_of(cmd), words[0], is_type=attribute == "type")
        _store(conf, words[1], attribute, words[0].lower())

    return add


def _remove(attribute: str) -> Setter:
    def remove(_cmd: Command, conf: MimeDirConfig, words: list[str]) -> None:
        _store(conf, words[0], attribute, "")

    return remove


def set_match(cmd: Command, conf: MimeDirConfig, words: list[str]) -> None:
    """Set one keyword of MultiviewsMatch; some exclude each other."""
    word = words[0].lower()
    known = conf.match if isinstance(conf.match, frozenset) else frozenset()
    if word not in ("any", "negotiatedonly", "filters", "handlers"):
        raise ConfigError(f"Unrecognized option '{words[0]}'")
    if word in ("filters", "handlers"):
        if known & {"any", "negotiatedonly"}:
            raise ConfigError(f"{word.capitalize()} is incompatible with Any and NegotiatedOnly")
        conf.match = known | {word}
    elif known - {word}:
        others = "NegotiatedOnly" if word == "any" else "Any"
        name = "Any" if word == "any" else "NegotiatedOnly"
        raise ConfigError(f"{name} is incompatible with {others}, Filters and Handlers")
    else:
        conf.match = frozenset({word})


# The file of types ------------------------------------------------------------------------------
def read_types(data: str) -> dict[str, str]:
    """Parse a TypesConfig file into extension (lower case) to type; a later line wins."""
    types = {}
    for line in data.split("\n"):
        parts = [] if line[:1] == "#" else split_words(line)
        for extension in parts[1:]:
            types[extension.lower()] = parts[0]
    return types


def load_types(finished: Configuration) -> None:
    """Read the main server's TypesConfig once for all servers; an unreadable file ends the start."""
    servers = list(finished.servers())
    path = servers[0].config(MimeServerConfig).types_config or finished.disk.openable(
        os.path.join(finished.root, finished.build.types_file)
    )
    try:
        types = read_types(to_text(read_regular(to_bytes(path))))
    except OSError as problem:
        text = f"could not open mime types config file {path}."
        reason = f"({problem.errno}){os.strerror(problem.errno or 0)}: "
        coded = finished.dialect.messages_24
        raise PostConfigError("mime", ("error", reason + "AH01597: " * coded + text), coded=coded) from None
    for conf in confs(servers, MimeServerConfig):
        conf.types = types


# Finding ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Found:
    """Attributes of a file name; *others* are the extensions without any, None if no extension has one."""

    type: str | None
    charset: str | None
    encodings: tuple[str, ...]
    languages: tuple[str, ...]
    handler: str | None
    input_filters: tuple[str, ...]
    output_filters: tuple[str, ...]
    others: tuple[str, ...] | None


def name_parts(name: str, dots_belong: bool = True) -> list[str]:
    """Return the base name and the non-empty extensions of a file name.

    *dots_belong*: leading dots are part of the base name (2.4).
    """
    bare = name.lstrip(".") if dots_belong else name
    first, *extensions = bare.split(".")
    return [name[: len(name) - len(bare)] + first, *(e for e in extensions if e)]


def parse_name(name: str, conf: MimeDirConfig, types: dict[str, str], dots_belong: bool = True) -> Found:
    """Read the extensions from the left: the last type, charset, handler win; others accumulate."""
    kind = None
    charset = None
    handler = None
    lists: dict[str, list[str]] = {"encoding": [], "language": [], "input_filters": [], "output_filters": []}
    base, *extensions = name_parts(name, dots_belong)
    others = [base]
    known = False
    for extension in extensions:
        attributes = conf.extensions.get(extension.lower(), {})
        new = attributes.get("type", types.get(extension.lower()))
        has_attribute = bool(
            new or attributes.get("charset") or attributes.get("language") or attributes.get("encoding")
        )
        kind, charset, handler = (
            new or kind,
            attributes.get("charset") or charset,
            attributes.get("handler") or handler,
        )
        for what, values in lists.items():
            if attributes.get(what):
                values.append(attributes[what])
        has_attribute = (
            has_attribute
            or "any" in conf.match
            or bool("handlers" in conf.match and attributes.get("handler"))
        )
        has_attribute = has_attribute or bool(
            "filters" in conf.match and (attributes.get("input_filters") or attributes.get("output_filters"))
        )
        known = known or has_attribute
        if not has_attribute:
            others.append(extension)
    ins, outs = (
        tuple(f for f in ";".join(lists[w]).split(";") if f) for w in ("input_filters", "output_filters")
    )
    return Found(
        kind,
        charset,
        tuple(lists["encoding"]),
        tuple(lists["language"]),
        handler,
        ins,
        outs,
        tuple(others) if known else None,
    )


_MEDIA = compile(r"\s*([^\s/;]+)\s*/\s*([^\s;]+)\s*", re.ASCII)
_PARAMETER = compile(
    r';\s*([^\s=;]+)\s*=\s*("(?:\\.|[^"\\])*"|[^;\s]*+(?:\s++[^;\s]++)*)\s*(?=;|$)', re.S | re.ASCII
)


def with_charset(kind: str, charset: str | None) -> str | None:
    """Return the media type, normalized, with *charset* for its own; None if it is invalid."""
    media = _MEDIA.match(kind)
    if media is None:
        return None
    out = f"{media[1]}/{media[2]}"
    done = False
    for parameter in _PARAMETER.finditer(kind, media.end()):
        if charset and parameter[1] == "charset":
            if not done:
                out, done = f"{out}; charset={charset}", True
        else:
            out += f"; {parameter[1]}={parameter[2]}"
    return f"{out}; charset={charset}" if charset and not done else out


def _finder(
    conf: MimeDirConfig, types: dict[str, str], dots_belong: bool, memory: dict[str, tuple[str, str]]
) -> Callable[[str], Found]:
    """Return `parse_name` with a cache of the last names.

    *memory* maps the extensions of names that only have a media type to that type as it is sent, and to the
    extensions without attribute, each after a NUL.
    """
    names: dict[str, Found] = {}

    def find(name: str) -> Found:
        parsed = names.get(name)
        if parsed is None:
            if len(names) > 1000:
                names.clear()
                memory.clear()
            parsed = parse_name(name, conf, types, dots_belong)
            names[name] = parsed
            base, dot, extensions = name.partition(".")
            more = (
                parsed.languages
                or parsed.encodings
                or parsed.handler is not None
                or parsed.input_filters
                or parsed.output_filters
            )
            if base and dot and not more and parsed.type is not None and parsed.others is not None:
                kind = with_charset(parsed.type, parsed.charset)
                if kind is not None:
                    memory[extensions] = kind, "".join(["\0" + other for other in parsed.others[1:]])
        return parsed

    return find


def make_type(scope: Scope) -> CompiledHook | None:
    """Make the type checker, which sets the attributes of the file name."""
    conf = scope.dir_config(MimeDirConfig)
    types = scope.server_config(MimeServerConfig).types
    dialect = scope.dialect
    memory: dict[str, tuple[str, str]] = {}
    find = _finder(conf, types, dialect.leading_dot_is_name, memory)

    def find_type(r: Request) -> HookStatus:
        info = r.finfo
        if info is not None and info.st_mode & KIND == S_IFDIR:
            r.content_type = DIRECTORY_TYPE
            return OK
        if r.filename is None:
            return DECLINED
        path = r.filename + (r.path_info or "") if conf.use_path_info else r.filename
        name = path[path.rindex("/") + 1 :] if "/" in path else path
        base, dot, extensions = name.partition(".")
        cached = memory.get(extensions) if base and dot else None
        if cached is not None:
            r.content_type = cached[0]
            r.notes[EXCEPTIONS] = base + cached[1]
        else:
            _take(r, find(name), dialect.messages_24)
        if not r.content_languages and conf.default_language is not None:
            r.content_languages = [conf.default_language]
        return DECLINED if r.content_type is None else OK

    if conf.use_path_info:
        return CompiledHook(find_type, Reads.HEAD | Reads.FILES)
    rules = PathRules(classify=partial(_known_extensions, conf.extensions, types))
    return CompiledHook(find_type, Reads.FIELDS | Reads.FILES, path_rules=rules)


def _known_extensions(extensions: Container[str], types: Container[str], name: str) -> tuple[str, ...]:
    """Return the extensions of a file name that decide about its attributes; others are empty."""
    if "." not in name:
        return ()
    names = map(str.lower, name.split(".")[1:])
    return tuple([low if low in extensions or low in types else "" for low in names])


def _take(r: Request, parsed: Found, new: bool) -> None:
    if parsed.type is not None:
        r.content_type = parsed.type
    if parsed.languages:
        r.content_languages = [*r.content_languages, *parsed.languages]
    if parsed.encodings:
        r.content_encodings = [*r.content_encodings, *parsed.encodings]
    if parsed.handler is not None and not r.proxy:
        r.handler = parsed.handler
    for key, names in (
        ("mime-input-filters", parsed.input_filters),
        ("mime-output-filters", parsed.output_filters),
    ):
        if names:
            r.notes[key] = ";".join(names)
    if parsed.others is not None:
        r.notes[EXCEPTIONS] = "\0".join(parsed.others)
    if r.content_type is not None:
        kind = with_charset(r.content_type, parsed.charset)
        if kind is not None:
            r.content_type = kind
        else:
            text = f"annot get media type from '{r.content_type}'"
            r.log(
                "warn", f"C{text}" if new else f"mod_mime: analyze_ct: c{text}", code="AH01599", module="mime"
            )


def make_insert(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds the output filters of extensions; None without any."""
    named = {
        attributes[key]
        for attributes in scope.dir_config(MimeDirConfig).extensions.values()
        for key in ("input_filters", "output_filters")
        if attributes.get(key)
    }
    if not named:
        return None
    from whimbrel.engine.input.filter import InputFilter, add_input_filter
    from whimbrel.modules.core.filters import known_filters, known_input_filters, unknown_filter

    memory: dict[
        tuple[str, str], tuple[list[OutputFilter], list[InputFilter], list[str]]
    ] = {}  # by the filters in notes: the known filters, and the names of unknown ones

    def insert(r: Request) -> HookStatus:
        notes = r.notes
        if "mime-output-filters" not in notes and "mime-input-filters" not in notes:
            return OK
        key = (notes.get("mime-output-filters", ""), notes.get("mime-input-filters", ""))
        if key not in memory:
            if len(memory) > 1000:
                memory.clear()
            filters, lost = known_filters(scope, key[0])
            inputs, lost_inputs = known_input_filters(scope, key[1])
            memory[key] = filters, inputs, lost + lost_inputs
        added, added_inputs, unknown = memory[key]
        for name in unknown:
            unknown_filter(r, name)
        if not r.proxy:
            for filter_ in added:
                add_output_filter(r, filter_)
            for input_filter in added_inputs:
                add_input_filter(r, input_filter)
        return OK

    return CompiledHook(insert, Reads.FIELDS)


MODULE = Module(
    name="mime_module",
    source="mod_mime.c",
    dir_config=MimeDirConfig,
    server_config=MimeServerConfig,
    dir_setters={
        "AddCharset": _add("charset"),
        "AddEncoding": _add("encoding"),
        "AddHandler": _add("handler"),
        "AddInputFilter": _add("input_filters"),
        "AddLanguage": _add("language"),
        "AddOutputFilter": _add("output_filters"),
        "AddType": _add("type"),
        "DefaultLanguage": set_text("default_language"),
        "MultiviewsMatch": set_match,
        "RemoveCharset": _remove("charset"),
        "RemoveEncoding": _remove("encoding"),
        "RemoveHandler": _remove("handler"),
        "RemoveInputFilter": _remove("input_filters"),
        "RemoveLanguage": _remove("language"),
        "RemoveOutputFilter": _remove("output_filters"),
        "RemoveType": _remove("type"),
        "ModMimeUsePathInfo": set_flag("use_path_info"),
    },
    server_setters={
        "TypesConfig": set_path("types_config"),
    },
    hooks=(Hook(TYPE_CHECKER, make_type, Order.MIDDLE), Hook(INSERT_FILTER, make_insert, Order.FIRST)),
    post_config=(load_types,),
)
