"""Names of `typing` and `enum` for the type checker; at run time, stand-ins that cost next to nothing.

The modules that ``whimbrel-httpd -t`` imports take these names from here: to import `typing` takes as long as
to read a small configuration, to build one flag class half a millisecond.

The stand-ins do not keep their arguments: `typing.get_type_hints`, and generic aliases with free variables,
need `typing` itself.  The members of an `IntEnum` or `IntFlag` of this module are plain integers at run time:
their class has no iteration, call or lookup, they have no names, and `&` takes the place of `in`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import IntEnum as IntEnum
    from enum import IntFlag as IntFlag
    from typing import Any as Any
    from typing import AnyStr as AnyStr
    from typing import Final as Final
    from typing import Generic as Generic
    from typing import Protocol as Protocol
    from typing import TypeAlias as TypeAlias
    from typing import TypeVar as TypeVar
    from typing import cast as cast
else:
    Any = object
    AnyStr = object
    Final = object
    TypeAlias = object
    IntEnum = object
    IntFlag = object

    class Generic:
        """Base of generic classes."""

        __slots__ = ()

        def __class_getitem__(cls, _arguments):
            return cls

    class Protocol(Generic):
        """Base of protocols."""

        __slots__ = ()

    def TypeVar(_name, **_options):
        """Return a stand-in for a type variable."""
        return object

    def cast(_kind, value):
        """Return *value*."""
        return value
