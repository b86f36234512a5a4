"""The core and http modules: the tables of this package's files as two modules."""

from __future__ import annotations

from whimbrel.config.core import CoreFolder, CoreServer
from whimbrel.modules.core import (
    access22,
    content,
    documents,
    files,
    http,
    language,
    limits,
    log,
    names,
    overrides,
    process,
    sections,
    servers,
)
from whimbrel.registry.module import Hook, Module, Order, Provider, later
from whimbrel.registry.phases import FIXUPS, HANDLER, HEADER_PARSER, INSERT_FILTER, MAP_TO_STORAGE, TRANSLATE_NAME, TYPE_CHECKER

_HERE = "whimbrel.modules.core"

CORE = Module(
    name="core_module",
    source="core.c",
    folder_settings=CoreFolder,
    server_settings=CoreServer,
    directives=(
        *sections.DIRECTIVES, *access22.DIRECTIVES, *language.DIRECTIVES, *servers.DIRECTIVES, *overrides.DIRECTIVES, *content.DIRECTIVES,
        *documents.DIRECTIVES, *files.DIRECTIVES, *names.DIRECTIVES, *limits.DIRECTIVES, *log.DIRECTIVES, *process.DIRECTIVES, *http.DIRECTIVES,
    ),
    hooks=(
        Hook(TRANSLATE_NAME, later(f"{_HERE}.handler", "make_translate"), Order.REALLY_LAST),
        Hook(TYPE_CHECKER, later(f"{_HERE}.handler", "make_type_checker"), Order.REALLY_LAST),
        Hook(FIXUPS, later(f"{_HERE}.handler", "make_override_type"), Order.REALLY_FIRST),
        Hook(HEADER_PARSER, later(f"{_HERE}.filters", "make_name_lookup"), Order.REALLY_FIRST),
        Hook(INSERT_FILTER, later(f"{_HERE}.filters", "make_insert_filters"), Order.MIDDLE),
        Hook(HANDLER, later(f"{_HERE}.protocols", "make_upgrade"), Order.REALLY_FIRST),
        Hook(MAP_TO_STORAGE, later(f"{_HERE}.protocols", "make_upgrade_star"), Order.REALLY_FIRST),
        Hook(HANDLER, later(f"{_HERE}.handler", "make_guard"), Order.REALLY_FIRST),
        Hook(HANDLER, later(f"{_HERE}.handler", "make_default_handler"), Order.REALLY_LAST),
    ),
    providers=(Provider("log", "error_sink", log.error_sink), *access22.PROVIDERS),
    check_config=(limits.default_timeout, names.copy_admins, http.register_methods, log.check_error_logs),
    post_config=(content.read_handlers,),
)

HTTP = Module(
    name="http_module",
    source="http_core.c",
    server_settings=CoreServer,
    directives=http.HTTP_DIRECTIVES,
    hooks=(
        Hook(MAP_TO_STORAGE, later(f"{_HERE}.methods", "make_trace"), Order.MIDDLE),
        Hook(MAP_TO_STORAGE, later(f"{_HERE}.methods", "make_options_star"), Order.MIDDLE),
    ),
)

__all__ = ["CORE", "HTTP"]
