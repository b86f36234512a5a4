"""Setters of mod_lua's directives (lua_config.c, mod_lua.c)."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import atoi, lower, strip
from whimbrel.config.execute import root_relative, state_of
from whimbrel.config.reader import reading
from whimbrel.directives.command import Command
from whimbrel.directives.node import Node
from whimbrel.directives.tokens import getword
from whimbrel.modules.lua.mod_lua.settings import (
    BYTE_CODE,
    EARLY,
    LATE,
    MIDDLE,
    SCRIPTS,
    Hooks,
    LuaDirConfig,
    LuaFunction,
    LuaScope,
    LuaServerConfig,
    MappedHandler,
)
from whimbrel.modules.support.setters import own
from whimbrel.modules.support.substitution import compiled
from whimbrel.registry.settings import UNSET


def _own_hooks(conf: LuaDirConfig) -> Hooks:
    return conf.hooks if conf.hooks is not UNSET else Hooks({})


def declare(cmd: Command) -> None:
    """Note that answers depend on scripts."""
    state_of(cmd).configuration.declared_names.setdefault(SCRIPTS, set()).add(str(cmd.place))


def add_hook(conf: LuaDirConfig, phase: str, order: str, function: LuaFunction) -> None:
    """Add a function to a phase."""
    hooks = _own_hooks(conf)
    key = phase, order
    conf.hooks = Hooks({**hooks.table, key: (*hooks.table.get(key, ()), function)}, hooks.inherit)


def set_hook(phase: str) -> Any:
    """Return the setter of a LuaHook directive: file, function, and early or late."""

    def apply(cmd: Command, conf: LuaDirConfig, words: list[str]) -> None:
        order = words[2].lower() if len(words) > 2 else MIDDLE
        declare(cmd)
        add_hook(conf, phase, order, LuaFunction(words[0], words[1]))

    return apply


def set_block(phase: str) -> Any:
    """Return the setter of an inline section: read its lines, and leave one directive in its place."""

    def apply(cmd: Command, _conf: object, words: list[str]) -> None:
        reader = reading(cmd)
        line, end, _ = words[0].rpartition(">")
        if not end:
            raise ConfigError(f"{cmd.name}> directive missing closing '>'")
        function, rest = getword(line)
        order = getword(rest)[0]
        if order.lower() not in (EARLY, MIDDLE, LATE):
            raise ConfigError(f"{cmd.name}> 2nd argument must be 'early' or 'late'")
        place = reader.source.place()
        closing = f"</{cmd.name[1:]}".lower()
        lines = []
        for text in reader.source.raw_lines():
            if lower(strip(text)).startswith(closing):
                break
            lines.append(text)
        inline = LuaFunction(f"{place.path}:{place.line}", function, "\n" * place.line + "\n".join(lines))
        check_syntax(inline)
        nodes, parent = reader.current()
        nodes.append(InlineNode(place, parent, (phase, order.lower(), inline)))

    return apply


class InlineNode(Node):
    """The directive that stands for an inline section after it was read."""

    __slots__ = ("hook",)

    def __init__(self, place: Any, parent: Node | None, hook: tuple[str, str, LuaFunction]) -> None:
        super().__init__(BYTE_CODE, "", place, parent)
        self.hook = hook


def set_byte_code(cmd: Command, conf: LuaDirConfig, _words: list[str]) -> None:
    """Add the function of an inline section; a line with this name in a file adds nothing."""
    node = cmd.node
    if isinstance(node, InlineNode):
        declare(cmd)
        add_hook(conf, *node.hook)


def check_syntax(function: LuaFunction) -> None:
    """Raise ConfigError for an inline section that does not compile.

    Without the library the text is not compiled: the start is refused later.
    """
    if find_spec("lupa") is None:
        return
    from whimbrel.modules.lua.mod_lua.machine import compile_problem  # the library is loaded if it is needed

    problem = compile_problem(function)
    if problem:
        raise ConfigError(f"Lua Error:{problem}")


def add_path(name: str) -> Any:
    """Return the setter of LuaPackagePath or LuaPackageCPath: relative to LuaRoot."""

    def apply(cmd: Command, conf: LuaDirConfig, words: list[str]) -> None:
        root = cmd.server_config(LuaServerConfig).root
        path = root_relative(root if root is not UNSET else "", words[0])
        setattr(conf, name, (*own(conf, name, tuple), path))

    return apply


def set_scope(_cmd: Command, conf: LuaDirConfig, words: list[str]) -> None:
    """LuaScope."""
    low = atoi(words[1]) if len(words) > 1 else 0
    high = atoi(words[2]) if len(words) > 2 else low
    conf.scope = LuaScope(words[0], low, high)


def set_inherit(_cmd: Command, conf: LuaDirConfig, words: list[str]) -> None:
    """LuaInherit."""
    conf.hooks = Hooks(_own_hooks(conf).table, words[0].lower())


def add_mapped(cmd: Command, conf: LuaDirConfig, words: list[str]) -> None:
    """LuaMapHandler."""
    pattern = compiled(cmd, words[0], "Invalid regex pattern!")
    name = words[2] if len(words) > 2 else "handle"
    declare(cmd)
    mapped = MappedHandler(pattern, LuaFunction(words[1], name))
    conf.mapped = (*own(conf, "mapped", tuple), mapped)


def set_authz_provider(cmd: Command, _conf: object, words: list[str]) -> None:
    """LuaAuthzProvider: register the provider of a word after Require."""
    from whimbrel.modules.lua.mod_lua.authz import provider

    declare(cmd)
    cmd.register_provider("authz", words[0].lower(), provider(words[0], LuaFunction(words[1], words[2])))


def set_output_filter(cmd: Command, _conf: object, words: list[str]) -> None:
    """LuaOutputFilter."""
    from whimbrel.modules.lua.mod_lua.filters import LuaOutputFilter

    function = LuaFunction(words[1], words[2])
    declare(cmd)
    cmd.register_provider("output_filter", words[0].lower(), LuaOutputFilter(words[0], function))


def set_input_filter(cmd: Command, _conf: object, words: list[str]) -> None:
    """LuaInputFilter."""
    from whimbrel.modules.lua.mod_lua.filters import LuaInputFilter

    function = LuaFunction(words[1], words[2])
    declare(cmd)
    cmd.register_provider("input_filter", words[0].lower(), LuaInputFilter(words[0], function))
