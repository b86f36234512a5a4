"""Records in shared memory: attributes that read and write at a fixed offset.

A record type is a class with fields of the types `NumberField`, `RealField` and `TextField`; offsets are
computed when it is defined. All sizes are fixed, so a segment has the size of its records. Reading and
writing one field is atomic among processes as far as the machine writes eight aligned bytes at once; a text
is not.
"""

from __future__ import annotations

from mmap import mmap
from struct import Struct
from typing import Any, ClassVar, Final, Generic, TypeVar, overload

from whimbrel.base.latin1 import to_bytes, to_text

V = TypeVar("V")
F = TypeVar("F", bound="SharedField[Any]")
_ALIGNMENT: Final = 8


class SharedField(Generic[V]):
    """One field of a `SharedRecord`, a descriptor."""

    __slots__ = ("_struct", "offset")

    def __init__(self, code: str) -> None:
        self._struct = Struct(code)
        self.offset = 0

    @property
    def size(self) -> int:
        """Return the bytes that the field takes."""
        return -(-self._struct.size // _ALIGNMENT) * _ALIGNMENT

    @overload
    def __get__(self: F, record: None, owner: object = None) -> F: ...

    @overload
    def __get__(self, record: SharedRecord, owner: object = None) -> V: ...

    def __get__(self, record: SharedRecord | None, owner: object = None) -> Any:
        if record is None:
            return self
        return self._struct.unpack_from(record.memory, record.base + self.offset)[0]

    def __set__(self, record: SharedRecord, value: V) -> None:
        self._struct.pack_into(record.memory, record.base + self.offset, value)


class NumberField(SharedField[int]):
    """A signed number of eight bytes."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("q")


class RealField(SharedField[float]):
    """A number with a fraction, such as a time in seconds."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("d")


class TextField(SharedField[str]):
    """A text of at most *size* bytes; what follows is cut off."""

    __slots__ = ("limit",)

    def __init__(self, size: int) -> None:
        super().__init__(f"{size}s")
        self.limit = size

    def __get__(self, record: SharedRecord | None, owner: object = None) -> Any:
        if record is None:
            return self
        data: bytes = self._struct.unpack_from(record.memory, record.base + self.offset)[0]
        return to_text(data.partition(b"\0")[0])

    def __set__(self, record: SharedRecord, value: str) -> None:
        self._struct.pack_into(record.memory, record.base + self.offset, to_bytes(value))


class SharedRecord:
    """A record at *base* of a segment.

    Attributes:
        SIZE: bytes of one record. FIELDS: the fields by name, in order.
    """

    __slots__ = ("base", "memory")
    SIZE: ClassVar[int] = 0
    FIELDS: ClassVar[dict[str, SharedField[Any]]] = {}

    def __init__(self, memory: mmap, base: int) -> None:
        self.memory = memory
        self.base = base

    def __init_subclass__(cls) -> None:
        own = {name: field for name, field in vars(cls).items() if isinstance(field, SharedField)}
        cls.FIELDS = {**cls.FIELDS, **own}
        for field in own.values():
            field.offset = cls.SIZE
            cls.SIZE += field.size

    def values(self) -> dict[str, Any]:
        """Return all values by the names of their fields."""
        return {name: getattr(self, name) for name in self.FIELDS}
