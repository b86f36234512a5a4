"""The core's directives, and modules that belong to every server. Manual: mod/.

Modules: core's tables (spec), mod_macro, mod_so, mod_watchdog.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.modules.core import (
    access_22,
    config_language,
    content,
    error_document,
    file_options,
    limits,
    log,
    overrides,
    sections,
    server_identity,
    servers,
)
from whimbrel.modules.http import http_core
from whimbrel.modules.mpm import settings
from whimbrel.registry.module import Hook, Module, Order, Provider, lazy_maker
from whimbrel.registry.phases import (
    FIXUPS,
    HANDLER,
    HEADER_PARSER,
    INSERT_ERROR_FILTER,
    INSERT_FILTER,
    LOG_TRANSACTION,
    MAP_TO_STORAGE,
    POST_READ_REQUEST,
    TRANSLATE_NAME,
    TYPE_CHECKER,
)

_PACKAGE = "whimbrel.modules.core"

CORE = Module(
    name="core_module",
    source="core.c",
    dir_config=CoreDirConfig,
    server_config=CoreServerConfig,
    own_context_checks=frozenset(("AllowOverride",)),
    dir_setters={
        **sections.DIR_SETTERS,
        **access_22.DIR_SETTERS,
        **overrides.DIR_SETTERS,
        **content.DIR_SETTERS,
        **error_document.DIR_SETTERS,
        **file_options.DIR_SETTERS,
        **server_identity.DIR_SETTERS,
        **limits.DIR_SETTERS,
    },
    server_setters={
        **servers.SERVER_SETTERS,
        **overrides.SERVER_SETTERS,
        **file_options.SERVER_SETTERS,
        **server_identity.SERVER_SETTERS,
        **limits.SERVER_SETTERS,
        **log.SERVER_SETTERS,
        **http_core.SERVER_SETTERS,
    },
    setters={
        **sections.SETTERS,
        **config_language.SETTERS,
        **servers.SETTERS,
        **limits.SETTERS,
        **log.SETTERS,
        **settings.SETTERS,
    },
    hooks=(
        Hook(TRANSLATE_NAME, lazy_maker(f"{_PACKAGE}.handler", "make_translate"), Order.REALLY_LAST),
        Hook(TYPE_CHECKER, lazy_maker(f"{_PACKAGE}.handler", "make_type_checker"), Order.REALLY_LAST),
        Hook(FIXUPS, lazy_maker(f"{_PACKAGE}.handler", "make_override_type"), Order.REALLY_FIRST),
        Hook(HEADER_PARSER, lazy_maker(f"{_PACKAGE}.filters", "make_name_lookup"), Order.REALLY_FIRST),
        Hook(INSERT_FILTER, lazy_maker(f"{_PACKAGE}.filters", "make_insert_filters"), Order.MIDDLE),
        Hook(
            INSERT_FILTER,
            lazy_maker(f"{_PACKAGE}.filters_by_type", "make_insert_by_type"),
            Order.REALLY_FIRST,
        ),
        Hook(
            INSERT_ERROR_FILTER,
            lazy_maker(f"{_PACKAGE}.filters_by_type", "make_insert_error_by_type"),
            Order.REALLY_LAST,
        ),
        Hook(HANDLER, lazy_maker("whimbrel.modules.http.protocols", "make_upgrade"), Order.REALLY_FIRST),
        Hook(
            MAP_TO_STORAGE,
            lazy_maker("whimbrel.modules.http.protocols", "make_upgrade_star"),
            Order.REALLY_FIRST,
        ),
        Hook(HANDLER, lazy_maker(f"{_PACKAGE}.handler", "make_guard"), Order.REALLY_FIRST),
        Hook(HANDLER, lazy_maker(f"{_PACKAGE}.handler", "make_default_handler"), Order.REALLY_LAST),
    ),
    providers=(Provider("log", "error_sink", log.error_sink), *access_22.PROVIDERS),
    check_config=(
        limits.default_timeout,
        server_identity.copy_admins,
        http_core.register_methods,
        log.check_error_logs,
    ),
    post_config=(content.read_handlers,),
)

HTTP = Module(
    name="http_module",
    source="http_core.c",
    server_config=CoreServerConfig,
    server_setters=http_core.HTTP_SERVER_SETTERS,
    hooks=(
        Hook(MAP_TO_STORAGE, lazy_maker("whimbrel.modules.http.methods", "make_trace"), Order.MIDDLE),
        Hook(MAP_TO_STORAGE, lazy_maker("whimbrel.modules.http.methods", "make_options_star"), Order.MIDDLE),
        Hook(POST_READ_REQUEST, http_core.make_fields_in, Order.REALLY_LAST),
        Hook(LOG_TRANSACTION, http_core.make_fields_out, Order.REALLY_FIRST),
    ),
)
__all__ = ["CORE", "HTTP"]
