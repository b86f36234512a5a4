"""What a directive is made of: its arguments, its contexts, its setter.

Names follow httpd's developer manual: the argument shapes of AP_INIT_*, the contexts RSRC_CONF, ACCESS_CONF
and OR_*.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from whimbrel.base.static_typing import TYPE_CHECKING, Any, IntFlag
from whimbrel.directives.context import Context as Context

if TYPE_CHECKING:
    from whimbrel.directives.command import Command


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


Setter = Callable[["Command", Any, list[str]], None]
"""What a directive does: it gets the command, the module's record of per-directory or of per-server settings
(`registry.module.Module`), and the arguments in the shape of `Args`; raises ConfigError(reason) to refuse
them.
"""
