"""SetOutputFilter, SetInputFilter and 2.2's AddOutputFilterByType: the filters of a request.

Unknown filters are logged with httpd's messages. An output filter is a provider of the group
``output_filter`` under its lower-case name (engine/output/filter.py), an input filter one of ``input_filter``
(engine/input/filter.py). Manual: filter.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.numbers import strip
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.execute import state_of
from whimbrel.config.unimplemented_lines import record
from whimbrel.directives.command import Command
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.output.filter import OutputFilter, add_output_filter
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.input.filter import InputFilter
    from whimbrel.engine.request import Request

# Filters of loaded modules, implemented here or not: these are never unknown.
_OF_MODULES: Final = {
    "deflate": "deflate_module",
    "inflate": "deflate_module",
    "includes": "include_module",
    "substitute": "substitute_module",
    "sed": "sed_module",
    "brotli_compress": "brotli_module",
    "rate_limit": "ratelimit_module",
    "buffer": "buffer_module",
    "data": "data_module",
    "reqtimeout": "reqtimeout_module",
    "xlate": "charset_lite_module",
    "xlateout": "charset_lite_module",
    "xlatein": "charset_lite_module",
    "reflector": "reflector_module",
    "charset": "charset_lite_module",
    "proxy-html": "proxy_html_module",
    "xml2enc": "xml2enc_module",
    "expires": "expires_module",
    "fixup_headers_out": "headers_module",
    "cache": "cache_module",
    "request": "request_module",
    "kept_body": "request_module",
}
# Names of the server's built-in filters.
_OWN: Final = frozenset(
    {
        "byterange",
        "content_length",
        "http_header",
        "chunk",
        "core",
        "http_in",
        "core_in",
        "old_write",
        "http_outerror",
    }
)


# Built-in filters that leave a response unchanged.
_IGNORABLE: Final = frozenset(
    {"buffer", "cache", "request", "kept_body", "reqtimeout", "expires", "fixup_headers_out"}
)


def note_missing(cmd: Command, written: str) -> None:
    """Record a line that names filters (separated by ``;``) of a loaded, unimplemented module: the start is
    refused.
    """
    for name in filter(None, written.lower().split(";")):
        module = _OF_MODULES.get(name, "")
        if (
            name not in _IGNORABLE
            and module
            and cmd.loaded(module)
            and cmd.provider("output_filter", name) is None
            and cmd.provider("input_filter", name) is None
        ):
            record(state_of(cmd), cmd.name, f"mod_{module.removesuffix('_module')}.c")


def make_insert_filters(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds SetOutputFilter's filters; None without any."""
    conf = scope.dir_config(CoreDirConfig)
    added, unknown = known_filters(scope, conf.output_filters)
    inputs, lost = known_input_filters(scope, conf.input_filters)
    unknown += lost
    by_type = {kind: known_filters(scope, ";".join(names)) for kind, names in conf.filters_by_type.items()}
    if not (added or inputs or unknown or by_type):
        return None
    from whimbrel.engine.input.filter import add_input_filter

    def insert(r: Request) -> HookStatus:
        kind = strip((r.content_type or "").partition(";")[0]).lower()
        more, also = by_type.get(kind, ((), ()))
        for name in (*unknown, *also):
            unknown_filter(r, name)
        for filter_ in (*added, *more):
            add_output_filter(r, filter_)
        for input_filter in inputs:
            add_input_filter(r, input_filter)
        return OK

    return CompiledHook(insert, Reads.HEAD)


def unknown_filter(r: Request, name: str) -> None:
    """Log an unknown filter; 2.2 logs it without a client."""
    line = LogLine("error", f"an unknown filter was not added: {name}", "AH00082")
    if r.plan.dialect.messages_24:
        r.log(line.level, line.text, code=line.code)
    else:
        r.set_uncacheable()  # each response must log the line
        r.engine.error_log.about_server(r.server, line)


def known_filters(scope: Scope, written: str) -> tuple[list[OutputFilter], list[str]]:
    """Return the output filters that exist, and the names of those that do not."""
    return _known(scope, "output_filter", written)


def known_input_filters(scope: Scope, written: str) -> tuple[list[InputFilter], list[str]]:
    """Return the input filters that exist, and the names of those that do not."""
    return _known(scope, "input_filter", written)


def _known(scope: Scope, group: str, written: str) -> tuple[list[Any], list[str]]:
    filters: list[Any] = []
    unknown = []
    for name in filter(None, written.split(";")):
        value = scope.provider(group, name.lower())
        if value is not None:
            filters.append(value)
        elif name.lower() not in _OWN and not scope.loaded(_OF_MODULES.get(name.lower(), "")):
            unknown.append(name)
    return filters, unknown


def make_name_lookup(scope: Scope) -> CompiledHook | None:
    """Make the hook of HostnameLookups.

    On looks up the client's name once per connection; Double accepts only a name that leads back to the
    address.
    """
    mode = scope.dir_config(CoreDirConfig).hostname_lookups
    if not mode:
        return None

    from whimbrel.modules.support.reverse_dns import NAME_NOTE, confirmed_name

    async def lookup(r: Request) -> HookStatus:
        notes = r.connection.notes
        if NAME_NOTE not in notes:
            name = await confirmed_name(r)
            if mode == 2 and name is None:
                notes[NAME_NOTE] = ""
        return OK

    return CompiledHook(lookup, Reads.UNCACHEABLE, is_async=True)
