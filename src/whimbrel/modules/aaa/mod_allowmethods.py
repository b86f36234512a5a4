"""mod_allowmethods: methods allowed in a part of the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.execute import state_of
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.registry.methods import INVALID
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import ACCESS_CHECKER, DECLINED, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class AllowMethodsDirConfig:
    """A mask of methods; 0: all."""

    allowed: int = setting(0)


def set_methods(cmd: Command, conf: AllowMethodsDirConfig, words: list[str]) -> None:
    """AllowMethods: methods, or the single argument reset."""
    if not words or not words[0]:
        raise ConfigError("AllowMethods: No method or 'reset' keyword given")
    if len(words) == 1 and words[0].lower() == "reset":
        conf.allowed = 0
        return
    number = state_of(cmd).configuration.methods.number
    mask = 0
    for word in words:
        if number(word) == INVALID:
            raise ConfigError(f"AllowMethods: Invalid Method '{word}'")
        mask |= 1 << number(word)
    conf.allowed = mask


def make_check(scope: Scope) -> CompiledHook | None:
    """Return the hook that refuses any other method with 405."""
    allowed = scope.dir_config(AllowMethodsDirConfig).allowed
    if not allowed:
        return None

    def check(r: Request) -> HookStatus:
        if allowed & 1 << r.method_number:
            return DECLINED
        where = f"uri {r.uri}" if r.filename is None else r.filename
        r.log(
            "error",
            f"client method denied by server configuration: '{r.method}' to {where}",
            code="AH01623",
            module="allowmethods",
        )
        return 405

    return CompiledHook(check)


MODULE = Module(
    name="allowmethods_module",
    source="mod_allowmethods.c",
    dir_config=AllowMethodsDirConfig,
    dir_setters={
        "AllowMethods": set_methods,
    },
    hooks=(Hook(ACCESS_CHECKER, make_check, Order.REALLY_FIRST),),
    versions=Versions.V24,
)
