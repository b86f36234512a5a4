"""From a tree of directives to settings: httpd's ap_walk_config and invoke_cmd."""

from __future__ import annotations

import os
from collections.abc import Sequence

from whimbrel.base.errors import (
    ConfigError,
    ForeignDirective,
    ForeignProvider,
    ProgramNotRun,
    SourceLocation,
    UnknownDirective,
)
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_re import compile
from whimbrel.base.regex import Regex, RegexError, compile_regex
from whimbrel.base.static_typing import Any, TypeVar, cast
from whimbrel.catalogue.context_rules import DirectiveContext, Places, message, violated
from whimbrel.catalogue.load import catalogue, is_of_httpd
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import OPT_ALL, OPT_MULTI, OPT_SYM_OWNER
from whimbrel.config.loaded import BoundDirective, Rows
from whimbrel.config.model import Layer, Server
from whimbrel.directives.command import Command
from whimbrel.directives.node import Node
from whimbrel.directives.shapes import shape
from whimbrel.directives.spec import Args, Context

_NAMED_GROUP = compile(r"(?<!\\)(?:\\\\)*\(\?<[A-Za-z_]")
R = TypeVar("R")

IN_MAIN_FILE = int(Context.RSRC_CONF | Context.OR_OPTIONS | Context.OR_FILEINFO | Context.OR_INDEXES)
IN_SECTION = int(Context.OR_ALL | Context.ACCESS_CONF)
ALL_OPTIONS = OPT_ALL | OPT_SYM_OWNER | OPT_MULTI
_NONFATAL_OVERRIDE = int(Context.NONFATAL_OVERRIDE)
_NONFATAL_UNKNOWN = int(Context.NONFATAL_UNKNOWN)


class CommandContext(Command):
    """The command object of a walk through a tree; its fields follow the directive that is being executed.

    *layer* has the records that `dir_config` returns; *allowed* are the bits of `override` as an integer;
    *override_list* are the names of AllowOverrideList in lower case, None without one.
    """

    def __init__(
        self, configuration: Configuration, server: Server, layer: Layer, allowed: int = IN_MAIN_FILE
    ) -> None:
        self.configuration = configuration
        self.current_server = server
        self.layer = layer
        self.dialect = configuration.dialect
        self.name = ""
        self.path = ""
        self.allowed = allowed
        self.override_options = ALL_OPTIONS
        self.methods = -1
        self.override_list: frozenset[str] | None = None
        self.in_htaccess = False
        self.in_virtual_host = server.is_virtual
        self.place = SourceLocation("", 0)
        self.node = Node("", "", self.place)
        self.row: BoundDirective | None = None
        self.reader: Any = None
        self._names_context = not self.dialect.contexts_22
        self._iterate_needs_one = not self.dialect.lenient_values
        self._adapter = configuration.options.adapter

    # what setters see -------------------------------------------------------------------------
    @property
    def server_name(self) -> str:
        return self.current_server.name

    @property
    def override(self) -> Context:
        return cast("Context", self.allowed)

    @override.setter
    def override(self, value: Context) -> None:
        self.allowed = value

    def dir_config(self, kind: type[R]) -> R:
        return self.layer.record(kind)

    def server_config(self, kind: type[R]) -> R:
        return self.current_server.record(kind)

    def main_server(self, kind: type[R]) -> R:
        return self.configuration.main.record(kind)

    def leave_undecided(self, text: str) -> None:
        self.configuration.missing.append(ProgramNotRun(text, self.place))

    def server_path(self, path: str) -> str:
        place = root_relative(self.configuration.root, path)
        if self._adapter is not None:
            return self.configuration.disk.openable(self._adapter.path(self.node, place))
        return self.configuration.stand_in(self.configuration.disk.openable(place), self.place, self.name)

    def document_path(self, path: str) -> str:
        place = root_relative(self.configuration.root, path)
        if self._adapter is not None:
            return self._adapter.path(self.node, place)
        self.configuration.stand_in_directory(place, self.place, self.name)
        return place

    def regex(self, pattern: str, *, ignore_case: bool = False) -> Regex:
        if not self.dialect.named_groups and _NAMED_GROUP.search(pattern):
            raise RegexError("the PCRE of 2.2 knows no (?<name>")
        return compile_regex(pattern, ignore_case=ignore_case)

    def provider(self, group: str, name: str) -> Any:
        return self.configuration.provider(group, name)

    def register_provider(self, group: str, name: str, value: object) -> None:
        self.configuration.modules.register_provider(group, name, value)

    def loaded(self, module: str) -> bool:
        return self.configuration.loaded(module)

    def within(self, *containers: str) -> Node | None:
        if self.row is not None and self.row.exec_on_read:
            return None  # httpd knows no parents yet while it reads
        wanted = {name.lower() for name in containers}
        if not any(name.lower() in wanted for name in self.node.sections()):
            return None
        return next((node for node in self.node.enclosing() if node.name.lower() in wanted), None)

    def warn(self, text: str, *, code: str = "", level: str = "warn", cause: str = "") -> None:
        module = self.row.module.name.removesuffix("_module") if self.row else "core"
        if level != "startup" and not self.in_htaccess:
            if not self.configuration.logs(self.current_server, level, module):
                return
        self.configuration.warn(
            text,
            code=code if self.dialect.messages_24 else "",
            level=level,
            module=module,
            place=self.node.place,
            cause=cause,
        )

    def execute(self, nodes: Sequence[Node], *, methods: int | None = None) -> None:
        outer_methods = self.methods
        outer_node = self.node
        outer_row = self.row
        if methods is not None:
            self.methods = methods
        self.walk(nodes)
        self.methods = outer_methods
        self.node = outer_node
        self.place = outer_node.place
        self.row = outer_row
        self.name = outer_row.name if outer_row else ""

    # sections ---------------------------------------------------------------------------------
    def execute_in(self, layer: Layer, path: str, allowed: int | None = None) -> None:
        """Execute the children of the section that is being executed; *path* is its argument, *allowed* what
        may stand there (None: as outside).
        """
        outer = self.layer, self.path, self.allowed
        self.layer = layer
        self.path = path
        if allowed is not None:
            self.allowed = allowed
        self.execute(self.node.children)
        self.layer, self.path, self.allowed = outer

    def execute_server(self, server: Server) -> None:
        """Execute the children of a <VirtualHost> for *server*."""
        outer = self.current_server, self.layer
        self.current_server = server
        self.layer = server.defaults
        self.in_virtual_host = server.is_virtual
        self.execute(self.node.children)
        self.current_server, self.layer = outer
        self.in_virtual_host = outer[0].is_virtual

    # execution --------------------------------------------------------------------------------
    def walk(self, nodes: Sequence[Node]) -> None:
        """Execute *nodes*; a ConfigError gets the place of the innermost directive that failed."""
        rows_of = self.configuration.modules.rows
        for node in nodes:
            rows = rows_of(node.name)
            if rows is None:
                if not self.allowed & _NONFATAL_UNKNOWN:
                    if self._may_be_foreign(node) and self.configuration.leaves_out(foreign(node)):
                        continue
                    if self._takes(node):
                        continue
                    raise unknown(node, self.configuration)
                self.configuration.warn(
                    f"Unknown directive {node.name.lower()} perhaps misspelled or defined by a module not "
                    f"included in the server configuration",
                    code="AH02296",
                    place=node.place,
                )
                continue
            try:
                self.invoke_all(node, rows, later=True)
            except ConfigError as problem:
                if problem.place is None:
                    problem.place = node.place
                if not (self.configuration.leaves_out(problem) or self._takes_consequence(problem)):
                    raise

    def _may_be_foreign(self, node: Node) -> bool:
        """Return True if a module that is not here may declare the directive: a loaded one, or one of a
        third party that is compiled into a server of 2.2 on another machine, as mpm_itk was.
        """
        if self.configuration.foreign_modules:
            return True
        if not self.configuration.options.is_elsewhere or not self.dialect.contexts_22:
            return False
        from whimbrel.catalogue.third_party import product_of_directive

        product = product_of_directive(node.name)
        return product is not None and not product.is_built_in

    def has_provider_elsewhere(self, group: str, name: str) -> bool:
        """Return True if the server runs elsewhere, and a module that is not here may register the provider
        *name* of *group* there; the line is among those that are left out.
        """
        if not (self.configuration.foreign_modules and self.configuration.options.is_elsewhere):
            return False
        from whimbrel.config.third_party_providers import owner_of_provider

        product = owner_of_provider(self.configuration, group, name)
        if product is None:
            return False
        return self.configuration.leaves_out(
            ForeignProvider(f"{self.name} {name}", self.place, product=product)
        )

    def _takes(self, node: Node) -> bool:
        """Return True if *node* is a line of a third-party module; the start is refused later."""
        if self.configuration.options.is_elsewhere:
            return False
        if self.in_htaccess and self.configuration.third_party is None:
            return False
        from whimbrel.config.third_party_lines import takes  # few configurations have such lines

        return takes(self.configuration, node, in_htaccess=self.in_htaccess)

    def _takes_consequence(self, problem: ConfigError) -> bool:
        """Return True if the start is refused anyway for a line of a third-party module."""
        if self.configuration.third_party is None or self.in_htaccess:
            return False
        from whimbrel.config.third_party_lines import takes_consequence

        return takes_consequence(self.configuration, problem)

    def invoke_all(self, node: Node, rows: Rows, *, later: bool = False) -> None:
        """Execute *node* by every module that declares it; *later* omits those that execute it on reading."""
        for row in rows:
            if not (later and row.exec_on_read):
                self.node = node
                self.place = node.place
                self.name = row.name
                self.row = row
                self._invoke(row, node)

    def _invoke(self, row: BoundDirective, node: Node) -> None:
        if not self.allowed & row.where and not self._listed(row):
            if self.allowed & _NONFATAL_OVERRIDE:
                self.configuration.warn(
                    f"{row.name} in .htaccess forbidden by AllowOverride", code="AH02295", place=node.place
                )
                return
            raise ConfigError(self._not_allowed(row, node))
        if row.dir_config is not None:
            record = self.layer.records.get(row.dir_config)
            if record is None:
                record = self.layer.record(row.dir_config)
        elif row.server is not None:
            record = self.current_server.record(row.server)
        else:
            record = None
        try:
            if not row.implemented:
                self._without_behaviour(row, node)
                if row.line is not None:
                    return
            for words in self._calls(row, node):
                row.apply(self, record, words)
        except RegexError:
            raise ConfigError("Regex could not be compiled") from None
        except ValueError as problem:
            if "integer string conversion" not in str(problem):
                raise
            raise ConfigError(f"{row.name}: a number of that many digits can't be read") from None

    def _calls(self, row: BoundDirective, node: Node) -> list[list[str]]:
        """Return the arguments of each call; raises ConfigError for their number, then for the context."""
        text = self._arguments(node)
        if row.args is Args.RAW_ARGS:
            calls = [[text]]
        else:
            calls = shape(
                row.args, text, name=row.name, help=row.help, iterate_needs_one=self._iterate_needs_one
            )
        if row.forbidden and calls:
            check_context(self, row.forbidden)
        return calls

    def _arguments(self, node: Node) -> str:
        return node.args if self._adapter is None else self._adapter.arguments(node)

    def _without_behaviour(self, row: BoundDirective, node: Node) -> None:
        """Judge a line that has no behaviour here, and remember it."""
        from whimbrel.config.unimplemented_lines import (
            record,  # imported late: only configurations with such directives need it
        )

        if row.line is not None:
            row.line(self, self._calls(row, node))
            self.node = node
            self.place = node.place
            self.name = row.name
            self.row = row
        record(self, row.name, row.module.source)

    def _listed(self, row: BoundDirective) -> bool:
        return self.override_list is not None and row.name.lower() in self.override_list

    def _not_allowed(self, row: BoundDirective, node: Node) -> str:
        is_named = self._names_context and not row.exec_on_read
        return not_allowed(row.name, node.parent.name if is_named and node.parent is not None else None)


def unknown(node: Node, configuration: Configuration) -> UnknownDirective:
    """Return the error of an undeclared directive, with the LoadModule line of its module as a hint."""
    known = catalogue("2.4" if configuration.dialect.messages_24 else "2.2")
    sources = {row.source for row in known.find(node.name)}
    row = next((row for row in known.modules if row.source in sources), None)
    line = f"{row.identifier} modules/{row.file}.so" if row is not None and row.kind != "core" else ""
    return UnknownDirective(node.name, node.place, declared_by=line)


def foreign(node: Node) -> ConfigError:
    """Return the error of a directive that no loaded module declares while modules are loaded of which
    nothing is known here: `ForeignDirective`, unless another module of httpd declares it.
    """
    from whimbrel.catalogue.third_party import product_of_directive

    if is_of_httpd(node.name):
        return UnknownDirective(node.name, node.place)
    product = product_of_directive(node.name)
    text = "" if product is None else f"{product.name} ({product.effect})"
    return ForeignDirective(node.name, node.place, product=text)


def root_relative(root: str, path: str) -> str:
    """Return *path* relative to *root* without ``.``, ``..`` and ``//``; ``..`` does not leave ``/``."""
    if "//" not in path and "/." not in path and path[:1] not in (".", ""):
        return path if path[0] == "/" else f"{root.rstrip('/')}/{path}"
    joined = path if path[:1] == "/" else f"{root}/{path}"
    parts: list[str] = []
    for part in joined.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    tail = "/" if joined.endswith(("/", "/.", "/..")) and parts else ""
    return "/" + "/".join(parts) + tail


def is_directory(path: str) -> bool:
    return os.path.isdir(to_bytes(path))


def working_directory() -> str:
    return to_text(os.getcwdb())


def state_of(command: Command) -> CommandContext:
    """Return the walk behind *command*, for containers that make layers and servers."""
    if not isinstance(command, CommandContext):
        raise TypeError("not a command of a configuration")
    return command


def not_allowed(name: str, section: str | None) -> str:
    """Return the message for a directive outside its context; 2.4 names the section around it.

    A directive that is executed on reading has no section yet.
    """
    return f"{name} not allowed here" if section is None else f"{name} not allowed in {section}> context"


def check_context(cmd: Command, forbidden: Places) -> None:
    """Raise ConfigError in a *forbidden* context (ap_check_cmd_context)."""
    if (
        not cmd.path
        and cmd.methods == -1
        and not cmd.in_htaccess
        and not (cmd.in_virtual_host and "VIRTUALHOST" in forbidden)
    ):
        return  # at server level, as most directives are
    context = violated(forbidden, context_of(cmd), "2.2" if cmd.dialect.contexts_22 else "2.4")
    if context:
        raise ConfigError(message(cmd.name, context))


def context_of(command: Command) -> DirectiveContext:
    """Return the context of *command*; a directive executed on reading has no sections yet."""
    parent = command.node.parent
    known = parent is not None and command.within(parent.name) is not None
    sections = command.node.sections() if known else ()
    return DirectiveContext(
        sections,
        command.methods != -1,
        bool(command.path) or command.in_htaccess,
        command.in_virtual_host,
        command.in_htaccess,
    )
