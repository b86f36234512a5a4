"""mod_lua: functions in Lua as handlers, hooks, authorization providers and filters.

`lupa` (extra "lua") is the interpreter; each call runs in a thread of the worker.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

from whimbrel.base.errors import MissingPackage
from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Setter, Versions
from whimbrel.modules.lua.mod_lua import setters, settings
from whimbrel.modules.lua.mod_lua.settings import LuaDirConfig, LuaServerConfig
from whimbrel.modules.support.catalogue_checks import checked
from whimbrel.modules.support.setters import set_lower, set_text
from whimbrel.registry import phases
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope

_EARLY = Order.FIRST - 1
_LATE = Order.LAST + 1
SOURCE: Final = "mod_lua.c"
_PHASES: Final = {
    "LuaHookPreTranslateName": ("pre_translate_name", phases.PRE_TRANSLATE_NAME),
    "LuaHookTranslateName": ("translate_name", phases.TRANSLATE_NAME),
    "LuaHookFixups": ("fixups", phases.FIXUPS),
    "LuaHookMapToStorage": ("map_to_storage", phases.MAP_TO_STORAGE),
    "LuaHookCheckUserID": ("check_user_id", phases.CHECK_USER_ID),
    "LuaHookTypeChecker": ("type_checker", phases.TYPE_CHECKER),
    "LuaHookAccessChecker": ("access_checker", phases.ACCESS_CHECKER),
    "LuaHookAuthChecker": ("auth_checker", phases.AUTH_CHECKER),
    "LuaQuickHandler": ("quick", phases.QUICK_HANDLER),
}
_ORDERED: Final = frozenset(("translate_name", "check_user_id", "access_checker", "auth_checker"))


def _ignore(_cmd: object, _conf: object, _words: list[str]) -> None:
    """The catalogue's rule refuses the directive."""


_DIR_SETTERS: Final[dict[str, Setter]] = {
    **{name: setters.set_hook(phase) for name, (phase, _) in _PHASES.items()},
    "LuaHookLog": setters.set_hook("log_transaction"),
    "LuaPackagePath": setters.add_path("package_path"),
    "LuaPackageCPath": setters.add_path("package_cpath"),
    "LuaScope": setters.set_scope,
    "LuaInherit": setters.set_inherit,
    "LuaCodeCache": set_lower("code_cache"),
    settings.BYTE_CODE: setters.set_byte_code,
    "LuaMapHandler": setters.add_mapped,
}
_SERVER_SETTERS: Final[dict[str, Setter]] = {
    "LuaRoot": set_text("root"),
}
_SETTERS: Final[dict[str, Setter]] = {
    **{f"<{name}": setters.set_block(phase) for name, (phase, _) in _PHASES.items()},
    "LuaHookInsertFilter": _ignore,
    "LuaAuthzProvider": setters.set_authz_provider,
    "LuaOutputFilter": setters.set_output_filter,
    "LuaInputFilter": setters.set_input_filter,
}


def _maker(name: str, *arguments: str) -> Any:
    """Return a hook maker of hooks.py, which is imported when it first runs."""

    def make(scope: Scope) -> CompiledHook | None:
        from whimbrel.modules.lua.mod_lua import hooks  # -t reads no script

        hook: CompiledHook | None = getattr(hooks, name)(scope, *arguments)
        return hook

    return make


def _hooks() -> tuple[Hook, ...]:
    found = []
    for name, phase in _PHASES.values():
        orders = ((settings.EARLY, _EARLY), (settings.LATE, _LATE)) if name in _ORDERED else ()
        middle = Order.FIRST if name == "quick" else Order.MIDDLE
        for order, number in ((settings.MIDDLE, middle), *orders):
            found.append(Hook(phase, _maker("make_hook", name, order), number))
    return tuple(found)


def require_library(_configuration: Configuration) -> None:
    """Refuse the start without an interpreter."""
    if find_spec("lupa") is None:
        raise MissingPackage("mod_lua", "lua")


MODULE = Module(
    name="lua_module",
    source=SOURCE,
    versions=Versions.V24,
    dir_config=LuaDirConfig,
    server_config=LuaServerConfig,
    dir_setters=checked(SOURCE, _DIR_SETTERS),
    server_setters=checked(SOURCE, _SERVER_SETTERS),
    setters=checked(SOURCE, _SETTERS),
    hooks=(
        *_hooks(),
        Hook(phases.LOG_TRANSACTION, _maker("make_hook", "log_transaction", ""), Order.FIRST),
        Hook(phases.FIXUPS, _maker("make_mapping"), Order.LAST - 1),
        Hook(phases.HANDLER, _maker("make_map_handler"), _EARLY),
        Hook(phases.HANDLER, _maker("make_handler"), Order.MIDDLE),
    ),
    post_config=(require_library,),
)
