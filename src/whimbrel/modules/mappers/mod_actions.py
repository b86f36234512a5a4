"""mod_actions: scripts that handle requests by handler, media type or method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.execute import state_of
from whimbrel.config.handlers import ACTIONS
from whimbrel.directives.command import Command
from whimbrel.http.syntax.url import escape_uri
from whimbrel.modules.support.setters import own
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, HookStatus
from whimbrel.registry.settings import overlaid, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_GET = 0


@dataclass(slots=True)
class ActionsDirConfig:
    """Per-directory settings.

    They map a handler or media type (lower case) to (script, True if the file may be missing), and a method
    number to a script.
    """

    types: dict[str, tuple[str, bool]] = setting(make=dict, merge=overlaid)
    methods: dict[int, str] = setting(make=dict, merge=overlaid)


def add_action(cmd: Command, conf: ActionsDirConfig, words: list[str]) -> None:
    """Set Action TYPE SCRIPT [virtual]."""
    if len(words) > 2 and words[2].lower() != "virtual":
        raise ConfigError(f"unrecognized option '{words[2]}'")
    state_of(cmd).configuration.declare(ACTIONS, words[0].lower())
    conf.types = {**own(conf, "types", dict), words[0].lower(): (words[1], len(words) > 2)}


def add_script(cmd: Command, conf: ActionsDirConfig, words: list[str]) -> None:
    """Set Script METHOD SCRIPT; unknown methods share one slot."""
    if words[0] == "TRACE":
        raise ConfigError("TRACE not allowed for Script")
    number = state_of(cmd).configuration.methods.number(words[0])
    conf.methods = {**own(conf, "methods", dict), number: words[1]}


def make_handler(scope: Scope) -> CompiledHook | None:
    """Make the handler that redirects to the script; its PATH_INFO is this request's URL."""
    conf = scope.dir_config(ActionsDirConfig)
    if not (conf.types or conf.methods):
        return None
    missing = "error" if scope.dialect.missing_is_error else "info"

    async def handler(r: Request) -> HookStatus:
        is_scripted = r.method_number != _GET or r.args is not None
        script = conf.methods.get(r.method_number) if is_scripted else None
        if script is not None and r.prev is not None and r.prev.prev is not None:
            return DECLINED
        action = r.handler or ""
        if action == "default-handler" and scope.dialect.default_type:
            action = "text/plain"
        entry = conf.types.get(action.lower())
        if entry is not None:
            if not entry[1] and r.finfo is None:
                r.log(missing, f"File does not exist: {r.filename}", code="AH00652", module="actions")
                return 404
            script = entry[0]
            r.env["HANDLER"] = action
        if script is None:
            return DECLINED
        target = script + escape_uri(r.uri) + ("" if r.args is None else f"?{r.args}")
        return await r.engine.internal_redirect(target, r)

    return CompiledHook(handler, Reads.HEAD | Reads.FILES, is_async=True)


MODULE = Module(
    name="actions_module",
    source="mod_actions.c",
    dir_config=ActionsDirConfig,
    dir_setters={
        "Action": add_action,
        "Script": add_script,
    },
    hooks=(Hook(HANDLER, make_handler, Order.LAST),),
)
