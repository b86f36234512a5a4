"""Reading an estate: a configuration as httpd 2.2 reads it, a folder of files, or single files, and never an error on bad text.

What can't be read becomes an `Unread` of the estate, with its place, so that nobody takes silence for a clean bill of health.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from whimbrel.config.execute import is_directory, root_relative
from whimbrel.config.includes import MAX_DEPTH, Finder, error_text, has_wildcards, read_regular
from whimbrel.config.load import deep_recursion
from whimbrel.config.options import LoadOptions
from whimbrel.config.reader import COMMAND_LINE
from whimbrel.directives.words import expand, variables
from whimbrel.errors import ConfigError, Place
from whimbrel.octets import raw, text
from whimbrel.records import dataclass, field
from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import Broken, Directive, Document, Node, Section, parse
from whimbrel.syntax.words import getword
from whimbrel.upgrade.branches import Branches, Maybe, both
from whimbrel.upgrade.estate import BuiltIn, Estate, Role, SourceFile, Statement, Unread
from whimbrel.upgrade.foreign_text import is_foreign
from whimbrel.upgrade.model import InputContext, Wishes
from whimbrel.upgrade.templates import TEMPLATE, TEMPLATE_LINE, marked_lines

DEBIAN_ROOT: Final = "/etc/apache2"
"""The ServerRoot of Debian's apache2, whose main file names none."""
FOREIGN: Final = ("<perl", "<lua", "<luahook")
"""Sections in another language."""
BOM: Final = b"\xef\xbb\xbf"

Progress = Callable[[str], None]
"""Told the path of each file and folder that is about to be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is to be read: a configuration by httpd's own options, or files without one.

    *options* is None for files alone.  *fragments* are files whose surroundings are unknown, read after the
    configuration.  *moved*: where the text names another ServerRoot than *options*, that of *options* is a
    copy of it, and files outside of it are left alone.  *built_in* are the source files of the modules in the
    2.2 binary where somebody has listed them.
    """

    options: LoadOptions | None = None
    fragments: tuple[str, ...] = ()
    moved: bool = False
    built_in: frozenset[str] | None = None

    @property
    def context(self) -> InputContext:
        """What the input is; a file outside of a whole server is a fragment unless its name says
        .htaccess.
        """
        if self.options is not None:
            return InputContext.SERVER
        return (
            InputContext.HTACCESS
            if self.fragments and all(map(is_htaccess, self.fragments))
            else InputContext.FRAGMENT
        )


@dataclass(slots=True)
class Overlay:
    """Files as they would be after edits: contents by real path, looked at before the disk; *parsed* are trees of files that stay as they are."""

    contents: Mapping[str, bytes] = field(default_factory=dict)
    parsed: Mapping[str, Document] = field(default_factory=dict)

    def read(self, path: str) -> Document:
        """The tree of a regular file; raises OSError."""
        key = real(path)
        data, tree = self.contents.get(key), self.parsed.get(key)
        if tree is not None and (data is None or data == tree.bytes):
            return tree
        return parse(read_regular(path) if data is None else data, V22_LINES)


def is_windows_path(path: str) -> bool:
    """Return True if *path* begins with a drive letter."""
    return path[1:2] == ":" and path[2:3] in ("/", "\\") and path[:1].isalpha()


def real(path: str) -> str:
    """The path behind all symbolic links."""
    return text(os.path.realpath(raw(path)))


def read_estate(
    sources: Sources | LoadOptions,
    wishes: Wishes,
    *,
    overlay: Overlay | None = None,
    progress: Progress | None = None,
    built_in: BuiltIn | None = None,
) -> Estate:
    """Read everything that *sources* name, .htaccess files below the document roots included.  Never raises
    on what it finds.

    *built_in* is what an earlier reading of the same sources found out about the 2.2 binary.
    """
    from whimbrel.upgrade.htaccess import htaccess_files  # it needs the statements

    if isinstance(sources, LoadOptions):
        sources = Sources(options=sources)
    reading = Reading(sources, wishes, overlay or Overlay(), progress or _silent, built_in or BuiltIn())
    with deep_recursion():
        reading.configuration()
        if built_in is None and sources.options is not None:
            reading = _with_built_in_modules(reading, sources)
        if sources.options is not None:
            for path, folder in htaccess_files(reading.estate, reading.progress, reading.place):
                reading.alone(path, Role.HTACCESS, folder)
        for path in sources.fragments:
            role = Role.HTACCESS if is_htaccess(path) else Role.FRAGMENT
            reading.alone(path, role, path.rpartition("/")[0] if role is Role.HTACCESS else "")
    reading.finish()
    estate = reading.estate

    def again(files: Mapping[str, bytes], known: Estate) -> Estate:
        contents = {real(path): data for path, data in files.items()}
        parsed = {real(path): file.document for path, file in known.files.items()}
        found = read_estate(
            sources, wishes, overlay=Overlay(contents, parsed), progress=progress, built_in=estate.built_in
        )
        found.memo["told"] = known.memo.get("told", {})
        found.step = known.step
        return found

    estate.again = again
    return estate


def _with_built_in_modules(reading: Reading, sources: Sources) -> Reading:
    """The reading that knows the modules in the 2.2 binary, which decide about branches: the configuration is
    read again where there are any.
    """
    from whimbrel.upgrade.built_in_modules import built_in_modules  # it needs the statements

    found = built_in_modules(reading.estate, sources.built_in)
    if not found.modules:
        reading.estate.built_in = found
        return reading
    parsed = {
        **reading.overlay.parsed,
        **{real(path): file.document for path, file in reading.estate.files.items()},
    }
    reading = Reading(
        sources, reading.estate.wishes, Overlay(reading.overlay.contents, parsed), reading.progress, found
    )
    reading.configuration()
    return reading


UNKNOWN: Final = (
    "modules, other files and the sections around it are unknown (-f MAIN or --whole reads a whole server)"
)


def described(estate: Estate) -> tuple[str, ...]:
    """What the input was taken for, in lines of text."""
    first, count = next(iter(estate.files), ""), len(estate.files)
    more = f" and {count - 1} more file{'s' * (count > 2)}" if count > 1 else ""
    if estate.context is not InputContext.SERVER:
        return (f"input: {estate.context.value}: {first}{more}; {UNKNOWN}",)
    alone = [file for file in estate.files.values() if file.role is Role.FRAGMENT]
    lines = [
        f"input: {estate.context.value}: {first}{more}",
        f"modules in the 2.2 binary: {estate.built_in.text}",
    ]
    if alone:
        lines.append(
            f"input: {InputContext.FRAGMENT.value}: {alone[0].path}{f' and {len(alone) - 1} more' if len(alone) > 1 else ''}; no Include reads it"
        )
    return tuple(lines)


def is_htaccess(path: str) -> bool:
    return path.rpartition("/")[2].lstrip("._-").lower().startswith("htaccess")


def _silent(_path: str) -> None:
    return None


class Reading:
    """One estate on its way in.

    *stack* are the real paths of the files that are being read now.  Of a file that is included twice there is one `SourceFile`, and one statement
    for each inclusion.
    """

    def __init__(
        self, sources: Sources, wishes: Wishes, overlay: Overlay, progress: Progress, built_in: BuiltIn
    ) -> None:
        options = sources.options
        self.options, self.overlay, self.progress, self.moved = options, overlay, progress, sources.moved
        self.root = options.server_root if options is not None else ""
        self.estate = Estate(wishes, self.root)
        self.estate.context, self.estate.built_in = sources.context, built_in
        self.estate.defines = set(options.defines) if options is not None else set()
        self.branches = Branches(self.estate.defines, known=options is not None, built_in=built_in.modules)
        self.stack: list[str] = []
        self.old_root = ""
        self._files: dict[str, SourceFile] = {}
        self._variables: dict[str, str] = {}
        self._look_up = variables({}, options.environment if options is not None else {})
        self._names: dict[str, str] = {}
        self._section_names: dict[str, str] = {}

    # whole files ---------------------------------------------------------------------------------
    def configuration(self) -> None:
        """The -C lines, the configuration file, the -c lines."""
        if self.options is None:
            return
        self._command_line(self.options.before)
        path = root_relative(self.root, self.options.file)
        if self.moved and path.endswith("/apache2.conf"):
            self.old_root = DEBIAN_ROOT
        self.estate.statements += self._file(path, Role.MAIN, None, None, (True, True))
        self._command_line(self.options.after)

    def _command_line(self, lines: tuple[str, ...]) -> None:
        if lines:
            file = SourceFile(COMMAND_LINE, parse(raw("\n".join(lines) + "\n"), V22_LINES))
            self.estate.statements += self._block(file.document.children, file, None, None, (True, True))

    def alone(self, path: str, role: Role, folder: str = "") -> None:
        """A file that no Include names.  What surrounds a fragment is unknown, and so is whether it is read at all."""
        if real(path) in self._files:
            return
        live: tuple[Maybe, Maybe] = (None, None) if self.options is not None and role is Role.FRAGMENT else (True, True)
        self._file(path, role, None, None, live, folder)

    def finish(self) -> None:
        """What is known only at the end: the modules."""
        self.estate.modules = list(self.branches.old.loaded)
        self.estate.new_modules = [name for name, certain in self.branches.new.loaded.items() if certain is not None]

    def _file(self, path: str, role: Role, parent: Statement | None, via: Place | None, live: tuple[Maybe, Maybe], folder: str = "",
              ) -> list[Statement]:
        """The statements of one file, for one inclusion; what can't be read is noted at *via*, the Include line."""
        key = real(path)
        if key in self.stack or len(self.stack) >= MAX_DEPTH:
            what = f"{path} includes itself" if key in self.stack else f"more than {MAX_DEPTH} files include each other"
            self._unread(via or Place(path, 0), f"{what}: not followed")
            return []
        try:
            file = self._files.get(key) or self._opened(key, path, role, folder)
        except OSError as problem:
            self._unread(via or Place(path, 0), f"{path} can't be read: {error_text(problem)}", includes=True)
            return []
        if file.foreign:
            return []
        self.stack.append(key)
        found = self._block(file.document.children, file, parent, via, live)
        self.stack.pop()
        file.statements += found
        return found

    def _opened(self, key: str, path: str, role: Role, folder: str) -> SourceFile:
        self.progress(path)
        file = self._files[key] = SourceFile(path, self.overlay.read(path), role, folder)
        self.estate.files[path] = file
        self._look_over(file, file.document.bytes)
        return file

    def _look_over(self, file: SourceFile, data: bytes) -> None:
        """Note what is wrong with a file as a whole."""
        if data.startswith(BOM):
            self._unread(Place(file.path, 1), "the file begins with a byte order mark, which httpd takes as part of the first name")
        at = data.find(b"\0")
        if at >= 0:
            number = data.count(b"\n", 0, at) + 1
            many = data.count(b"\0")
            self._unread(Place(file.path, number), f"a NUL byte ({many} in this file): httpd doesn't see what follows it in its line")
        marks = marked_lines(data)
        if not marks and file.role is not Role.MAIN and is_foreign(file.document):
            file.foreign = True
            self._unread(
                Place(file.path, 1),
                "this text is no configuration of httpd: hardly a line begins with a directive",
            )
        if marks:
            file.template = True
            self._unread(Place(file.path, marks[0]), f"marks of a template in {len(marks)} line{'s' * (len(marks) > 1)}, of which this is the first: "
                         "what will stand there is unknown")

    def _unread(self, place: Place, reason: str, *, includes: bool = False) -> None:
        self.estate.unread.append(Unread(place, reason))
        self.estate.is_partial = self.estate.is_partial or includes

    # statements ----------------------------------------------------------------------------------
    def _block(self, nodes: list[Node], file: SourceFile, parent: Statement | None, via: Place | None, live: tuple[Maybe, Maybe],
               ) -> list[Statement]:
        """The statements of *nodes*, each executed as far as reading needs."""
        found: list[Statement] = []
        add, index, names = found.append, self.estate.add, self._names
        old, new = live
        first = len(file.statements) == 0  # what is wrong with a file is told once, however often it is included
        for node in nodes:
            kind = type(node)
            if kind is Directive:
                assert isinstance(node, Directive)
                name = names.get(node.name) or names.setdefault(node.name, _lower(node.name))
                args = node.args
                if "${" in args:
                    args = expand(args, self._look_up)
                if file.template and TEMPLATE_LINE.match(name):
                    continue
                statement = Statement(file, node, name, args, parent, [], via, old, new)
                add(statement)
                index(statement)
                action = _ACTIONS.get(name)
                if action is not None:
                    action(self, statement)
            elif kind is Section:
                assert isinstance(node, Section)
                found += self._section(node, file, parent, via, live, first)
            elif kind is Broken and first:
                assert isinstance(node, Broken)
                self._broken(node, file)
        return found

    def _broken(self, node: Broken, file: SourceFile) -> None:
        if file.template and TEMPLATE.search(text(file.document.source(node))):
            return
        self.estate.broken.append((file, node))
        self._unread(Place(file.path, node.number), node.reason)

    def _section(self, node: Section, file: SourceFile, parent: Statement | None, via: Place | None, live: tuple[Maybe, Maybe], first: bool,
                 ) -> list[Statement]:
        """A section with what it holds; the marks of a template hold nothing, what follows them belongs to where they stand."""
        if file.template and node.name[:1] == "%":
            return self._block(node.children, file, parent, via, live)
        name = self._section_names.get(node.name) or self._section_names.setdefault(node.name, "<" + _lower(node.name))
        args, bracket, _behind = node.args.rpartition(">")
        if "${" in args:
            args = expand(args, self._look_up)
        statement = Statement(file, node, name, args if bracket else node.args, parent, [], via, *live)
        self.estate.add(statement)
        if first and not bracket:
            self._unread(statement.place, f"<{node.name} without its closing '>'")
        if first and node.close is None:
            self._unread(statement.place, f"<{node.name}> is not closed")
        if name in FOREIGN:
            if first:
                self._unread(statement.place, f"a <{node.name}> section: what it configures is not looked at")
            return [statement]
        statement.taken = taken = self.branches.taken(name, statement.args)
        inside = both(live[0], taken[0]), both(live[1], taken[1])
        statement.children = self._block(node.children, file, statement, via, inside)
        return [statement]

    # directives of reading -----------------------------------------------------------------------
    def load_module(self, line: Statement) -> None:
        """LoadModule, for each version that has the module."""
        words = line.words()
        if len(words) == 2:
            self.branches.old.load(words[0], words[1], line.in_22)
            self.branches.new.load(words[0], words[1], line.in_24)

    def define(self, line: Statement) -> None:
        """Define is of 2.4, where 2.2 refuses it; its variables help to find files."""
        words = line.words()
        if words and line.in_24 is not False:
            self.branches.new_defines.add(words[0])
            self._variables[words[0].lower()] = words[1] if len(words) > 1 else ""

    def server_root(self, line: Statement) -> None:
        """Where relative paths begin from here on; a folder that isn't here changes nothing."""
        path = getword(line.args)[0]
        if line.in_22 is False or not path or self.options is None:
            return
        if self.moved:
            self.old_root = path.rstrip("/\\")
        elif is_directory(root_relative("/", path)):
            self.root = self.estate.root = root_relative("/", path)
        else:
            self._unread(line.place, f"ServerRoot {path} is no folder here: relative paths are taken from {self.root}")

    def include(self, line: Statement) -> None:
        """Include and IncludeOptional: the files hang below the line."""
        if line.in_22 is False and line.in_24 is False:
            return
        argument = getword(line.args)[0]
        if "${" in argument:
            argument = expand(argument, lambda name: self._variables.get(name.lower()))
        if not argument or (line.file.template and TEMPLATE.search(argument)):
            return
        if not self.root and argument[:1] != "/":
            self._unread(
                line.place,
                f"{line.node.name} {argument}: without a server root its files can't be found",
                includes=True,
            )
            return
        if self.options is None:
            self._unread(
                line.place,
                f"{line.node.name} {argument}: the input is a fragment, so the files that it includes were not read",
                includes=True,
            )
            return
        optional = line.name == "includeoptional"
        path = self.place(argument if is_windows_path(argument) else root_relative(self.root, argument))
        if not path:
            self._unread(
                line.place,
                f"{argument} lies outside of {self.root}, which was read in the place of {self.old_root}",
                includes=True,
            )
            return
        self.estate.include_patterns.append(path)
        included = []
        try:
            for file in self._named(path, optional, has_wildcards(path)):
                included.append(file)
                if optional and not os.path.exists(raw(file)):
                    continue
                line.children += self._file(file, line.file.role, line, line.place, (line.in_22, line.in_24))
        except ConfigError as problem:
            self._unread(line.place, problem.reason, includes=True)
        line.included = tuple(included)

    def _named(self, path: str, optional: bool, wild: bool) -> Iterator[str]:
        """The files of *path* by the rules of 2.2, or of 2.4 where 2.2 has none for it."""
        newer = optional or (wild and has_wildcards(path.rpartition("/")[0]))
        return Finder(old=not newer, optional=newer).files(path)

    def place(self, path: str) -> str:
        """Where *path* is found on this machine, "" for nowhere.

        A folder that stands for a ServerRoot elsewhere is a copy: it has its own files, and this machine's have nothing to do with it.
        """
        if is_windows_path(path):
            path, old_root = path.replace("\\", "/"), self.old_root.replace("\\", "/")
            inside = old_root and f"{path}/".lower().startswith(f"{old_root}/".lower())
            return self.root + path[len(old_root):] if inside else ""
        if not self.moved or self.old_root in ("", self.root):
            return path
        if f"{path}/".startswith(f"{self.old_root}/"):
            return self.root + path[len(self.old_root):]
        return path if f"{path}/".startswith(f"{self.root}/") else ""


_ACTIONS: Final[dict[str, Callable[[Reading, Statement], None]]] = {
    "include": Reading.include, "includeoptional": Reading.include, "loadmodule": Reading.load_module, "define": Reading.define,
    "serverroot": Reading.server_root,
}


def _lower(name: str) -> str:
    """Names agree in any case of the letters of ASCII."""
    return raw(name).lower().decode("latin-1")
