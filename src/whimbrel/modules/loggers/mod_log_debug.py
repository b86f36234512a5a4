"""mod_log_debug: configured messages in the error log.

From LogLevel debug on a message names its hook and line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig, merge_levels
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.engine.expressions import StringExpression, evaluate, read_condition, read_string
from whimbrel.engine.log.error_log_line import enabled
from whimbrel.expr.errors import EvalError
from whimbrel.modules.support.setters import own
from whimbrel.registry import phases
from whimbrel.registry.module import CompiledHook, Hook, HookMaker, Module, Order, Scope
from whimbrel.registry.phases import DECLINED, HookStatus, Phase
from whimbrel.registry.settings import appended, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.expr.api import CompiledCondition

# httpd's hooks by phases of the engine; httpd has one more hook before translate_name.
HOOKS: dict[Phase, tuple[str, ...]] = {
    phases.QUICK_HANDLER: ("quick_handler",),
    phases.TRANSLATE_NAME: ("pre_translate_name", "translate_name"),
    phases.MAP_TO_STORAGE: ("map_to_storage",),
    phases.ACCESS_CHECKER: ("check_access",),
    phases.ACCESS_CHECKER_EX: ("check_access_ex",),
    phases.CHECK_USER_ID: ("check_authn",),
    phases.AUTH_CHECKER: ("check_authz",),
    phases.TYPE_CHECKER: ("type_checker",),
    phases.FIXUPS: ("fixups",),
    phases.INSERT_FILTER: ("insert_filter",),
    phases.HANDLER: ("handler",),
    phases.LOG_TRANSACTION: ("log_transaction",),
}
NAMES = frozenset(name for names in HOOKS.values() for name in names)


@dataclass(frozen=True, slots=True)
class Message:
    """One LogMessage; *hook* is ``all`` or the name of a hook."""

    template: StringExpression
    hook: str
    condition: CompiledCondition | None
    place: SourceLocation


@dataclass(slots=True)
class LogDebugDirConfig:
    """Per-directory settings; messages of inner sections are added."""

    messages: list[Message] = setting(make=list, merge=appended)


def add_message(cmd: Command, conf: LogDebugDirConfig, words: list[str]) -> None:
    """LogMessage: the text, with ``hook=`` and ``expr=`` in any order."""
    template = read_string(cmd, words[0], f"Could not parse message expression '{words[0]}'")
    hook = "log_transaction"
    condition = None
    for word in words[1:]:
        kind, _, value = word.partition("=")
        if word.lower().startswith("hook="):
            hook = value.lower()
            if hook != "all" and hook not in NAMES:
                raise ConfigError(f"Invalid hook name: {value}")
        elif word.lower().startswith("expr="):
            condition = read_condition(cmd, value, f"Could not parse expression '{value}'")
        else:
            raise ConfigError(f"Invalid argument {word}")
    conf.messages = [*own(conf, "messages", list), Message(template, hook, condition, cmd.place)]


def _log_message(r: Request, message: Message, where: str) -> None:
    try:
        if message.condition is None or evaluate(r, message.condition, "log_debug", varies=False):
            r.log("info", message.template.text(r, "log_debug") + where, module="log_debug")
    except EvalError:
        return


def _maker(names: tuple[str, ...]) -> HookMaker:
    def make(scope: Scope) -> CompiledHook | None:
        levels = merge_levels(
            scope.server_config(CoreServerConfig).log_level, scope.dir_config(CoreDirConfig).log_level
        )
        is_enabled = enabled(levels, "log_debug", "debug")
        chosen = [
            (m, f" ({name} hook, {m.place.path}:{m.place.line})" if is_enabled else "")
            for name in names
            for m in scope.dir_config(LogDebugDirConfig).messages
            if m.hook in ("all", name)
        ]
        if not chosen:
            return None

        def hook(r: Request) -> HookStatus:
            r.set_uncacheable()
            for message, where in chosen:
                _log_message(r, message, where)
            return DECLINED

        return CompiledHook(hook)

    return make


MODULE = Module(
    name="log_debug_module",
    source="mod_log_debug.c",
    dir_config=LogDebugDirConfig,
    dir_setters={
        "LogMessage": add_message,
    },
    hooks=tuple(Hook(phase, _maker(names), Order.FIRST) for phase, names in HOOKS.items()),
    versions=Versions.V24,
)
