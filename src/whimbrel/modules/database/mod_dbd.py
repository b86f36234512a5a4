"""mod_dbd: SQL databases for other modules.

Each query runs in a thread with its own connection; the pool's sizes are settings without effect.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import is_digits, upper
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.database.dbd_drivers import (
    DRIVERS,
    LIBRARIES,
    DatabaseError,
    Query,
    Result,
    missing_package,
)
from whimbrel.modules.support.setters import add_text, set_flag, set_text
from whimbrel.registry.module import CompletedConfig, Module, Provider
from whimbrel.registry.settings import UNSET, overlaid, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class DbdServerConfig:
    """Per-server settings; *statements* are prepared ones by label."""

    driver: str = setting("")
    params: str = setting("")
    persist: bool = setting(True)
    statements: dict[str, str] = setting(make=dict, merge=overlaid)
    first: list[str] = setting(make=list)


async def query(r: Request, statement: str, *values: str) -> Result:
    """Run *statement* in a thread with *values* for its ``%s``; raises DatabaseError."""
    r.set_uncacheable()
    settings = r.server_conf(DbdServerConfig)
    driver = DRIVERS.get(settings.driver)
    if driver is None or not settings.params:
        raise DatabaseError("not configured", connected=False)
    query = Query(settings.params, tuple(settings.first), statement, values)
    return await r.engine.runtime.in_thread(lambda: driver(query))


async def prepared(r: Request, label: str, *values: str) -> Result:
    """Run the statement that DBDPrepareSQL labels *label* (see `query`); KeyError without one."""
    statement = r.server_conf(DbdServerConfig).statements.get(label)
    if not statement:
        raise KeyError(label)
    return await query(r, statement, *values)


def environment_name(prefix: str, column: str) -> str:
    """Return the environment variable for a column."""
    return prefix + re.sub(r"[^A-Z0-9]", "_", upper(column))


def libraries(configuration: CompletedConfig) -> set[str]:
    """Return the modules that the drivers of all servers import."""
    return {
        name
        for server in configuration.servers()
        for name in LIBRARIES.get(server.config(DbdServerConfig).driver, ())
    }


# directives ---------------------------------------------------------------------------------------
def set_driver(cmd: Command, record: DbdServerConfig, words: list[str]) -> None:
    """DBDriver."""
    name = words[0]
    lacking = missing_package(name) if name in DRIVERS else ""
    if name not in DRIVERS or lacking:
        problem = ConfigError(
            f"{'DBD: ' if cmd.dialect.access_in_core else ''}Can't load driver file apr_dbd_{name}.so"
        )
        if lacking:
            from whimbrel.base.extras import not_installed

            problem.details = (not_installed(f"DBDriver {name}", lacking),)
        raise problem
    record.driver = name


def set_query(field: str, what: str) -> Setter:
    """Return the setter of a statement of a module with *what* functions, which need mod_dbd."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        if not cmd.loaded("mod_dbd.c"):
            raise ConfigError(f"You must load mod_dbd to enable {what} functions")
        setattr(record, field, words[0])

    return apply


def check_number(_cmd: Command, _record: DbdServerConfig, words: list[str]) -> None:
    """Check a size of the pool: digits."""
    if not is_digits(words[0]):
        raise ConfigError("Argument must be numeric!")


def prepare(_cmd: Command, record: DbdServerConfig, words: list[str]) -> None:
    """DBDPrepareSQL STATEMENT LABEL."""
    label = words[1] if len(words) > 1 else words[0]
    record.statements = {
        **({} if record.statements is UNSET else record.statements),
        label: words[0] if len(words) > 1 else "",
    }


MODULE = Module(
    name="dbd_module",
    source="mod_dbd.c",
    server_config=DbdServerConfig,
    server_setters={
        "DBDriver": set_driver,
        "DBDParams": set_text("params"),
        "DBDPersist": set_flag("persist"),
        "DBDPrepareSQL": prepare,
        "DBDInitSQL": add_text("first"),
        "DBDMin": check_number,
        "DBDKeep": check_number,
        "DBDMax": check_number,
        "DBDExptime": check_number,
    },
    providers=(Provider("dbd", "ask", query), Provider("libraries", "dbd", libraries)),
)
