"""mod_env: environment variables of requests, from the configuration and the server's own environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whimbrel.base.latin1 import from_system, to_system
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.directives.command import Command
from whimbrel.engine.env import append
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import FIXUPS, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class EnvDirConfig:
    """Per-directory settings: variables to set, and names to remove from outer sections' variables."""

    values: dict[str, str] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)

    def merge_onto(self, base: EnvDirConfig) -> EnvDirConfig:
        """Merge: UnsetEnv removes variables of outer sections only; then the inner section's own are set."""
        remaining = {name: value for name, value in base.values.items() if name not in self.removed}
        return EnvDirConfig({**remaining, **self.values})


def set_env(cmd: Command, conf: EnvDirConfig, words: list[str]) -> None:
    """SetEnv; without a value the variable is empty."""
    if "=" in words[0] and cmd.dialect.messages_24:
        name, _, value = words[0].lstrip("=").partition("=")
        cmd.warn(
            f"Spurious usage of '=' in an environment variable name. 'SetEnv {name} {value}' expected "
            "instead?",
            code="AH10032",
        )
    conf.values[words[0]] = words[1] if len(words) > 1 else ""


def pass_env(cmd: Command, conf: EnvDirConfig, words: list[str]) -> None:
    """PassEnv: copy a variable from the server's environment; log a warning if it is not set."""
    value = os.environ.get(to_system(words[0]))
    if value is None:
        cmd.warn(f"PassEnv variable {words[0]} was undefined", code="AH01506")
    else:
        conf.values[words[0]] = from_system(value)


def unset_env(_cmd: Command, conf: EnvDirConfig, words: list[str]) -> None:
    """UnsetEnv: remove a variable of outer sections, and one that this section has set before."""
    conf.values.pop(words[0], None)
    conf.removed.add(words[0])


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Append the variables to those of earlier phases, which lookups find first."""
    values = scope.dir_config(EnvDirConfig).values
    if not values:
        return None

    def fixup(r: Request) -> HookStatus:
        append(r, values)
        return OK

    return CompiledHook(fixup, Reads.NOTHING)


MODULE = Module(
    name="env_module",
    source="mod_env.c",
    dir_config=EnvDirConfig,
    dir_setters={
        "PassEnv": pass_env,
        "SetEnv": set_env,
        "UnsetEnv": unset_env,
    },
    hooks=(Hook(FIXUPS, make_fixup, Order.MIDDLE),),
)
