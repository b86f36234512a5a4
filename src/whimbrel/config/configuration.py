"""A configuration, while it is read and afterwards."""

from __future__ import annotations

import os
from collections.abc import Mapping

from whimbrel.base.builds import Build
from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError, MissingResource, SourceLocation, StartError
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.config.copied_paths import IN_PLACE, CopiedPaths, StandIn
from whimbrel.config.core_config import (
    OPT_ALL,
    OPT_SYM_LINKS,
    OPT_UNSET,
    CoreDirConfig,
    CoreServerConfig,
    Options,
)
from whimbrel.config.loaded import LoadedModules
from whimbrel.config.model import Included, Server, ServerSpec, Stage, StartMessage, Tree
from whimbrel.config.options import LoadOptions
from whimbrel.config.read_budget import ReadBudget
from whimbrel.directives.node import Node
from whimbrel.directives.spec import Versions
from whimbrel.registry.methods import Methods
from whimbrel.registry.module import Module
from whimbrel.registry.settings import UNSET

LEVELS = (
    *("emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"),
    *(f"trace{number}" for number in range(1, 9)),
)

if TYPE_CHECKING:
    from whimbrel.config.skipped_branches import SkippedBranch
    from whimbrel.config.third_party_lines import ThirdPartyLines
    from whimbrel.config.vhosts import VirtualHostTable

AUTHENTICATION: Final = (
    "authentication"  # declared where some line, or a .htaccess file, may have passwords requested
)
STREAM_TAGS: Final = "http2 tags"  # declared if a directive reads the number of an HTTP/2 stream


class Configuration:
    """The result of reading a configuration.  Nothing in it changes after `load`.

    Attributes:
        tree: the directives as executed; Include and the conditional blocks of reading are replaced by
            their contents.
        skipped: the branches that are not read, since their conditions are not true.
        decided_names: the names about which a Define or UnDefine line has decided, whatever -D defines.
        unimplemented: directives of loaded modules without behaviour here, with their module's source.
        handlers: names of handlers, each with the directive that sets it (see handlers.py).
        available: modules by the base name of the module file (``mod_dir``), as LoadModule names it.
        build: the named or detected build of httpd.
        built_in: source files of the compiled-in modules.
        module_places: the LoadModule lines, by the identifiers of the modules that they have loaded.
        declared_names: names that directives define, by group.
        execution_messages: the indexes of messages after reading and before the first post_config step.
        known_directories: document roots that exist.
        keeps_tree: True if a module shows directives of `tree` in responses.
        inherited: objects of modules by name that a configuration leaves to the next one of the same master.
        missing: what lines name and this machine does not have, if the server runs elsewhere.
        copied: where a copy has the paths of the text.
        is_mapped: paths are those of the text; False where an adapter has changed the lines.
        disk: where the files of these paths are.
        foreign_modules: identifiers of loaded modules of which nothing is known here.
        module_files: paths of LoadModule, by their lines in reading order.
        foreign_libraries: those of modules that httpd does not distribute, by their lines in reading order.
        third_party: lines of modules without behaviour here; None before the first.
        boundary: the boundary of all multipart responses of 2.4 (ap_multipart_boundary): 64 random bits.
    """

    def __init__(
        self, options: LoadOptions, dialect: Dialect, available: Mapping[str, Module], build: Build
    ) -> None:
        self.options = options
        self.dialect = dialect
        self.available = available
        self.version = Versions.V22 if dialect.version < (2, 4) else Versions.V24
        self.build = build
        self.built_in: frozenset[str] = frozenset()
        self.copied = CopiedPaths(options.server_root, options.copied)
        self.is_mapped = options.is_copy and options.adapter is None
        self.disk = self.copied if self.is_mapped else IN_PLACE
        if self.is_mapped and options.stand_in_root:
            from whimbrel.config.equal_file_times import EqualFileTimes  # no server has one

            self.disk.equal_file_times = EqualFileTimes(options)
        if options.adapter is not None and options.adapter.has_image:
            self.disk = CopiedPaths.links_of(self.copied.image)
        self.root = (self.is_mapped and self.disk.text_root) or options.server_root
        self.main = Server()
        self.virtual_hosts: list[Server] = []
        self.modules = LoadedModules(self.version)
        self.loaded_by_directive: list[tuple[str, Module]] = []
        self.module_places: dict[str, SourceLocation] = {}
        self.tree: Tree = []
        self.defines: dict[str, None] = dict.fromkeys(options.defines)
        self.decided_names: set[str] = set()
        self.variables: dict[str, str] = {}
        self.budget = ReadBudget()
        self.includes: list[Included] = []
        self.include_patterns: list[str] = []  # absolute paths of Include, also of those that match nothing
        # line of the Include that was executed last, which DUMP_INCLUDES shows for each file
        self.include_line: int | None = None
        self.messages: list[StartMessage] = []
        self.execution_messages = range(0)
        self.spec = ServerSpec(options.server_root)
        self.methods = Methods()
        self.skipped: list[SkippedBranch] = []
        self.unimplemented: list[tuple[Node, str]] = []
        self.handlers: list[tuple[Node, str]] = []
        self.declared_names: dict[str, set[str]] = {}
        self.name_virtual_hosts: list[Any] = []
        self.known_directories: set[str] = set()
        self.hosts: VirtualHostTable | None = None
        self.keeps_tree = False
        self.inherited: dict[str, Any] = {}
        self.missing: list[MissingResource] = [*options.undecided]
        self.stand_ins: dict[str, StandIn] = {}
        self.foreign_modules: set[str] = set()
        self.module_files: dict[SourceLocation, str] = {}
        self.foreign_libraries: dict[SourceLocation, str] = {}
        self.third_party: ThirdPartyLines | None = None
        self.boundary = f"{int.from_bytes(os.urandom(8), 'big'):016x}"
        self._prepared = {CoreDirConfig: self._first_dir_config}
        self.prepare_defaults(self.main)
        self.main.defaults.record(CoreDirConfig)

    @property
    def program(self) -> str:
        """Return the program's name in messages, as the recorded servers were called."""
        return self.options.program or ("httpd" if self.version is Versions.V22 else "apache2")

    @property
    def default_document_root(self) -> str:
        """Return the directory of a server without DocumentRoot."""
        return self.build.document_root or f"{self.root}/htdocs"

    def set_root(self, path: str) -> None:
        """ServerRoot: what relative paths are taken from, from here on."""
        self.root = path
        self.spec.root = path

    def copied_path(self, path: str) -> str:
        """Return the path in a copy of the server root, "" for one outside of it; without a copy *path*."""
        place = self.copied.place(path) if self.options.is_copy else path
        return self.disk.openable(place) if place else ""

    def home(self, user: str) -> str | None:
        """Return the directory of *user*, as paths of the configuration name it; None for nobody."""
        home = self.copied.home(user)
        return home if home is None or self.is_mapped else self.copied.place(home)

    def stand_in(self, path: str, line: SourceLocation, name: str) -> str:
        """Return *path*, or the file in its place below `LoadOptions.stand_in_root` if it is missing.

        The line *name* at *line* names the file.
        """
        options = self.options
        pairs = ((options.server_root, options.stand_in_root), (options.image, options.stand_in_image))
        for own, other in pairs:
            root = own.rstrip("/")
            if not other or not path.startswith(f"{root}/") or os.path.lexists(to_bytes(path)):
                continue
            place = other.rstrip("/") + path[len(root) :]
            if os.path.isfile(to_bytes(place)):
                self.stand_ins.setdefault(path, StandIn(place, line, name))
                if self.is_mapped and self.copied.image:
                    self.copied.add(self.copied.text_of(path), place)
                return place
        return path

    def stand_in_directory(self, path: str, line: SourceLocation, name: str) -> None:
        """Let the documents of `LoadOptions.stand_in_image` be those of *path*, if the own image lacks them.

        The line *name* at *line* names the directory, or one with a pattern in it.
        """
        other = self.options.stand_in_image
        head, pattern, _ = path.partition("%" if "%" in path else "$")
        path = head.rpartition("/")[0] if pattern else path.rstrip("/")
        is_missing = bool(other and path) and self.is_mapped and not self.disk.exists(path)
        if not is_missing or not os.path.isdir(to_bytes(other + path)):
            return
        missing = path
        while (above := missing.rpartition("/")[0]) and not self.disk.exists(above):
            missing = above
        self.copied.add(missing, other + missing)
        self.stand_ins.setdefault(self.copied.image + path, StandIn(other + path, line, name))

    def leaves_out(self, problem: ConfigError) -> bool:
        """Return True if the line that raised *problem* is left out: a server that runs elsewhere needs
        something that is not here.
        """
        if not isinstance(problem, MissingResource):
            return False
        if self.options.adapter is not None and self.options.adapter.leaves_out(problem):
            return True
        if not self.options.is_elsewhere:
            return False
        self.missing.append(problem)
        return True

    def refuse_logs(self, problems: list[str]) -> None:
        """Raise StartError with *problems* of the directories of logs, if there are any; a server that runs
        elsewhere has them there.
        """
        if self.options.is_elsewhere:
            self.missing += map(MissingResource, problems)
        elif problems:
            raise StartError(*problems, "AH00014: Configuration check failed")

    def servers(self) -> list[Server]:
        """Return the main server, then the virtual hosts in the order of their definition."""
        return [self.main, *self.virtual_hosts]

    def release_tree(self) -> None:
        """Release *tree*, which a server does not need once it is ready, unless `keeps_tree` is set."""
        if self.keeps_tree:
            return
        waiting, self.tree = self.tree, []
        while waiting:
            node = waiting.pop()
            waiting.extend(node.children)
            node.children = ()

    def declare(self, group: str, name: str) -> None:
        """Record a name that a directive defines (a filter, an alias), for directives that look it up."""
        self.declared_names.setdefault(group, set()).add(name)

    def provider(self, group: str, name: str) -> Any:
        return self.modules.provider(group, name)

    def loaded(self, module: str) -> bool:
        return module in self.modules

    def warn(
        self,
        text: str,
        *,
        code: str = "",
        level: str = "warn",
        module: str = "core",
        place: SourceLocation | None = None,
        cause: str = "",
        logged: tuple[str, str] | None = None,
        stage: Stage = Stage.READING,
        server: Server | None = None,
    ) -> None:
        """Record a start-up message; httpd prints it at once, callers here print the list.

        *cause* is a system error in APR's wording, ``(2)No such file or directory``, printed before the code.
        *logged* is (code, text) for the error log if it differs, *server* the one with this log.
        """
        self.messages.append(StartMessage(text, code, level, module, place, cause, logged, stage, server))

    def main_logs(self, level: str) -> bool:
        """Return True if the main server's LogLevel, as set so far, lets messages of *level* through."""
        return self.logs(self.main, level)

    def logs(self, server: Server, level: str, module: str = "") -> bool:
        """Return True if LogLevel of *server*, as set so far, lets messages of *module* at *level* through.

        Notices always pass.  A virtual host of 2.4 has no level before its own LogLevel.
        """
        if level == "notice":
            return True
        record = server.records.get(CoreServerConfig)
        levels = {} if record is None or record.log_level is UNSET else record.log_level
        limit = levels.get(module, levels.get(""))
        if limit is None:
            if server.is_virtual:
                return self.dialect.hosts_copy_log_level and self.main_logs(level)
            limit = LEVELS.index("warn")
        return LEVELS.index(level) <= int(limit)

    def prepare_defaults(self, server: Server) -> None:
        """The Options that a server starts with: 2.2 all but MultiViews, 2.4 FollowSymLinks."""
        server.defaults.prepared = self._prepared

    def _first_dir_config(self) -> CoreDirConfig:
        return CoreDirConfig(
            options=Options(OPT_UNSET | (OPT_ALL if self.dialect.options_default_all else OPT_SYM_LINKS))
        )
