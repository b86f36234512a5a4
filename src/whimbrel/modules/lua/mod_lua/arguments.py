"""CallArguments of functions that scripts call, with Lua's conversions and messages (lauxlib.c)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from whimbrel.base.numbers import strip, strtol_exact

GONE: Final = "the client has gone"  # the error that ends a script


class LuaError(Exception):
    """An error that the script gets (lua_error)."""


def type_name(value: Any) -> str:
    """Return Lua's name of the type of *value*."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    from lupa.lua53 import lua_type

    return lua_type(value) or "userdata"


def lua_text(value: Any) -> str:
    """Return a string or number as Lua's tostring writes it."""
    if isinstance(value, float):
        return f"{value:.1f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.14g}"
    return str(value)


def to_integer(value: Any) -> int | None:
    """Return a number without fraction, or a text of one, as an int; None for anything else."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        text = strip(value)
        return strtol_exact(text) if text else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class CallArguments:
    """The arguments of one call, counted from 1 as a script does."""

    __slots__ = ("name", "values")

    def __init__(self, name: str, values: Sequence[Any]) -> None:
        self.name = name
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def value(self, number: int) -> Any:
        """Return an argument, None if it is missing."""
        return self.values[number - 1] if number <= len(self.values) else None

    def text(self, number: int) -> str:
        """Return a string; a number is converted (luaL_checkstring). Raises LuaError."""
        value = self.value(number)
        if isinstance(value, str):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return lua_text(value)
        raise self.unexpected(number, "string")

    def integer(self, number: int, default: int | None = None) -> int:
        """Return a whole number (luaL_checkinteger, luaL_optinteger). Raises LuaError."""
        value = self.value(number)
        if value is None and default is not None:
            return default
        found = to_integer(value)
        if found is not None:
            return found
        if isinstance(value, float):
            raise self.wrong(number, "number has no integer representation")
        raise self.unexpected(number, "number")

    def unexpected(self, number: int, wanted: str) -> LuaError:
        """Return the error of an argument of another type."""
        found = "no value" if number > len(self.values) else type_name(self.value(number))
        return self.wrong(number, f"{wanted} expected, got {found}")

    def wrong(self, number: int, reason: str) -> LuaError:
        """Return the error of an argument (luaL_argerror)."""
        return LuaError(f"bad argument #{number} to '{self.name}' ({reason})")
