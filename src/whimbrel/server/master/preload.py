"""Imports in the master everything that workers may import later.

A worker may be in a chroot, out of descriptors, or without the right to read the files. Functions import what
start-up can do without: their code is searched for such imports. Imports that depend on settings, such as a
database driver, come from providers of the group `LIBRARIES`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from opcode import opmap
from types import CodeType, FunctionType
from typing import Final

from whimbrel.config.configuration import AUTHENTICATION, Configuration

# group of providers: functions of the configuration that return the names of modules that workers import
LIBRARIES: Final = "libraries"
_PACKAGE: Final = "whimbrel"
# Modules whose functions run in the master, when their module is imported, or by a mistake in the program.
_OF_THE_MASTER: Final = (
    "whimbrel.base.lazy_dataclasses",
    "whimbrel.cli",
    "whimbrel.config.servers",
    "whimbrel.config.service_settings",
    "whimbrel.modules.database.dbd_drivers",
    "whimbrel.modules.ssl.mod_ssl.contexts",
    "whimbrel.modules.ssl.mod_ssl.start",
    "whimbrel.modules.support.auth.system_crypt",
    "whimbrel.server.master",
)
# What the main configuration alone needs, and a start with TLS.
_OF_THE_START: Final = (
    "whimbrel.config.third_party_lines",
    "whimbrel.config.third_party_providers",
    "whimbrel.modules.core.log_format",
    "whimbrel.modules.ssl.mod_ssl.start",
    "whimbrel.modules.support.cgi.suexec",
)
# imported with the `cryptography` package, for configurations that use TLS
_OF_CERTIFICATES: Final = (
    "whimbrel.modules.ssl.mod_ssl.backend_contexts",
    "whimbrel.modules.ssl.mod_ssl.certificate_names",
    "whimbrel.modules.ssl.mod_ssl.certificate_variables",
    "whimbrel.modules.ssl.mod_ssl.certificates",
    "whimbrel.modules.ssl.mod_ssl.extensions",
    "whimbrel.modules.ssl.mod_ssl.hosts",
)
# Modules that the standard library and uvloop import on first use.
STDLIB_LAZY: Final = ("concurrent.futures.thread", "encodings.latin_1", "encodings.utf_8")
_EXTENDED_ARG: Final = opmap["EXTENDED_ARG"]
_IMPORT_FROM: Final = opmap["IMPORT_FROM"]
_IMPORT_NAME: Final = opmap["IMPORT_NAME"]


def import_everything(configuration: Configuration, done: set[CodeType] | None = None) -> None:
    """Import what workers may need under *configuration*; *done*: code searched before, grows."""
    for name in STDLIB_LAZY:
        import_module(name)
    for module in configuration.modules.modules:
        for hook in module.hooks:
            import_module(hook.make.__module__)
    for provider in configuration.modules.providers(LIBRARIES).values():
        for name in provider(configuration):
            _import(name)
    _follow(set() if done is None else done, _not_needed(configuration))


def _not_needed(configuration: Configuration) -> frozenset[str]:
    """Return the modules that no engine of this configuration can need."""
    uses_tls = configuration.provider("ssl", "key_pairs") is not None
    needed = {
        **dict.fromkeys(_OF_CERTIFICATES, uses_tls),
        **dict.fromkeys(_OF_THE_START, False),
        "whimbrel.modules.ldap.mod_ldap.worker": find_spec("ldap") is not None,
        "whimbrel.modules.loggers.mod_log_config.json_lines": False,  # mod_log_config names it if it is used
        "whimbrel.modules.generators.mod_status.metrics": any(
            name == "whimbrel-metrics" for _line, name in configuration.handlers
        ),
        "whimbrel.server.connection.dumpio": configuration.loaded("dumpio_module"),
        "whimbrel.server.connection.echo": configuration.loaded("echo_module"),
        "whimbrel.server.connection.proxy_protocol": configuration.loaded("remoteip_module"),
        "whimbrel.server.connection.tls": configuration.provider("ssl", "hosts") is not None,
        "whimbrel.server.http2.connection": configuration.loaded("http2_module"),
        "whimbrel.server.worker.daemon_threads": configuration.loaded("lua_module"),
        "whimbrel.modules.support.auth.passwords": AUTHENTICATION in configuration.declared_names
        or configuration.dialect.access_in_core,
    }
    return frozenset(name for name, is_needed in needed.items() if not is_needed)


def _follow(done: set[CodeType], spared: frozenset[str]) -> None:
    """Import what the functions of all loaded modules of this package import, transitively."""
    while fresh := {function.__code__ for function in _functions()} - done:
        done |= fresh
        for code in fresh:
            for name, member in _imports(code):
                if spared.isdisjoint((name, f"{name}.{member}")):
                    _import(name, member)


def _functions() -> Iterator[FunctionType]:
    """Yield the functions of this package that may run in a worker."""
    for each in gc.get_objects():
        if type(each) is FunctionType:
            module = str(each.__module__)
            if module.startswith(_PACKAGE) and not module.startswith(_OF_THE_MASTER):
                yield each


def _imports(code: CodeType) -> Iterator[tuple[str, str]]:
    """Yield what a function and those defined in it import: each module, and each name that is read of it."""
    codes = code.co_code[::2]
    if _IMPORT_NAME in codes:  # dis takes ten times as long to read the same
        name = ""
        prefix = 0
        for operation, argument in zip(codes, code.co_code[1::2], strict=True):
            number = prefix | argument
            prefix = number << 8 if operation == _EXTENDED_ARG else 0
            if operation == _IMPORT_NAME:
                name = code.co_names[number]
                yield name, ""
            elif operation == _IMPORT_FROM:
                yield name, code.co_names[number]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imports(constant)


def _import(name: str, member: str = "") -> None:
    try:
        __import__(name, fromlist=(member,))
    except ModuleNotFoundError as problem:
        if f"{problem.name}.".startswith(f"{_PACKAGE}."):
            raise
        # an optional library: without it a start with directives that need it is refused
