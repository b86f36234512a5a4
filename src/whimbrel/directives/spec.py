"""Description of a directive: its arguments, its contexts, the record that it sets.

Names follow httpd's developer manual: the argument shapes of AP_INIT_*, the contexts RSRC_CONF, ACCESS_CONF
and OR_*.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Generic, IntEnum, IntFlag, TypeVar
from whimbrel.directives.context import Context as Context

if TYPE_CHECKING:
    from whimbrel.directives.command import Command

C = TypeVar("C")


class Args(Enum):
    """Argument shapes; the value is httpd's text in messages."""

    RAW_ARGS = "raw"  # one call: [the text after the name, unsplit]
    TAKE1 = "one argument"
    TAKE2 = "two arguments"
    TAKE3 = "three arguments"
    TAKE12 = "1-2 arguments"
    TAKE13 = "one or three arguments"
    TAKE23 = "two or three arguments"
    TAKE123 = "one, two or three arguments"
    TAKE_ARGV = "all words"  # one call with all arguments
    ITERATE = "one or more"  # one call for each argument
    ITERATE2 = "two or more"  # one call for each argument after the first: [first, argument]
    FLAG = "On or Off"  # one call: ["on"] or ["off"]
    NO_ARGS = "none"  # one call: []


class Versions(IntFlag):
    """The httpd versions that know a directive, a module, a provider."""

    V22 = 1
    V24 = 2
    BOTH = V22 | V24


class ConfigScope(IntEnum):
    """Which of a module's two records a setter is handed."""

    DIRECTORY = 1  # per-directory settings
    SERVER = 2  # per-server settings
    NONE = 3  # none: the setter works on the command alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive(Generic[C]):
    """One row of a module's directive table.

    Attributes:
        name: as spelled in httpd's table (messages repeat it); containers begin with ``<``.
        apply: the setter: gets the command, the record that `record` selects, and the arguments in the
            shape of `args`; raises ConfigError(reason) to refuse them.
        help: httpd's own text: -L prints it and argument errors end in it.
    """

    name: str
    args: Args
    where: Context
    apply: Callable[[Command, C, list[str]], None]
    help: str
    record: ConfigScope = ConfigScope.DIRECTORY
    versions: Versions = Versions.BOTH


AnyDirective = Directive[Any]
