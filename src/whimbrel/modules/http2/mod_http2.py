"""mod_http2: settings of HTTP/2 connections; server/http2 implements the protocol.

The server reads the `Http2ServerConfig` of a server from the provider ("http2", "settings"). Numbers of
workers have no effect, since one event loop serves all streams.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, is_digits, strip
from whimbrel.config.configuration import STREAM_TAGS
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter, Versions
from whimbrel.http.http1.response import invalid_field
from whimbrel.http.semantics.headers import Pair
from whimbrel.modules.support.setters import ON_OFF, ignored, set_choice, set_in_range, timeout
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.config.model import Server
    from whimbrel.engine.request import Request

# notes of a stream's connection
NOTE_ID = "http2-id"
NOTE_TAG = "http2-tag"
NOTE_PUSH = "http2-push"
NOTE_PUSHED_ON = "http2-pushed-on"
NOTE_PUSH_OFF = "http2-push-off"
_MISSING = "http2 missing"


def overlaid(base: tuple[Pair, ...], over: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """Return the hints of a section before those around it (apr_table_overlay)."""
    return over + base


@dataclass(slots=True)
class Http2ServerConfig:
    """Per-server settings: sizes in bytes, times in seconds; None: depends on the connection."""

    direct: bool | None = setting(None)
    max_streams: int = setting(100)
    window: int = setting(65535)
    push: bool = setting(True)
    padding: int = setting(0)  # bits: up to 2**bits - 1 bytes are added to a frame
    max_data: int = setting(0)  # bytes of one DATA frame, 0: the client's limit
    stream_timeout: float = setting(0.0)  # 0: Timeout
    diary_size: int = setting(256)
    # media type of a pushed response, or *, to "before", "after" or "interleaved"
    priorities: dict[str, str] = setting(merge=lambda base, over: {**base, **over}, make=dict)
    early_hints: bool = setting(False)
    max_head: int = setting(0)  # estimated bytes of a response head, 0: nghttp2's limit
    websockets: bool = setting(False)
    modern_tls_only: bool = setting(True)  # H2 only over TLS 1.2 and later (RFC 9113, 9.2)
    max_errors: int = setting(8)  # flow-control errors of streams, 0: any number


@dataclass(slots=True)
class Http2DirConfig:
    """Per-directory settings.

    *push* is None where H2Push stands in no section. Resources and hints of sections replace the server's.
    """

    upgrade: bool | None = setting(None)
    push: bool | None = setting(None)
    resources: tuple[str, ...] = setting((), merge=operator.add)  # values of Link fields
    server_resources: tuple[str, ...] = setting((), merge=operator.add)
    hints: tuple[Pair, ...] = setting((), merge=overlaid)
    server_hints: tuple[Pair, ...] = setting((), merge=overlaid)


# setters ----------------------------------------------------------------------------------------
def switch(name: str = "") -> Setter:
    """Return a setter of On or Off into *name* of the server's or directory's record, "" for none."""
    return set_choice(name, ON_OFF, "value must be On or Off")


def time(name: str, reason: str) -> Setter:
    """Return a setter of a time with or without unit into *name* ("" ignores it)."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        value = timeout(words[0])
        if value is None:
            raise ConfigError(reason)
        if name:
            setattr(record, name, value / 1_000_000)

    return apply


def set_padding(_cmd: Command, conf: Http2ServerConfig, words: list[str]) -> None:
    """Set H2Padding: 0 to 8 bits."""
    bits = atoi(words[0])
    if bits < 0:
        raise ConfigError("number of bits must be >= 0")
    if bits > 8:
        raise ConfigError("number of bits must be <= 8")
    conf.padding = bits


def set_diary(_cmd: Command, conf: Http2ServerConfig, words: list[str]) -> None:
    """Set H2PushDiarySize: 0, or a power of two below 65536."""
    value = atoi(words[0])
    if value < 0:
        raise ConfigError("value must be >= 0")
    if value & (value - 1):
        raise ConfigError("value must a power of 2")
    if value >= 65536:
        raise ConfigError("value must <= 65536")
    conf.diary_size = value


def set_priority(_cmd: Command, conf: Http2ServerConfig, words: list[str]) -> None:
    """Execute H2PushPriority: a media type, its dependency, and a weight, which Before excludes.

    A number alone is a weight.  Weights have no effect: pushed streams share the connection evenly.
    """
    kind = words[1].lower()
    has_no_weight = len(words) == 2 and is_digits(kind[:1])
    if not has_no_weight and kind not in ("after", "before", "interleaved"):
        raise ConfigError("dependency must be one of 'After', 'Before' or 'Interleaved'")
    if has_no_weight:
        weight = words[1]
    elif len(words) > 2:
        weight = words[2]
    else:
        weight = None
    if weight is not None and kind == "before":
        raise ConfigError("dependency 'Before' does not allow a weight")
    if weight is not None and atoi(weight) < 1:
        raise ConfigError("weight must be a number >= 1")
    known = conf.priorities if isinstance(conf.priorities, dict) else {}
    conf.priorities = {**known, words[0]: "after" if has_no_weight else kind}


def add_resource(cmd: Command, conf: Http2DirConfig, words: list[str]) -> None:
    """Execute H2PushResource: ``[add] path [critical]``."""
    rest = words[1:] if words[0].lower() == "add" and len(words) > 1 else words
    if len(rest) > 2:
        raise ConfigError("too many parameter")
    if len(rest) == 2 and rest[1].lower() != "critical":
        raise ConfigError("unknown last parameter")
    path = "(null)" if len(words) == 1 and words[0].lower() == "add" else rest[0]  # as httpd prints it
    _append(cmd, conf, "resources", f"<{path}>; rel=preload{'; critical' if len(rest) == 2 else ''}")


def add_hint(cmd: Command, conf: Http2DirConfig, words: list[str]) -> None:
    """Execute H2EarlyHint: a field of 103 responses."""
    name = words[0]
    value = words[1].lstrip(" \t\n\v\f\r")
    if not name:
        raise ConfigError("Early Hint header name must not be empty")
    if not value:
        raise ConfigError("Early Hint header value must not be empty/only space")
    if invalid_field((("Link", value),)) is not None:
        raise ConfigError("Early Hint header value contains invalid characters")
    _append(cmd, conf, "hints", (name, value))


def _append(cmd: Command, conf: Http2DirConfig, name: str, entry: object) -> None:
    """Append *entry* to the list *name* of a section, or to that of the server."""
    name = name if cmd.path or cmd.in_htaccess else f"server_{name}"
    known = getattr(conf, name)
    setattr(conf, name, (*(known if isinstance(known, tuple) else ()), entry))


def set_push(cmd: Command, conf: Http2ServerConfig, words: list[str]) -> None:
    """Set H2Push of the server, or of the section in which it stands."""
    record: object = cmd.dir_config(Http2DirConfig) if cmd.path or cmd.in_htaccess else conf
    switch("push")(cmd, record, words)


def warn_serialize(cmd: Command, _conf: Http2ServerConfig, words: list[str]) -> None:
    """Warn of H2SerializeHeaders, which has no effect in httpd either."""
    if words[0].lower() == "on":
        cmd.warn(
            "H2SerializeHeaders: this feature has been disabled and the directive to enable it is ignored.",
            code="AH10307",
        )


# hooks ------------------------------------------------------------------------------------------
def variables(notes: dict[str, str]) -> dict[str, str]:
    """Return the environment of a request from the *notes* of its stream's connection."""
    push = notes.get(NOTE_PUSH, "off")
    parent = notes.get(NOTE_PUSHED_ON, "")
    return {
        "HTTP2": "on",
        "H2PUSH": push,
        "H2_PUSH": push,
        "H2_PUSHED": "PUSHED" if parent else "",
        "H2_PUSHED_ON": parent,
        "H2_STREAM_ID": notes[NOTE_ID],
        "H2_STREAM_TAG": notes[NOTE_TAG],
    }


def make_fixups(scope: Scope) -> CompiledHook:
    """Make the fixup that sets the variables of HTTP/2 requests."""
    is_off = scope.dir_config(Http2DirConfig).push is False

    def fixups(r: Request) -> HookStatus:
        notes = r.connection.notes
        if NOTE_ID not in notes:
            return DECLINED
        r.headers_in.get("Accept-Push-Policy")  # decides about H2PUSH and about pushes of the response
        r.env.update(variables(notes))
        if STREAM_TAGS in r.engine.configuration.declared_names:
            r.set_uncacheable()
        if is_off:
            notes[NOTE_PUSH_OFF] = "1"
        return OK

    return CompiledHook(fixups, Reads.FIELDS, needs_file=not is_off)


def make_hints(scope: Scope) -> CompiledHook | None:
    """Make the last fixup: it sends HTTP/2's 103 responses, which empties the fields."""
    conf = scope.dir_config(Http2DirConfig)
    links = [("Link", value) for value in conf.resources or conf.server_resources]
    joined: dict[str, tuple[str, list[str]]] = {}  # by name in lower case: one merge for each name
    for name, value in (*links, *(conf.hints or conf.server_hints)):
        joined.setdefault(name.lower(), (name, []))[1].append(value)
    hints = [(name, ", ".join(values)) for name, values in joined.values()]
    if not hints:
        return None

    def hint(r: Request) -> HookStatus:
        if NOTE_ID in r.connection.notes and not r.expecting_100:
            _hint(r, hints)
        return DECLINED

    return CompiledHook(hint)


def _hint(r: Request, hints: Iterable[Pair]) -> None:
    """Send *hints* in a 103 response, with the fields so far, which the final response loses.

    Those of a sub-request get into the 103 of the request that takes it over.
    """
    r.set_uncacheable()
    for name, value in hints:
        r.headers_out.merge(name, value)
    if r.main is None:
        r.interim(103, r.headers_out.items())
        r.headers_out.clear()


def note_tags(configuration: Configuration) -> None:
    """Record whether a line reads the number of a stream: such responses cannot be cached.

    .htaccess files are checked when they are read.
    """

    def found(nodes: Iterable[Any]) -> bool:
        return any("h2_stream" in node.args.lower() or found(node.children) for node in nodes)

    if found(configuration.tree):
        configuration.declare(STREAM_TAGS, "yes")


def check_library(configuration: Configuration) -> None:
    """Log, once, that HTTP/2 is unavailable because the optional package is missing."""
    if find_spec("hpack") is None:
        configuration.declare(_MISSING, "yes")
        configuration.warn(
            "the package hpack is not installed: clients get HTTP/1.1", module="http2", level="warn"
        )


def settings_of(configuration: Configuration, server: Server) -> Http2ServerConfig | None:
    """Return the settings of connections to *server*; None if HTTP/2 is unavailable."""
    conf: Http2ServerConfig = server.config(Http2ServerConfig)
    return None if _MISSING in configuration.declared_names else conf


def propose(r: Request, offers: list[str]) -> str | None:
    """Return the protocol to which an HTTP/1.1 request with an Upgrade field may switch.

    It is h2c, for requests without a body and with settings (RFC 7540, 3.2).
    """
    wanted = "h2c"
    tokens = [strip(word).lower() for word in (r.headers_in.get_list("Connection") or "").split(",")]
    length = r.headers_in.get("Content-Length")
    body = length != "0" if length is not None else "Transfer-Encoding" in r.headers_in
    if (
        wanted not in offers
        or _MISSING in r.engine.configuration.declared_names
        or r.proto != (1, 1)
        or r.dir_config(Http2DirConfig).upgrade is False
    ):
        return None
    if "HTTP2-Settings" not in r.headers_in or "http2-settings" not in tokens or body:
        return None
    return wanted


_POSITIVE: Final = "value must be > 0"
_WINDOW: Final = "value must be >= 1024"
_ZERO: Final = "value must be 0 or larger"

MODULE = Module(
    name="http2_module",
    source="mod_http2.c",
    versions=Versions.V24,
    server_config=Http2ServerConfig,
    dir_config=Http2DirConfig,
    dir_setters={
        "H2Upgrade": switch("upgrade"),
        "H2CopyFiles": switch(),
        "H2PushResource": add_resource,
        "H2EarlyHint": add_hint,
        "H2ProxyRequests": switch(),
    },
    server_setters={
        "H2MaxSessionStreams": set_in_range("max_streams", 1, None, _POSITIVE),
        "H2WindowSize": set_in_range("window", 1024, None, _WINDOW),
        "H2MinWorkers": set_in_range("", 1, None, _POSITIVE),
        "H2MaxWorkers": set_in_range("", 1, None, _POSITIVE),
        "H2MaxWorkerIdleSeconds": time("", "Invalid idle limit value"),
        "H2StreamMaxMemSize": set_in_range("", 1024, None, _WINDOW),
        "H2SerializeHeaders": warn_serialize,
        "H2ModernTLSOnly": switch("modern_tls_only"),
        "H2Direct": switch("direct"),
        "H2SessionExtraFiles": ignored,
        "H2TLSWarmUpSize": ignored,
        "H2TLSCoolDownSecs": ignored,
        "H2Push": set_push,
        "H2PushPriority": set_priority,
        "H2PushDiarySize": set_diary,
        "H2EarlyHints": switch("early_hints"),
        "H2Padding": set_padding,
        "H2OutputBuffering": switch(),
        "H2StreamTimeout": time("stream_timeout", "Invalid timeout value"),
        "H2MaxDataFrameLen": set_in_range("max_data", 0, None, _ZERO),
        "H2MaxHeaderBlockLen": set_in_range("max_head", 0, None, _ZERO),
        "H2MaxStreamErrors": set_in_range("max_errors", 0, None, _ZERO),
        "H2WebSockets": switch("websockets"),
    },
    hooks=(Hook(FIXUPS, make_fixups), Hook(FIXUPS, make_hints, Order.LAST)),
    providers=(
        Provider("http2", "settings", settings_of),
        Provider("protocol", "propose", propose),
    ),
    post_config=(note_tags, check_library),
)
