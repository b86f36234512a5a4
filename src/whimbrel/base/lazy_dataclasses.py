"""Data classes whose methods are compiled at their first call.

`dataclass`, `field`, `fields` and `replace` are those of the standard library's `dataclasses`, as far as
Whimbrel uses them.  The standard ones compile the methods of every class when it is defined, half a
millisecond each: more than half of the time of ``whimbrel-httpd -t``.  Here a method is compiled at its first
call.  `dataclasses.fields`, `asdict` and `replace` accept these classes.  InitVar, ClassVar, KW_ONLY and
ordering are not supported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from reprlib import recursive_repr
from types import MemberDescriptorType

from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final

MISSING: Final = object()  # no default; as the value of an argument: not given
_FEW: Final = 48  # objects of a class before its __init__ is compiled, which costs as much as about sixty


class Field:
    """One field; *name* and *type* (as written) are set when its class is defined."""

    __slots__ = (
        "compare",
        "default",
        "default_factory",
        "init",
        "kw_only",
        "metadata",
        "name",
        "repr",
        "type",
    )

    name: str
    type: str

    def __init__(
        self,
        default: Any,
        default_factory: Any,
        init: bool,
        repr: bool,
        compare: bool,
        metadata: dict[str, Any],
        kw_only: Any,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.metadata = metadata
        self.kw_only = kw_only


def _field(
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
    metadata: dict[str, Any] | None = None,
    kw_only: bool | None = None,
) -> Field:
    """As `dataclasses.field`."""
    return Field(default, default_factory, init, repr, compare, {} if metadata is None else metadata, kw_only)


def _fields(kind: Any) -> tuple[Field, ...]:
    """Return the fields of a class, or of an object's class, in order."""
    return tuple(_known(kind if isinstance(kind, type) else type(kind)).values())


def _replace(record: Any, /, **changes: Any) -> Any:
    """Return a copy with some fields changed."""
    kind: Any = type(record)
    names, others = _of_init(kind)
    for name in others:
        if name in changes:
            raise ValueError(
                f"field {name} is declared with init=False, it cannot be specified with replace()"
            )
    return kind(**{**{name: getattr(record, name) for name in names}, **changes})


@cache
def _of_init(kind: Any) -> tuple[list[str], list[str]]:
    """Return the names of the fields that __init__ takes, and those of the others."""
    known = _known(kind).values()
    return [f.name for f in known if f.init], [f.name for f in known if not f.init]


def _dataclass(
    cls: Any = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Any:
    """As `dataclasses.dataclass`."""

    def decorate(cls: Any) -> Any:
        return _build(cls, frozen, slots, eq, repr, kw_only)

    return decorate if cls is None else decorate(cls)


def _build(cls: Any, frozen: bool, slots: bool, eq: bool, repr: bool, kw_only: bool) -> Any:
    names: dict[str, str] = cls.__dict__.get("__annotations__", {})
    given = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    for name, value in given.items():
        if value.__class__.__hash__ is None:
            raise ValueError(
                f"mutable default {type(value)} for field {name} is not allowed: use default_factory"
            )
        if not slots and isinstance(value, Field):
            delattr(cls, name)
            if value.default is not MISSING:
                setattr(cls, name, value.default)
    # collected first: to set a special method of an existing class costs a third of the class
    members = _methods(lambda: cls, cls.__dict__, frozen, slots, eq, repr)
    members["__record_own__"] = names, given, kw_only
    members["__dataclass_fields__"] = _STANDARD
    if slots:
        cls = _with_slots(cls, names, members)
    else:
        for name, value in members.items():
            setattr(cls, name, value)
    return cls


def _known(kind: type[Any]) -> dict[str, Field]:
    """Return the fields of a class and its bases by name; computed at the first call."""
    known_fields: dict[str, Field] | None = kind.__dict__.get("__record_fields__")
    if known_fields is None:
        known_fields = {}
        for base in reversed(kind.__mro__):
            names, given, kw_only = base.__dict__.get("__record_own__", ({}, {}, False))
            for name, written in names.items():
                value = given.get(name, MISSING)
                one = value if isinstance(value, Field) else _field(default=value)
                one.name, one.type, one.kw_only = (
                    name,
                    written,
                    kw_only if one.kw_only is None else one.kw_only,
                )
                known_fields[name] = one
        kind.__record_fields__ = known_fields
    return known_fields


def _with_slots(cls: Any, names: dict[str, str], more: dict[str, Any]) -> Any:
    """Return a new class with slots, as they cannot be added to an existing one, and with *more* members."""
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    members = {
        name: value
        for name, value in cls.__dict__.items()
        if name not in names and name not in ("__dict__", "__weakref__")
    }
    members |= more
    members["__slots__"] = tuple([name for name in names if name not in inherited])
    anew = type(cls)(cls.__name__, cls.__bases__, members)
    anew.__qualname__ = cls.__qualname__
    return anew


def _methods(
    owner: Callable[[], Any], own: Mapping[str, Any], frozen: bool, slots: bool, eq: bool, repr: bool
) -> dict[str, Any]:
    """Return the methods for a class with the members *own*; *owner* returns that class once it exists."""
    out: dict[str, Any] = {"__match_args__": _MATCH, "__init__": _first_inits(owner, frozen, slots)}
    if repr:
        out["__repr__"] = _repr
    if eq:
        out["__eq__"] = _at_first_call(owner, "__eq__", _written_eq)
    if frozen and slots:
        out["__getstate__"] = _state
        out["__setstate__"] = _set_state
    for name in out.keys() & own.keys():
        del out[name]  # the class defines it itself
    hashed = own.get("__hash__", MISSING)
    if eq and (hashed is MISSING or (hashed is None and "__eq__" in own)):
        out["__hash__"] = _at_first_call(owner, "__hash__", _written_hash) if frozen else None
    if frozen:
        out["__setattr__"] = _refuse_to_set
        out["__delattr__"] = _refuse_to_delete
    return out


# methods that are compiled -------------------------------------------------------------------
def _at_first_call(owner: Callable[[], Any], name: str, write: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a method that replaces itself with the one that *write* compiles for the class."""

    def first(self: Any, *args: Any, **kwargs: Any) -> Any:
        cls = owner()
        function = write(cls)
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        function.__module__ = cls.__module__
        setattr(cls, name, function)
        return function(self, *args, **kwargs)

    return first


def _first_inits(owner: Callable[[], Any], frozen: bool, slots: bool) -> Callable[..., None]:
    """Return an __init__ that interprets the fields for the first objects, and is compiled then."""
    left = _FEW
    interpreted: _InterpretedInit | None = None

    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal left, interpreted
        left -= 1
        cls = owner()
        if interpreted is None:
            interpreted = _InterpretedInit(cls)
        if left < 0 or not interpreted.assign(self, args, kwargs):
            compiled = _written_init(cls, frozen, slots)
            compiled.__qualname__ = f"{cls.__qualname__}.__init__"
            cls.__init__ = compiled
            compiled(self, *args, **kwargs)
        elif interpreted.has_post_init:
            self.__post_init__()

    return first


class _InterpretedInit:
    """Fields of a class, sorted by how __init__ treats them.

    Attributes:
        names: all that __init__ sets, in order
        places: those that may be given by position
        accepted: those that may be given at all
    """

    __slots__ = ("accepted", "defaults", "factories", "has_post_init", "names", "places")

    def __init__(self, cls: Any) -> None:
        known = _known(cls)
        self.places = tuple([name for name, f in known.items() if f.init and not f.kw_only])
        self.accepted = frozenset([name for name, f in known.items() if f.init])
        self.defaults = {name: f.default for name, f in known.items() if f.default is not MISSING}
        self.factories = [
            (n, f.default_factory) for n, f in known.items() if f.default_factory is not MISSING
        ]
        self.names = [
            name
            for name, f in known.items()
            if f.init or f.default is not MISSING or f.default_factory is not MISSING
        ]
        self.has_post_init = hasattr(cls, "__post_init__")

    def assign(self, record: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Set the fields of *record*; return False for a wrong call, which the compiled function refuses."""
        values = self.defaults.copy()
        if args:
            values.update(zip(self.places, args, strict=False))
            if len(args) > len(self.places) or not kwargs.keys().isdisjoint(self.places[: len(args)]):
                return False
        values.update(kwargs)
        for name, factory in self.factories:
            if name not in values:
                values[name] = factory()
        if len(values) != len(self.names) or not self.accepted.issuperset(kwargs):
            return False
        set_field = object.__setattr__
        for name in self.names:
            set_field(record, name, values[name])
        return True


def _compiled(lines: list[str], names: dict[str, Any]) -> Any:
    exec("\n ".join(lines), names)  # the names are those of fields
    return names["made"]


def _written_init(cls: Any, frozen: bool, slots: bool) -> Any:
    names: dict[str, Any] = {"MISSING": MISSING, "set_field": object.__setattr__}
    body: list[str] = []
    places: list[str] = []
    keys: list[str] = []
    for number, f in enumerate(_known(cls).values()):
        value = f.name
        if f.init:
            (keys if f.kw_only else places).append(_parameter(f, number, names))
            if f.default_factory is not MISSING:
                value = f"make{number}() if {f.name} is MISSING else {f.name}"
        elif f.default_factory is not MISSING:
            names[f"make{number}"] = f.default_factory
            value = f"make{number}()"
        elif f.default is MISSING or not slots:
            continue
        else:
            names[f"default{number}"], value = f.default, f"default{number}"
        body.append(_assignment(cls, f.name, value, names) if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments = ", ".join(["self", *places, *(["*", *keys] if keys else [])])
    return _compiled([f"def made({arguments}):", *(body or ["pass"])], names)


def _assignment(cls: Any, name: str, value: str, names: dict[str, Any]) -> str:
    """Return the line that sets a field of a frozen class; the setter of a slot takes half of the time."""
    slot = getattr(cls, name, None)
    if not isinstance(slot, MemberDescriptorType):
        return f"set_field(self, {name!r}, {value})"
    names[f"set_slot_{name}"] = slot.__set__
    return f"set_slot_{name}(self, {value})"


def _parameter(f: Field, number: int, names: dict[str, Any]) -> str:
    """Return a field as an argument of __init__; its default goes into *names*."""
    if f.default_factory is not MISSING:
        names[f"make{number}"] = f.default_factory
        return f"{f.name}=MISSING"
    if f.default is MISSING:
        return f.name
    names[f"default{number}"] = f.default
    return f"{f.name}=default{number}"


def _compared(cls: Any, owner: str) -> str:
    """Return the fields that count for equality, as a tuple's text."""
    return "(" + "".join(f"{owner}.{f.name}," for f in _known(cls).values() if f.compare) + ")"


def _written_eq(cls: Any) -> Any:
    return _compiled(
        [
            "def made(self, other):",
            f"if other.__class__ is self.__class__: return {_compared(cls, 'self')} == "
            f"{_compared(cls, 'other')}",
            "return NotImplemented",
        ],
        {},
    )


def _written_hash(cls: Any) -> Any:
    return _compiled(["def made(self):", f"return hash({_compared(cls, 'self')})"], {})


# methods that all share ----------------------------------------------------------------------
@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in _known(type(self)).values() if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _frozen(self: Any, name: str) -> bool:
    return name in _known(type(self)) or "__record_own__" in type(self).__dict__


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
    return [getattr(self, name) for name in _known(type(self))]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(_known(type(self)), state, strict=True):
        object.__setattr__(self, name, value)


# for the standard library's functions --------------------------------------------------------
class _Standard:
    """The attributes that `dataclasses` looks up in a class, computed at the first lookup."""

    def __get__(self, record: Any, kind: Any) -> Any:
        return _standard_fields(kind)


class _Match:
    """__match_args__, computed at the first lookup."""

    def __get__(self, record: Any, kind: Any) -> tuple[str, ...]:
        return tuple(f.name for f in _known(kind).values() if f.init and not f.kw_only)


_STANDARD: Final = _Standard()
_MATCH: Final = _Match()


@cache
def _standard_fields(kind: Any) -> Any:
    import dataclasses

    standard = [(f.name, f.type, _standard_field(dataclasses, f)) for f in _known(kind).values()]
    standard_class: Any = dataclasses.make_dataclass(kind.__name__, standard)
    return standard_class.__dataclass_fields__


def _standard_field(dataclasses: Any, f: Field) -> Any:
    given = {
        name: value for name in ("default", "default_factory") if (value := getattr(f, name)) is not MISSING
    }
    return dataclasses.field(
        init=f.init, repr=f.repr, compare=f.compare, metadata=f.metadata, kw_only=f.kw_only, **given
    )


if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, replace
else:
    dataclass = _dataclass
    field = _field
    fields = _fields
    replace = _replace

__all__ = ["dataclass", "field", "fields", "replace"]
