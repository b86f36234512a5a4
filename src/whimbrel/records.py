"""Data classes that cost next to nothing until they are used.

`dataclass`, `field`, `fields` and `replace` are those of the standard library's `dataclasses`, as far as Whimbrel uses them.  There every class has
its methods written and compiled when it is made, half a millisecond each: more than half of the time that ``whimbrel-httpd -t`` would need.  Here a
method is compiled at its first call, and does from then on what the standard one does.  `dataclasses.fields`, `asdict` and `replace` accept these
classes.  There are no InitVar, no ClassVar, no KW_ONLY and no ordering.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

MISSING: Final = object()  # no default; as the value of an argument: not given


class Field:
    """One field; *name* and *type* (as written) are set when its class is made."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "metadata", "name", "repr", "type")

    name: str
    type: str

    def __init__(self, default: Any, default_factory: Any, init: bool, repr: bool, compare: bool, metadata: dict[str, Any], kw_only: Any) -> None:
        self.default, self.default_factory, self.init, self.repr = default, default_factory, init, repr
        self.compare, self.metadata, self.kw_only = compare, metadata, kw_only


def _field(*, default: Any = MISSING, default_factory: Any = MISSING, init: bool = True, repr: bool = True, compare: bool = True,
           metadata: dict[str, Any] | None = None, kw_only: bool | None = None) -> Field:
    """As `dataclasses.field`."""
    return Field(default, default_factory, init, repr, compare, {} if metadata is None else metadata, kw_only)


def _fields(kind: Any) -> tuple[Field, ...]:
    """The fields of a class, or of an object's class, in order."""
    return tuple(kind.__record_fields__.values())


def _replace(record: Any, /, **changes: Any) -> Any:
    """A copy with some fields changed."""
    for one in record.__record_fields__.values():
        if not one.init:
            if one.name in changes:
                raise ValueError(f"field {one.name} is declared with init=False, it cannot be specified with replace()")
        elif one.name not in changes:
            changes[one.name] = getattr(record, one.name)
    return type(record)(**changes)


def _dataclass(cls: Any = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False) -> Any:
    """As `dataclasses.dataclass`."""
    def made(cls: Any) -> Any:
        return _made(cls, frozen, slots, eq, repr, kw_only)

    return made if cls is None else made(cls)


def _made(cls: Any, frozen: bool, slots: bool, eq: bool, repr: bool, kw_only: bool) -> Any:
    own = _own_fields(cls, kw_only)
    known: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        known |= base.__dict__.get("__record_fields__", {})
    known |= own
    for name, one in own.items():
        if one.default is not MISSING and not slots:
            setattr(cls, name, one.default)
        elif name in cls.__dict__:
            delattr(cls, name)
    if slots:
        cls = _with_slots(cls, own)
    cls.__record_fields__ = known
    cls.__dataclass_fields__ = _STANDARD
    _give(cls, "__match_args__", tuple(one.name for one in known.values() if one.init and not one.kw_only))
    _add_methods(cls, frozen, slots, eq, repr)
    return cls


def _own_fields(cls: Any, kw_only: bool) -> dict[str, Field]:
    found = {}
    for name, kind in cls.__dict__.get("__annotations__", {}).items():
        value = cls.__dict__.get(name, MISSING)
        one = value if isinstance(value, Field) else _field(default=value)
        if one.default.__class__.__hash__ is None:
            raise ValueError(f"mutable default {type(one.default)} for field {name} is not allowed: use default_factory")
        one.name, one.type = name, kind
        one.kw_only = kw_only if one.kw_only is None else one.kw_only
        found[name] = one
    return found


def _with_slots(cls: Any, own: dict[str, Field]) -> Any:
    """The class anew: slots can't be added to one that exists."""
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    members = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    members["__slots__"] = tuple(name for name in own if name not in inherited)
    anew = type(cls)(cls.__name__, cls.__bases__, members)
    anew.__qualname__ = cls.__qualname__
    return anew


def _give(cls: Any, name: str, value: Any) -> None:
    """Set what the class does not define itself."""
    if name not in cls.__dict__:
        setattr(cls, name, value)


def _add_methods(cls: Any, frozen: bool, slots: bool, eq: bool, repr: bool) -> None:
    hashed = cls.__dict__.get("__hash__", MISSING)
    explicit = hashed is not MISSING and not (hashed is None and "__eq__" in cls.__dict__)
    _give(cls, "__init__", _at_first_call(cls, "__init__", lambda: _written_init(cls, frozen, slots)))
    if repr:
        _give(cls, "__repr__", _repr)
    if eq:
        _give(cls, "__eq__", _at_first_call(cls, "__eq__", lambda: _written_eq(cls)))
        if frozen and not explicit:
            cls.__hash__ = _at_first_call(cls, "__hash__", lambda: _written_hash(cls))
        elif not explicit:
            cls.__hash__ = None
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refuse_to_set, _refuse_to_delete
        if slots:
            _give(cls, "__getstate__", _state)
            _give(cls, "__setstate__", _set_state)


# methods that are compiled -------------------------------------------------------------------
def _at_first_call(cls: Any, name: str, write: Callable[[], Any]) -> Callable[..., Any]:
    """A method that puts the one that *write* makes into its own place."""
    def first(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = write()
        made.__qualname__ = f"{cls.__qualname__}.{name}"
        made.__module__ = cls.__module__
        setattr(cls, name, made)
        return made(self, *args, **kwargs)

    return first


def _compiled(lines: list[str], names: dict[str, Any]) -> Any:
    exec("\n ".join(lines), names)  # the names are those of fields
    return names["made"]


def _written_init(cls: Any, frozen: bool, slots: bool) -> Any:
    names: dict[str, Any] = {"MISSING": MISSING, "set_field": object.__setattr__}
    body: list[str] = []
    places: list[str] = []
    keys: list[str] = []
    for number, one in enumerate(cls.__record_fields__.values()):
        value = one.name
        if one.init:
            (keys if one.kw_only else places).append(_parameter(one, number, names))
            if one.default_factory is not MISSING:
                value = f"make{number}() if {one.name} is MISSING else {one.name}"
        elif one.default_factory is not MISSING:
            names[f"make{number}"] = one.default_factory
            value = f"make{number}()"
        elif one.default is MISSING or not slots:
            continue
        else:
            names[f"default{number}"], value = one.default, f"default{number}"
        body.append(f"set_field(self, {one.name!r}, {value})" if frozen else f"self.{one.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments = ", ".join(["self", *places, *(["*", *keys] if keys else [])])
    return _compiled([f"def made({arguments}):", *(body or ["pass"])], names)


def _parameter(one: Field, number: int, names: dict[str, Any]) -> str:
    """A field as an argument of __init__; its default goes into *names*."""
    if one.default_factory is not MISSING:
        names[f"make{number}"] = one.default_factory
        return f"{one.name}=MISSING"
    if one.default is MISSING:
        return one.name
    names[f"default{number}"] = one.default
    return f"{one.name}=default{number}"


def _compared(cls: Any, owner: str) -> str:
    """The fields that count for equality, as a tuple's text."""
    return "(" + "".join(f"{owner}.{one.name}," for one in cls.__record_fields__.values() if one.compare) + ")"


def _written_eq(cls: Any) -> Any:
    return _compiled(["def made(self, other):", f"if other.__class__ is self.__class__: return {_compared(cls, 'self')} == {_compared(cls, 'other')}",
                      "return NotImplemented"], {})


def _written_hash(cls: Any) -> Any:
    return _compiled(["def made(self):", f"return hash({_compared(cls, 'self')})"], {})


# methods that all share ----------------------------------------------------------------------
@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in self.__record_fields__.values() if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _frozen(self: Any, name: str) -> bool:
    return name in self.__record_fields__ or "__record_fields__" in type(self).__dict__


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    if _frozen(self, name):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if _frozen(self, name):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__record_fields__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__record_fields__, state, strict=True):
        object.__setattr__(self, name, value)


# for the standard library's functions --------------------------------------------------------
class _Standard:
    """What `dataclasses` looks for in a class, made when it is looked for."""

    def __get__(self, record: Any, kind: Any) -> Any:
        return _standard_fields(kind)

_STANDARD: Final = _Standard()


@cache
def _standard_fields(kind: Any) -> Any:
    import dataclasses

    made = [(one.name, one.type, _standard_field(dataclasses, one)) for one in kind.__record_fields__.values()]
    made_class: Any = dataclasses.make_dataclass(kind.__name__, made)
    return made_class.__dataclass_fields__


def _standard_field(dataclasses: Any, one: Field) -> Any:
    given = {name: value for name in ("default", "default_factory") if (value := getattr(one, name)) is not MISSING}
    return dataclasses.field(init=one.init, repr=one.repr, compare=one.compare, metadata=one.metadata, kw_only=one.kw_only, **given)


if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, replace
else:
    dataclass, field, fields, replace = _dataclass, _field, _fields, _replace

__all__ = ["dataclass", "field", "fields", "replace"]
