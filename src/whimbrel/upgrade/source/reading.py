"""Reading a configuration tree: a configuration as httpd 2.2 reads it, a directory of files, or single files.

Malformed text raises no exception: each part that cannot be read becomes an item of
`ConfigTree.unread`, and a finding reports it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.base.real_paths import RealPaths, real_path
from whimbrel.config.copied_paths import CopiedPaths
from whimbrel.config.execute import is_directory, root_relative
from whimbrel.config.includes import MAX_DEPTH, Finder, error_text, has_wildcards, read_config_file
from whimbrel.config.load import DeepRecursion
from whimbrel.config.options import LoadOptions
from whimbrel.config.read_budget import ReadBudget
from whimbrel.config.reader import COMMAND_LINE
from whimbrel.config.windows import is_windows_path
from whimbrel.directives.tokens import expand, variables
from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import Directive, Document, Malformed, Node, Section, parse
from whimbrel.syntax.words import getword
from whimbrel.upgrade.knowledge.loaded import item_of
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.model import InputContext, TargetBuild, UpgradeOptions
from whimbrel.upgrade.source.access_compat import access_compat_sentence
from whimbrel.upgrade.source.branches import Branches, Maybe, maybe_and
from whimbrel.upgrade.source.built_in_modules import OF_24, built_in_modules
from whimbrel.upgrade.source.config_tree import BuiltIn, ConfigTree, Role, SourceFile, Statement
from whimbrel.upgrade.source.htaccess import SearchedDirectories, htaccess_files
from whimbrel.upgrade.source.templates import TEMPLATE, TEMPLATE_LINE, marked_lines
from whimbrel.upgrade.source.text_faults import TEMPLATE_ADVICE, FaultKind, text_faults

FOREIGN: Final = ("<perl", "<lua", "<luahook")
"""Sections whose contents are in another language."""

Progress = Callable[[str], None]
"""Called with the path of each file and directory before it is read."""

NOT_CHECKED: Final = "no rule has checked it"
MODULE_FILES: Final = ".load"
"""The end of the names of Debian's files of LoadModule lines."""

MAX_STATEMENTS: Final = 64 * 1024 * 1024
"""Cost (config/read_budget.py) of what is read for an upgrade: a statement takes more memory than a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The input: a configuration with httpd's options, or files without one.

    Attributes:
        options: the options of the configuration, None for files alone.
        fragments: files with unknown surroundings, read after the configuration.
        moved: the text names another ServerRoot than *options*; that of *options* is a copy, and files
            outside of it are not read.
        built_in: the source files of the modules in the 2.2 binary, if they are listed.
        environment: the variables that fragments may name, if those of their server are known.
        server_modules: the modules that the server of the fragments loads under 2.2, if it is known.
    """

    options: LoadOptions | None = None
    fragments: tuple[str, ...] = ()
    is_relocated: bool = False
    built_in: frozenset[str] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    server_modules: tuple[str, ...] = ()

    @property
    def context(self) -> InputContext:
        """Return the context of the input; a file alone is a fragment unless its name contains .htaccess."""
        if self.options is not None:
            return InputContext.SERVER
        return (
            InputContext.HTACCESS
            if self.fragments and all(map(is_htaccess, self.fragments))
            else InputContext.FRAGMENT
        )


@dataclass(slots=True)
class Overlay:
    """Files as they would be after edits: contents by path and real path, read before the disk.

    *parsed* caches the trees of files without edits, *checked* the files that an earlier reading made of such
    trees, *resolved* the real paths, *searched* the directories that were searched. A path that was read once
    is not read again: another person may put a link there meanwhile.
    """

    contents: Mapping[str, bytes] = field(default_factory=dict)
    parsed: Mapping[str, Document] = field(default_factory=dict)
    resolved: RealPaths = field(default_factory=RealPaths)
    checked: Mapping[Document, SourceFile] = field(default_factory=dict)
    searched: SearchedDirectories = field(default_factory=SearchedDirectories)

    def real_path(self, path: str) -> str:
        """Return the path with all symbolic links resolved, as they were on first use."""
        return self.resolved.of(path)

    def read(self, path: str) -> Document:
        """Return the tree of a regular file; raises OSError."""
        key = path if path in self.parsed else self.real_path(path)
        data = self.contents.get(key)
        tree = self.parsed.get(key)
        if tree is not None and (data is None or data == tree.bytes):
            return tree
        return parse(read_config_file(path) if data is None else data, V22_LINES)


def _for_named_build(options: UpgradeOptions, server: LoadOptions | None) -> UpgradeOptions:
    """Return *options* with the build of 2.4 that those of the server name, unless they have a build."""
    names = {build.value: build for build in TargetBuild}
    if options.target_build is not None or server is None or server.build not in names:
        return options
    return replace(options, target_build=names[server.build])


def read_config_tree(
    sources: Sources | LoadOptions,
    options: UpgradeOptions,
    *,
    overlay: Overlay | None = None,
    progress: Progress | None = None,
    built_in: BuiltIn | None = None,
) -> ConfigTree:
    """Read the files of *sources*, with .htaccess files below the document roots; the contents raise no
    exception.

    *built_in* is the result of an earlier reading of the same sources.
    """
    if isinstance(sources, LoadOptions):
        sources = Sources(options=sources)
    options = _for_named_build(options, sources.options)
    if overlay is None:
        texts = sources.options.overlay if sources.options is not None else {}
        overlay = Overlay({real_path(path): data for path, data in texts.items()})
    if sources.options is not None and sources.fragments:
        tree = read_config_tree(
            replace(sources, fragments=()), options, overlay=overlay, progress=progress, built_in=built_in
        )
        tree.lone = _lone_files(tree, sources.fragments, options, progress, overlay)
        return tree
    reader = ConfigTreeReader(sources, options, overlay, progress or _no_progress, built_in or BuiltIn())
    with DeepRecursion():
        reader.configuration()
        if built_in is None and sources.options is not None:
            reader = _with_built_in_modules(reader, sources)
        if sources.options is not None:
            linked: dict[str, list[str]] = {}
            for path, directory in htaccess_files(
                reader.tree,
                reader.progress,
                reader.local_path,
                f"{reader.tree.text_root.rstrip('/')}/htdocs",
                reader.overlay.searched,
                linked,
            ):
                reader.read_standalone(reader.tree.disk.openable(path), Role.HTACCESS, directory)
            for path, directories in linked.items():
                reader.add_directories(reader.tree.disk.openable(path), directories)
        for path in sources.fragments:
            role = Role.HTACCESS if is_htaccess(path) else Role.FRAGMENT
            reader.read_standalone(path, role, path.rpartition("/")[0] if role is Role.HTACCESS else "")
    reader.finish()
    tree = reader.tree

    def reparse(files: Mapping[str, bytes], previous: ConfigTree) -> ConfigTree:
        resolved = reader.overlay.resolved
        contents = {
            name: data for path, data in files.items() for name in (path, reader.overlay.real_path(path))
        }
        checked = {file.document: file for file in previous.files.values()}
        names = _by_names(previous, reader.overlay)
        overlay = Overlay(contents, names, resolved, checked, reader.overlay.searched)
        reread = read_config_tree(
            sources, options, overlay=overlay, progress=progress, built_in=tree.built_in
        )
        reread.cache["persistent"] = previous.cache.get("persistent", {})
        reread.report_progress = previous.report_progress
        reread.is_judged = previous.is_judged
        return reread

    tree.reparse = reparse
    return tree


def _lone_files(
    tree: ConfigTree,
    paths: tuple[str, ...],
    options: UpgradeOptions,
    progress: Progress | None,
    overlay: Overlay,
) -> ConfigTree | None:
    """Return those of *paths* that the server *tree* does not read, as a tree of fragments; None for none.

    What they hold is no part of the server: no finding about the server depends on it. *overlay*: that of
    *tree*.
    """
    read = {*tree.files, *map(overlay.real_path, tree.files)}
    lone = tuple(path for path in paths if path not in read and real_path(path) not in read)
    if not lone:
        return None
    sources = Sources(fragments=lone, environment=tree.environment, server_modules=tuple(tree.modules))
    return read_config_tree(sources, options, progress=progress)


def _by_names(tree: ConfigTree, overlay: Overlay) -> dict[str, Document]:
    """Return the documents of *tree* by path and by real path."""
    return {
        name: file.document for path, file in tree.files.items() for name in (path, overlay.real_path(path))
    }


def _with_built_in_modules(reading: ConfigTreeReader, sources: Sources) -> ConfigTreeReader:
    """Return a reading that knows the modules in the 2.2 binary.

    They decide about branches, so the configuration is read again if there are any.
    """
    built_in = built_in_modules(reading.tree, sources.built_in)
    if not built_in.modules:
        reading.tree.built_in = built_in
        return reading
    parsed = {**reading.overlay.parsed, **_by_names(reading.tree, reading.overlay)}
    reading = ConfigTreeReader(
        sources,
        reading.tree.options,
        Overlay(reading.overlay.contents, parsed, reading.overlay.resolved),
        reading.progress,
        built_in,
    )
    reading.configuration()
    return reading


UNKNOWN: Final = (
    "modules, other files and the sections around it are unknown (-f MAIN or --whole reads a whole server)"
)


def described(tree: ConfigTree, *, is_upgraded: bool = False) -> tuple[str, ...]:
    """Return the lines of text that describe the input. *is_upgraded*: without what an upgrade of a server
    settles.
    """
    first = next(iter(tree.files), "")
    lone = [file for file in tree.files.values() if file.role is Role.FRAGMENT]
    count = len(tree.files) - (len(lone) if tree.context is InputContext.SERVER else 0)
    more = f" and {count_noun(count - 1, 'more file')}" if count > 1 else ""
    if tree.context is not InputContext.SERVER:
        return (f"input: {tree.context.value}: {first}{more}; {UNKNOWN}",)
    image = tree.disk.image
    names = f"; names of files begin at {image}" if image else ""
    lines = [f"input: {tree.context.value}: {first}{more}{names}"]
    if tree.built_in.origin != OF_24:
        lines.append(f"modules compiled into the 2.2 server: {tree.built_in.text}")
    if lone:
        others = f" and {len(lone) - 1} more" if len(lone) > 1 else ""
        lines.append(f"input: {InputContext.FRAGMENT.value}: {lone[0].path}{others}; no Include reads it")
    if not is_upgraded:
        lines.append(access_compat_sentence(tree))
    return tuple(filter(None, lines))


def is_htaccess(path: str) -> bool:
    return path.rpartition("/")[2].lstrip("._-").lower().startswith("htaccess")


def _no_progress(_path: str) -> None:
    return None


class ConfigTreeReader:
    """The reader of one configuration tree.

    *stack* holds the real paths of the files that are being read. A file that is included twice has one
    `SourceFile`, and one statement for each inclusion.
    """

    def __init__(
        self,
        sources: Sources,
        upgrade_options: UpgradeOptions,
        overlay: Overlay,
        progress: Progress,
        built_in: BuiltIn,
    ) -> None:
        options = sources.options
        self.options = options
        self.overlay = overlay
        self.progress = progress
        self.is_relocated = sources.is_relocated or (options is not None and options.is_copy)
        self.root = options.server_root if options is not None else ""
        self.tree = ConfigTree(upgrade_options, self.root)
        self.tree.context = sources.context
        self.tree.server_modules = sources.server_modules
        self.tree.built_in = built_in
        self.tree.undecided = [item_of(part) for part in options.undecided] if options is not None else []
        self.tree.defines = set(options.defines) if options is not None else set()
        self.tree.environment = options.environment if options is not None else sources.environment
        if options is not None:
            self.tree.service_files = options.service_files
            self.tree.generated = options.generated
        self.branches = Branches(
            self.tree.defines, is_complete=options is not None, built_in=built_in.modules
        )
        self.stack: list[str] = []
        self._budget = ReadBudget(MAX_STATEMENTS)
        self._is_cut = False
        self._is_full = False
        self.copied = CopiedPaths(self.root, options.copied if options is not None else ())
        if self.is_relocated:
            self.tree.disk = self.copied
        overlay.searched.disk = self.tree.disk
        self._files: dict[str, SourceFile] = {}
        self._variables: dict[str, str] = {}
        self._known = variables({}, self.tree.environment)
        self._names: dict[str, str] = {}
        self._section_names: dict[str, str] = {}

    def _lookup_variable(self, name: str) -> str | None:
        """Return the value of a variable; None for all once they make too much text."""
        return self._charged(self._known(name))

    def _charged(self, value: str | None) -> str | None:
        try:
            self._budget.charge(len(value or ""))
        except ConfigError:
            self._is_cut = True
            return None
        return value

    # whole files ---------------------------------------------------------------------------------
    def configuration(self) -> None:
        """Read the -C lines, the configuration file and the -c lines."""
        if self.options is None:
            return
        self._command_line(self.options.before)
        path = root_relative(self.root, self.options.file)
        self.tree.statements += self._read_file(path, Role.MAIN, None, None, (True, True))
        self._command_line(self.options.after)

    def _command_line(self, lines: tuple[str, ...]) -> None:
        if lines:
            file = SourceFile(COMMAND_LINE, parse(to_bytes("\n".join(lines) + "\n"), V22_LINES))
            self.tree.statements += self._block(file.document.children, file, None, None, (True, True))

    def read_standalone(self, path: str, role: Role, directory: str = "") -> None:
        """Read a file that no Include names.

        The surroundings of a fragment are unknown, and so is whether it is read.
        """
        if self.overlay.real_path(path) in self._files:
            if role is Role.HTACCESS:
                self.add_directories(path, [directory])
            return
        self._read_file(path, role, None, None, (True, True), directory)

    def add_directories(self, path: str, directories: list[str]) -> None:
        """Add further *directories* in which a .htaccess file that was read applies."""
        file = self._files.get(self.overlay.real_path(path))
        if file is not None and file.role is Role.HTACCESS:
            others = (one for one in directories if one != file.directory)
            file.linked = tuple(dict.fromkeys((*file.linked, *others)))

    def finish(self) -> None:
        """Complete the data that need all statements: the modules."""
        self.tree.modules = list(self.branches.modules_22.loaded)
        self.tree.modules_24 = [
            name for name, certain in self.branches.modules_24.loaded.items() if certain is not None
        ]

    def _read_file(
        self,
        path: str,
        role: Role,
        parent: Statement | None,
        via: SourceLocation | None,
        live: tuple[Maybe, Maybe],
        directory: str = "",
    ) -> list[Statement]:
        """Return the statements of one file for one inclusion; read errors are recorded at *via*, the Include
        line."""
        if self._is_full:
            return []
        key = self.overlay.real_path(path)
        if key in self.stack or len(self.stack) >= MAX_DEPTH:
            what = (
                f"{path} includes itself"
                if key in self.stack
                else f"more than {MAX_DEPTH} files include each other"
            )
            self._record_error(via or SourceLocation(path, 0), f"{what}: not followed")
            if path.endswith(MODULE_FILES):
                self._leave_modules_open(via or SourceLocation(path, 0))
            return []
        try:
            file = self._files.get(key) or self.tree.files.get(path) or self._open(key, path, role, directory)
        except OSError as problem:
            self._record_error(
                via or SourceLocation(path, 0),
                f"{path} cannot be read: {error_text(problem)}",
                kind=UnknownKind.MISSING,
            )
            return []
        try:
            self._budget.charge_file(file.document.bytes)
        except ConfigError as problem:
            self._is_full = True
            if not self._is_cut:
                self._is_cut = True
                self._record_error(
                    via or SourceLocation(path, 0),
                    f"{problem.reason}: the rest is not read",
                    kind=UnknownKind.LEFT_OUT,
                )
            return []
        if file.foreign:
            target = self._link_target(file)
            if not target:
                if path.endswith(MODULE_FILES):
                    self._leave_modules_open(via or SourceLocation(path, 1))
                return []
            self.stack.append(key)
            statements = self._read_file(target, role, parent, via, live, directory)
            self.stack.pop()
            return statements
        self.stack.append(key)
        statements = self._block(file.document.children, file, parent, via, live)
        self.stack.pop()
        file.statements += statements
        return statements

    def _link_target(self, file: SourceFile) -> str:
        """Return the file of the tree that *file*, the text of a symbolic link, stands for; "" for none."""
        if self.options is None or not any(fault.kind is FaultKind.LINK for fault in file.faults):
            return ""
        target = os.path.normpath(
            os.path.join(os.path.dirname(file.path), to_text(file.document.bytes).strip())
        )
        is_inside = target.startswith(f"{self.root.rstrip('/')}/")
        return target if is_inside and os.path.isfile(to_bytes(target)) else ""

    def _leave_modules_open(self, place: SourceLocation) -> None:
        self.tree.modules_unread = self.tree.modules_unread or place
        self.branches.leave_open()

    def _open(self, key: str, path: str, role: Role, directory: str) -> SourceFile:
        self.progress(path)
        file = SourceFile(path, self.overlay.read(path), role, directory)
        self._files[key] = file
        self.tree.files[path] = file
        self._check_text(file)
        return file

    def _check_text(self, file: SourceFile) -> None:
        """Record the faults of the file: a fault of the whole text leaves no statements, and others keep its
        text as it is.
        """
        data = file.document.bytes
        checked = self.overlay.checked.get(file.document)
        file.faults = text_faults(data, file.document) if checked is None else checked.faults
        file.foreign = any(fault.kind.is_unreadable for fault in file.faults)
        for fault in file.faults:
            if fault.kind is not FaultKind.MISSPELLED:  # where 2.4 loads the result, it is a finding of that
                target = self._link_target(file)
                followed = f"{target.removeprefix(self.root).lstrip('/')} was read in its place"
                place = SourceLocation(file.path, fault.line)
                self._record_error(
                    place, fault.reason, advice=fault.advice, consequence=followed if target else NOT_CHECKED
                )
        if not file.foreign:
            file.template_lines = tuple(marked_lines(data)) if checked is None else checked.template_lines
        marks = file.template_lines
        if marks:
            self._record_error(
                SourceLocation(file.path, marks[0]),
                (
                    f"template marks in {count_noun(len(marks), 'line')}, of which this is the "
                    "first: their values are unknown"
                ),
                advice=TEMPLATE_ADVICE,
            )

    def _record_error(
        self,
        place: SourceLocation,
        reason: str,
        *,
        kind: UnknownKind = UnknownKind.NOT_READ,
        advice: str = "",
        consequence: str = NOT_CHECKED,
    ) -> None:
        matters = consequence == NOT_CHECKED
        self.tree.unread.append(UnknownItem(kind, place, reason, consequence, advice, matters=matters))

    # statements ----------------------------------------------------------------------------------
    def _block(
        self,
        nodes: list[Node],
        file: SourceFile,
        parent: Statement | None,
        via: SourceLocation | None,
        live: tuple[Maybe, Maybe],
    ) -> list[Statement]:
        """Return the statements of *nodes*, each executed as far as reading requires."""
        statements: list[Statement] = []
        add = statements.append
        index = self.tree.add
        names = self._names
        live_22, live_24 = live
        # errors of a file are recorded once, however often it is included
        first = len(file.statements) == 0
        for node in nodes:
            kind = type(node)
            if kind is Directive:
                assert isinstance(node, Directive)
                name = names.get(node.name) or names.setdefault(node.name, _lower(node.name))
                args = node.args
                if "${" in args:
                    args = expand(args, self._lookup_variable)
                if file.is_template and TEMPLATE_LINE.match(name):
                    continue
                statement = Statement(file, node, name, args, parent, [], via, live_22, live_24)
                add(statement)
                index(statement)
                action = _ACTIONS.get(name)
                if action is not None:
                    action(self, statement)
            elif kind is Section:
                assert isinstance(node, Section)
                statements += self._section(node, file, parent, via, live, first)
            elif kind is Malformed and first:
                assert isinstance(node, Malformed)
                self._record_malformed(node, file)
        return statements

    def _record_malformed(self, node: Malformed, file: SourceFile) -> None:
        if file.is_template and TEMPLATE.search(to_text(file.document.source(node))):
            return
        self.tree.malformed.append((file, node))

    def _section(
        self,
        node: Section,
        file: SourceFile,
        parent: Statement | None,
        via: SourceLocation | None,
        live: tuple[Maybe, Maybe],
        first: bool,
    ) -> list[Statement]:
        """Read a section with its contents; a section made of template marks has no contents, and the lines
        after it belong to its parent."""
        if file.is_template and node.name[:1] == "%":
            return self._block(node.children, file, parent, via, live)
        name = self._section_names.get(node.name) or self._section_names.setdefault(
            node.name, "<" + _lower(node.name)
        )
        args, bracket, _behind = node.args.rpartition(">")
        if "${" in args:
            args = expand(args, self._lookup_variable)
        statement = Statement(file, node, name, args if bracket else node.args, parent, [], via, *live)
        self.tree.add(statement)
        if first and not bracket:
            self._record_error(statement.place, f"<{node.name} without its closing '>'")
        if name in FOREIGN:
            if first:
                self._record_error(statement.place, f"a <{node.name}> section: its contents are not checked")
            return [statement]
        taken = self.branches.taken(name, statement.args)
        statement.taken = taken
        inside = maybe_and(live[0], taken[0]), maybe_and(live[1], taken[1])
        statement.children = self._block(node.children, file, statement, via, inside)
        return [statement]

    # directives of reading -----------------------------------------------------------------------
    def load_module(self, line: Statement) -> None:
        """Execute LoadModule for each version that has the module."""
        words = line.words()
        if len(words) == 2:
            self.branches.modules_22.load(words[0], words[1], line.in_22)
            self.branches.modules_24.load(words[0], words[1], line.in_24)

    def define(self, line: Statement) -> None:
        """Execute Define, which 2.2 refuses; its variables occur in paths of files."""
        words = line.words()
        if words and line.in_24 is not False:
            self.branches.defines_24.add(words[0])
            self._variables[words[0].lower()] = words[1] if len(words) > 1 else ""

    def server_root(self, line: Statement) -> None:
        """Set the base of relative paths; a directory that does not exist changes nothing."""
        path = getword(line.args)[0]
        if line.in_22 is False or not path or self.options is None:
            return
        if self.is_relocated:
            self.copied.declare_root(path.rstrip("/\\"))
        elif is_directory(root_relative("/", path)):
            self.root = root_relative("/", path)
            self.tree.root = self.root
        else:
            self._record_error(
                line.place,
                f"ServerRoot {path} is no directory here: relative paths are resolved against {self.root}",
                kind=UnknownKind.MISSING,
            )

    def include(self, line: Statement) -> None:
        """Execute Include and IncludeOptional: the statements of the files become children of the line."""
        if line.in_22 is False and line.in_24 is False:
            return
        argument = getword(line.args)[0]
        if "${" in argument:
            argument = expand(argument, lambda name: self._charged(self._variables.get(name.lower())))
        if not argument or (line.file.is_template and TEMPLATE.search(argument)):
            return
        if not self.root and argument[:1] != "/":
            self._record_error(
                line.place,
                f"{line.node.name} {argument}: without a server root its files cannot be found",
                kind=UnknownKind.LEFT_OUT,
            )
            return
        if self.options is None:
            self._record_error(
                line.place,
                f"{line.node.name} {argument}: the input is a fragment, "
                "so the files that it includes were not read",
                kind=UnknownKind.LEFT_OUT,
            )
            return
        optional = line.name == "includeoptional"
        path = self.local_path(argument if is_windows_path(argument) else root_relative(self.root, argument))
        if not path:
            self._record_error(
                line.place,
                f"{argument} is outside of {self.root}, which was read in place of "
                f"{self.copied.declared_root}",
                kind=UnknownKind.LEFT_OUT,
            )
            return
        self.tree.include_patterns.append(path)
        included = []
        problem_text = f"no file of {argument} is here"
        try:
            for file in self._included_files(path, optional, has_wildcards(path)):
                included.append(file)
                if optional and not os.path.exists(to_bytes(file)):
                    continue
                line.children += self._read_file(
                    file, line.file.role, line, line.place, (line.in_22, line.in_24)
                )
        except ConfigError as problem:
            problem_text = problem.reason
            if included or not path.endswith(MODULE_FILES):
                self._record_error(line.place, problem_text, kind=UnknownKind.MISSING)
        line.included = tuple(included)
        if not included and path.endswith(MODULE_FILES):
            self._leave_modules_open(line.place)
            reason = f"{problem_text}: which modules are loaded is not known"
            self._record_error(line.place, reason, kind=UnknownKind.MISSING)

    def _included_files(self, path: str, optional: bool, wild: bool) -> Iterator[str]:
        """Yield the files of *path* by the rules of 2.2, or by those of 2.4 if 2.2 finds none."""
        newer = optional or (wild and has_wildcards(path.rpartition("/")[0]))
        return Finder(old=not newer, optional=newer, openable=self.tree.disk.openable).files(path)

    def local_path(self, path: str) -> str:
        """Return the location of *path* on this machine, "" if it is not there.

        A directory that stands for a ServerRoot elsewhere is a copy with its own files; other files of this
        machine are not part of it.
        """
        if is_windows_path(path):
            path, old_root = path.replace("\\", "/"), self.copied.declared_root.replace("\\", "/")
            inside = old_root and f"{path}/".lower().startswith(f"{old_root}/".lower())
            return self.root + path[len(old_root) :] if inside else ""
        return self.copied.place(path) if self.is_relocated else path


_ACTIONS: Final[dict[str, Callable[[ConfigTreeReader, Statement], None]]] = {
    "include": ConfigTreeReader.include,
    "includeoptional": ConfigTreeReader.include,
    "loadmodule": ConfigTreeReader.load_module,
    "define": ConfigTreeReader.define,
    "serverroot": ConfigTreeReader.server_root,
}


def _lower(name: str) -> str:
    """Return the name in lower case; only ASCII letters are folded."""
    return to_bytes(name).lower().decode("latin-1")
