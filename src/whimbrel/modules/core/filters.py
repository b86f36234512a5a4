"""SetOutputFilter and SetInputFilter: the filters of a request.

Unknown filters are logged with httpd's messages. An output filter is a provider of the group
``output_filter`` under its lower-case name (engine/output/filter.py), an input filter one of ``input_filter``
(engine/input/filter.py). Manual: filter.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.numbers import lower
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.directives.command import Command
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.output.filter import OutputFilter, add_output_filter
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.input.filter import InputFilter
    from whimbrel.engine.request import Request

# Registered output filters that have no object here: the module, or "" for the server itself.  They change
# nothing, or run once more where the server runs them anyway.
_OUTPUT: Final = {
    **dict.fromkeys(("byterange", "content_length", "http_header", "chunk", "core", "subreq_core"), ""),
    **dict.fromkeys(("old_write", "http_outerror"), ""),
    "dumpio_out": "dumpio_module",
    "mod_expires": "expires_module",
    "fixup_headers_out": "headers_module",
    "fixup_headers_err": "headers_module",
    "mod_session_out": "session_module",
    "reqtimeout": "reqtimeout_module",
}
_INPUT: Final = {
    "http_in": "",
    "core_in": "",
    "dumpio_in": "dumpio_module",
    "log_input_output": "logio_module",
    "remoteip_input": "remoteip_module",
    "reqtimeout": "reqtimeout_module",
    "kept_body": "request_module",
}
_REGISTERED: Final = {"output_filter": _OUTPUT, "input_filter": _INPUT}


class IdleFilter(OutputFilter):
    """Stand-in for a registered filter that has no object here."""

    def begin(self, r: Request) -> None:
        """Leave the chain."""


def make_insert_filters(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds SetOutputFilter's filters; None without any."""
    conf = scope.dir_config(CoreDirConfig)
    added, unknown = known_filters(scope, conf.output_filters)
    inputs, lost = known_input_filters(scope, conf.input_filters)
    unknown += lost
    if not (added or inputs or unknown):
        return None
    from whimbrel.engine.input.filter import add_input_filter

    def insert(r: Request) -> HookStatus:
        for name in unknown:
            unknown_filter(r, name)
        for filter_ in added:
            add_output_filter(r, filter_)
        for input_filter in inputs:
            add_input_filter(r, input_filter)
        return OK

    return CompiledHook(insert, Reads.FIELDS)


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
    """Look up the names; an empty one counts at the beginning only, as ap_getword reads it."""
    filters: list[Any] = []
    unknown = []
    first, *others = written.split(";")
    for name in ([first] if written else []) + [other for other in others if other]:
        value = scope.provider(group, lower(name))
        if value is not None:
            filters.append(value)
        elif not is_registered(scope, group, lower(name)):
            unknown.append(name)
    return filters, unknown


def is_registered(scope: Scope | Command, group: str, name: str) -> bool:
    """Return True if httpd has a filter of that name in the registry *group*."""
    module = _REGISTERED[group].get(name)
    return module is not None and (not module or scope.loaded(module))


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
