"""Settings of mod_lua (lua_config.h)."""

from __future__ import annotations

from typing import Any, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.regex import Regex
from whimbrel.registry.settings import setting

EARLY = "early"
MIDDLE = ""
LATE = "late"
BYTE_CODE: Final = "Lua_____ByteCodeHack"


@dataclass(frozen=True, slots=True)
class LuaFunction:
    """A function of a script.

    Attributes:
        file: as written; of an inline section its file and line.
        name: of the function; "" for the text itself.
        text: the lines of an inline section, None for a file.
    """

    file: str
    name: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class MappedHandler:
    """LuaMapHandler: the pattern of URL paths, and a function whose names may contain $1."""

    pattern: Regex
    function: LuaFunction


@dataclass(frozen=True, slots=True)
class LuaScope:
    """LuaScope: which calls share a machine; *minimum* and *maximum* are those of `server`."""

    name: str = "once"
    minimum: int = 0
    maximum: int = 0


SCRIPTS: Final = "scripts"
"""Group of `Configuration.declared_names`: places of directives with scripts, on which answers depend."""
HookTable = dict[tuple[str, str], tuple[LuaFunction, ...]]
"""Functions of each phase and order (early, "", late)."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The LuaHook lines of one layer, and how they join those of the layers around it (LuaInherit)."""

    table: HookTable
    inherit: str = ""


def _merge_hooks(base: Hooks, over: Hooks) -> Hooks:
    inherit = over.inherit or base.inherit
    if inherit == "none":
        return Hooks(over.table, inherit)
    first, second = (over, base) if inherit == "parent-last" else (base, over)
    keys = {**first.table, **second.table}
    joined = {key: first.table.get(key, ()) + second.table.get(key, ()) for key in keys}
    return Hooks(joined, inherit)


def _appended(base: tuple[Any, ...], over: tuple[Any, ...]) -> tuple[Any, ...]:
    return base + over


@dataclass(slots=True)
class LuaDirConfig:
    """Per-directory settings.

    Attributes:
        hooks: functions of phases. `mapped`: LuaMapHandler, in order.
        package_path, package_cpath: patterns that are added to package.path and package.cpath.
        code_cache: stat, forever or never.
    """

    hooks: Hooks = setting(Hooks({}), merge=_merge_hooks)
    mapped: tuple[MappedHandler, ...] = setting((), merge=_appended)
    package_path: tuple[str, ...] = setting((), merge=_appended)
    package_cpath: tuple[str, ...] = setting((), merge=_appended)
    scope: LuaScope = setting(LuaScope())
    code_cache: str = setting("stat")


@dataclass(slots=True)
class LuaServerConfig:
    """Per-server settings; *root*: LuaRoot, "" without one."""

    root: str = setting("")
