"""Settings of mod_proxy_fcgi, and their setters."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.directives.command import Command
from whimbrel.engine.expressions import StringExpression, read_condition, read_string
from whimbrel.registry.settings import UNSET, appended, setting

if TYPE_CHECKING:
    from whimbrel.expr.api import CompiledCondition


@dataclass(frozen=True, slots=True)
class EnvironmentFixup:
    """One ProxyFCGISetEnvIf line; *value* None removes the variable *name*."""

    condition: CompiledCondition
    name: str
    value: StringExpression | None


@dataclass(slots=True)
class FcgiDirConfig:
    """Per-directory settings.

    Attributes:
        is_generic: ProxyFCGIBackendType GENERIC.
        fixups: changes of the environment, in order.
    """

    is_generic: bool = setting(False)
    fixups: list[EnvironmentFixup] = setting(make=list, merge=appended)


def add_fixup(cmd: Command, conf: FcgiDirConfig, words: list[str]) -> None:
    """ProxyFCGISetEnvIf condition name [value], or condition !name."""
    text = words[0]
    name = words[1]
    condition = read_condition(cmd, text, f'Could not parse expression "{text}"')
    value = None
    if name.startswith("!"):
        if len(words) > 2:
            raise ConfigError(
                f'Third argument ("{words[2]}") is not allowed when using ProxyFCGISetEnvIf\'s unset mode '
                f"({name})"
            )
        if name == "!":
            raise ConfigError('ProxyFCGISetEnvIf: "!" is not a valid variable name')
        name = name[1:]
    else:
        text = words[2] if len(words) > 2 else ""
        value = read_string(cmd, text, f'Could not parse expression "{text}"')
    fixup = EnvironmentFixup(condition, name, value)
    conf.fixups = [fixup] if conf.fixups is UNSET else [*conf.fixups, fixup]
