"""The command object that setters receive: httpd's cmd_parms."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import SourceLocation
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Protocol, TypeVar
from whimbrel.directives.context import Context
from whimbrel.directives.node import Node

if TYPE_CHECKING:
    from whimbrel.base.regex import Regex

R = TypeVar("R")


class Command(Protocol):
    """One directive in execution.

    Attributes:
        name: as spelled in the module's table.
        override: the bits of Context that are allowed here.
        methods: the mask of <Limit> (-1: all).
        path: the argument of the section around it, "" at server level (cmd_parms.path).
    """

    name: str
    dialect: Dialect
    node: Node
    place: SourceLocation
    override: Context
    override_options: int
    methods: int
    path: str
    in_htaccess: bool
    in_virtual_host: bool

    @property
    def server_name(self) -> str:
        """Return the name of ServerName of the server that is being read, "" before it."""

    def dir_config(self, kind: type[R]) -> R:
        """Return the record of *kind* in the present section, created if it has none."""

    def server_config(self, kind: type[R]) -> R:
        """Return the record of *kind* of the server (main or virtual) that is being read."""

    def main_server(self, kind: type[R]) -> R:
        """Return the record of *kind* of the main server."""

    def document_path(self, path: str) -> str:
        """Return a directory of documents as an absolute path, which URLs are mapped to and sections name."""
        ...

    def server_path(self, path: str) -> str:
        """Return the absolute path of *path*, taken from the server root; raises ConfigError("Invalid file
        path ...") where httpd does.
        """

    def regex(self, pattern: str, *, ignore_case: bool = False) -> Regex:
        """Return the compiled expression; raises whimbrel.base.regex.RegexError."""

    def provider(self, group: str, name: str) -> Any:
        """Return the object that a loaded module registered under *group* and *name*, or None."""

    def register_provider(self, group: str, name: str, value: object) -> None:
        """Register *value* under *group* and *name*, in place of an earlier one (see `Module.providers`)."""

    def loaded(self, module: str) -> bool:
        """Return True if the module with this identifier (``dir_module``) or source (``mod_dir.c``) is
        loaded.
        """

    def within(self, *containers: str) -> Node | None:
        """Return the innermost enclosing container whose name (``<Directory``, lower case compared) is one of
        these.
        """

    def execute(self, nodes: Sequence[Node], *, methods: int | None = None) -> None:
        """Execute *nodes* (a container's children) where this command stands, under another <Limit> mask if
        given.
        """

    def leave_undecided(self, text: str) -> None:
        """Note that a program would print the value of this line; tools name it as not decided."""

    def warn(self, text: str, *, code: str = "", level: str = "warn", cause: str = "") -> None:
        """A start-up message in the error log's format; *code* is the AH number, printed under dialects that
        have them; *cause* stands before it.

        It is dropped unless LogLevel of the server, as set so far, admits *level* for the module; `startup`
        always passes.
        """
