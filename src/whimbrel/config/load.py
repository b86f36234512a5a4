"""Reading a whole configuration, in httpd's order: modules that are built in, -C lines, the file, -c lines,
execution, virtual hosts, checks.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from whimbrel.base.builds import WINDOWS, Build
from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError, NoMpm, SourceLocation, StartError
from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes
from whimbrel.catalogue.load import Catalogue, ModuleEntry, catalogue
from whimbrel.config.configuration import Configuration
from whimbrel.config.detected_build import BuildRefuted, check_presumption, presumed_build
from whimbrel.config.execute import CommandContext, root_relative
from whimbrel.config.includes import Includer
from whimbrel.config.loaded import known_in
from whimbrel.config.model import Section
from whimbrel.config.options import LoadOptions
from whimbrel.config.reader import COMMAND_LINE, ConfigSource, Reader, reading
from whimbrel.config.server_name import name_main_server
from whimbrel.config.unimplemented import make_checker, warn_before
from whimbrel.config.vhosts import VirtualHostTable
from whimbrel.directives.command import Command
from whimbrel.registry.module import Module


def set_ignored_modules(command: Command, _none: None, words: list[str]) -> None:
    """Execute WhimbrelIgnoreModule."""
    from whimbrel.config.third_party_lines import ignore_modules  # few configurations have such lines

    ignore_modules(reading(command).configuration, words)


OWN = Module(
    name="whimbrel_module",
    source="whimbrel.c",
    setters={"WhimbrelIgnoreModule": set_ignored_modules},
)
"""What httpd does not have; <IfModule whimbrel.c> hides it from httpd. No list of modules contains it."""


def load(options: LoadOptions, modules: Mapping[str, Module], dialect: Dialect) -> Configuration:
    """Read, execute and complete a configuration; raises ConfigError or StartError with what httpd would
    print.

    A caller that wants the messages printed before an error calls `read_as_its_build` and `complete` itself.
    """
    return complete(read_as_its_build(options, modules, dialect))


def read_as_its_build(
    options: LoadOptions,
    modules: Mapping[str, Module],
    dialect: Dialect,
    begin: Callable[[Configuration], None] | None = None,
) -> Configuration:
    """Return the configuration after reading; raises ConfigError or StartError.

    *begin* takes each new configuration before it is read. There are two if a line refutes the build that
    the main file showed.
    """
    build = presumed_build(options, dialect)
    if options.is_elsewhere:
        from whimbrel.config.windows import build_of_root  # a server that runs here is on no Windows

        build = build_of_root(options, build)
    while True:
        configuration = new_configuration(options, modules, dialect, build)
        if begin is not None:
            begin(configuration)
        try:
            return read(configuration)
        except BuildRefuted as refuted:
            build = refuted.build


def new_configuration(
    options: LoadOptions, modules: Mapping[str, Module], dialect: Dialect, build: Build | None = None
) -> Configuration:
    """Return a configuration with the modules that its build has compiled in."""
    configuration = Configuration(options, dialect, modules, build or presumed_build(options, dialect))
    known = catalogue_of(dialect)
    rows = [*built_in_modules(configuration.build, known, modules)]
    if options.compiled_in and dialect.version < (2, 4):
        more = options.compiled_in.difference(row.source for row in rows)
        rows += [row for row in known.modules if row.source in more]
    configuration.built_in = frozenset([row.source for row in rows])
    for row in rows:
        add_module(configuration, row)
    if configuration.build.name == WINDOWS:
        from whimbrel.config.windows import add_mpm

        add_mpm(configuration)
    own = known.module_rows(OWN.source)
    configuration.modules.add(OWN, own, partial(make_checker, version=known.version), is_listed=False)
    return configuration


def built_in_modules(
    build: Build, known: Catalogue, available: Mapping[str, Module]
) -> Sequence[ModuleEntry]:
    """Return the compiled-in modules of *build* in the order of -l; a build of all modules has one MPM."""
    static = known.static_modules
    if not build.sources:
        others = (row for row in known.modules if not row.is_static and row.file in available)
        return [*static, *(row for row in others if row.kind != "mpm" or row.file == "mod_mpm_event")]
    if build.sources == tuple(row.source for row in static):
        return static
    by_source = {row.source: row for row in known.modules}
    return [by_source[source] for source in build.sources]


def catalogue_of(dialect: Dialect) -> Catalogue:
    return catalogue("2.2" if dialect.version < (2, 4) else "2.4")


def add_module(configuration: Configuration, row: ModuleEntry) -> None:
    """Load the module of *row*, with the setters of its file where there is one."""
    module = configuration.available.get(row.file)
    if module is None or not known_in(module.versions, configuration.version):
        module = Module(name=row.identifier, source=row.source)
    rows = catalogue_of(configuration.dialect).module_rows(row.source)
    configuration.modules.add(module, rows, partial(make_checker, version=row.version))


def load_module(configuration: Configuration, name: str, path: str, place: SourceLocation) -> None:
    """LoadModule at *place*: raise ConfigError with the messages of mod_so and of the dynamic linker.

    A third-party module without behaviour is recorded.
    """
    old = not configuration.dialect.messages_24
    absolute = configuration.disk.on_disk(root_relative(configuration.root, path))
    if any(name == known for known, _module in configuration.loaded_by_directive):
        configuration.warn(f"module {name} is already loaded, skipping", code="AH01574", module="so")
        return
    if configuration.options.is_elsewhere:
        from whimbrel.config.windows import check_library

        check_library(configuration, path)
    check_presumption(configuration, name, path)
    if _built_in(configuration, name):
        return
    configuration.module_files[place] = path
    shown = absolute if old else path
    base = path.rpartition("/")[2].removesuffix(".so")
    row = catalogue_of(configuration.dialect).module_of_file(base) if path.endswith(".so") else None
    if row is None or row.source in configuration.built_in:
        tried = absolute if old or "/" in path else path
        fault = no_library(absolute if tried == absolute else "") or _why_no_module(configuration, base)
        wrong = f"{tried}: {fault}"
        if configuration.build.name == WINDOWS:
            from whimbrel.config.windows import NOT_FOUND as wrong
        _cannot_load(configuration, name, path, f"Cannot load {shown} into server: {wrong}", place)
        return
    if row.needs and row.needs not in configuration.modules:
        raise ConfigError(f"Cannot load {shown} into server: {absolute}: undefined symbol: {row.symbol}")
    if row.identifier != name:
        raise ConfigError(
            f"Can't locate API module structure `{name}' in file {absolute}: {absolute}: undefined symbol: "
            f"{name}"
        )
    add_module(configuration, row)
    if row.kind == "foreign":
        configuration.foreign_libraries[place] = path
        from whimbrel.catalogue.third_party import module_of_file

        third_party = module_of_file(base)
        configuration.modules.names.update(third_party.sources if third_party is not None else ())
    configuration.loaded_by_directive.append((name, configuration.modules.modules[-1]))
    configuration.module_places[name] = place
    if configuration.options.verbose:
        text = (
            f"mod_so.c(246): loaded module {name}"
            if old
            else f"mod_so.c(266): AH01575: loaded module {name} from {absolute}"
        )
        configuration.warn(text, level="debug", module="so")


def _cannot_load(
    configuration: Configuration, name: str, path: str, text: str, place: SourceLocation
) -> None:
    """Raise the error for a library that is no module of this version, or record a third-party module.

    A third-party module counts as loaded: where the server runs elsewhere it is missing, otherwise the start
    is refused when all is read.
    """
    base = path.rpartition("/")[2].removesuffix(".so")
    if any(catalogue(version).module_of_file(base) for version in ("2.2", "2.4")):
        raise ConfigError(text)
    from whimbrel.config.third_party_lines import add_module as add_third_party

    configuration.foreign_modules.add(name)
    configuration.foreign_libraries[place] = path
    problem = add_third_party(configuration, name, path, text, place)
    if configuration.options.is_elsewhere:
        raise problem


NO_MODULE = "a library that is no module of httpd's own, for which there is nothing here"


def _why_no_module(configuration: Configuration, base: str) -> str:
    """Return why the file *base*, without ``.so``, is no module of this version."""
    version, other = ("2.2", "2.4") if configuration.dialect.version < (2, 4) else ("2.4", "2.2")
    if _is_own(version, base):
        return f"a module that httpd {version} has compiled in, and not as a file"
    if _is_own(other, base):
        return f"a module of httpd {other}, which {version} does not have"
    return NO_MODULE


def _is_own(version: str, base: str) -> bool:
    """Return True if the file *base* is named as a module of httpd *version*."""
    row = catalogue(version).module_of_file(base)
    return row is not None and row.kind != "foreign"


def no_library(path: str) -> str:
    """Return the dynamic linker's message for a file that is no library, else ""; a name without directory
    (*path* is "") is searched elsewhere.
    """
    try:
        head = read_start(to_bytes(path), 64)
    except IsADirectoryError:
        return "cannot read file data: Is a directory"
    except OSError as problem:
        return f"cannot open shared object file: {os.strerror(problem.errno or 0)}"
    if len(head) < 64:
        return "file too short"
    if head.startswith(b"\x7fELF"):
        return ""
    return "invalid ELF header"


def _built_in(configuration: Configuration, name: str) -> bool:
    """Return True if *name* is compiled in, and the build accepts LoadModule all the same; raises ConfigError
    if it does not. As in httpd, the name of the source file decides: core.c and event.c are no match.
    """
    if f"mod_{name.removesuffix('_module')}.c" not in configuration.built_in:
        return False
    if name == "so_module" or not configuration.build.loads_built_in:
        raise ConfigError(f"module {name} is built-in and can't be loaded")
    if configuration.build.is_detected:
        configuration.warn(f"module {name} is already loaded, skipping", code="AH01574", module="so")
    return True


# reading -----------------------------------------------------------------------------------------
def read(configuration: Configuration) -> Configuration:
    """Build the tree: the -C lines, the configuration file, the -c lines."""
    options = configuration.options
    state = CommandContext(configuration, configuration.main, configuration.main.defaults)
    reader = Reader(state, configuration.skipped)
    with DeepRecursion(), ThirdPartyListing(configuration):
        read_lines(reader, options.before)
        may_miss = configuration.dialect.main_file_may_miss and bool(options.before or options.after)
        Includer(reader, optional=False).read_main(root_relative(options.server_root, options.file), may_miss)
        if options.is_elsewhere:
            from whimbrel.config.windows import check_documents

            check_documents(configuration)
        _check_mpm(configuration)
        read_lines(reader, options.after)
    return configuration


def read_lines(reader: Reader, lines: Iterable[str]) -> None:
    """Read the arguments of -C or -c, each as one line."""
    scanned = iter([(0, 0, number, line.strip()) for number, line in enumerate(lines, 1)])
    reader.read(ConfigSource(COMMAND_LINE, scanned), reader.configuration.tree)


def _check_mpm(configuration: Configuration) -> None:
    known = catalogue_of(configuration.dialect)
    rows = [known.module(module.name) for module in configuration.modules.modules]
    count = sum(row is not None and row.kind == "mpm" for row in rows)
    if count != 1:
        error, what = (StartError, "More than one MPM loaded.") if count else (NoMpm, "No MPM loaded.")
        raise error(f"AH00534: {configuration.program}: Configuration error: {what}")


# execution and what follows ----------------------------------------------------------------------
def complete(configuration: Configuration) -> Configuration:
    """Execute the tree and finish: virtual hosts inherit, sections are put in order, the modules check."""
    first = len(configuration.messages)
    warn_before(configuration)
    with DeepRecursion(), ThirdPartyListing(configuration):
        state = _executing_context(configuration)
        state.walk(configuration.tree)
    if configuration.third_party is not None:
        from whimbrel.config.third_party_lines import finish

        finish(configuration)
    for server in configuration.virtual_hosts:
        server.inherit(configuration.main)
    mains = configuration.main.directories
    inherited = ordered(mains)
    configuration.main.directories = inherited
    for server in configuration.virtual_hosts:
        server.directories = inherited if server.directories is mains else ordered(server.directories)
    name_main_server(configuration)
    configuration.hosts = VirtualHostTable(configuration)
    configuration.hosts.drop_unused()
    for module in configuration.modules.modules:
        for step in module.check_config:
            step(configuration)
    configuration.execution_messages = range(first, len(configuration.messages))
    if not configuration.options.check_only:
        register_providers(configuration)
        for module in configuration.modules.modules:
            for step in module.post_config:
                step(configuration)
        for module in configuration.modules.modules:
            for step in module.post_config_last:
                step(configuration)
    return configuration


def register_providers(configuration: Configuration) -> None:
    """Add the providers that only requests call (`Module.register`)."""
    for module in configuration.modules.modules:
        for step in module.register:
            step(configuration)


def _executing_context(configuration: Configuration) -> CommandContext:
    if not configuration.options.origins:
        return CommandContext(configuration, configuration.main, configuration.main.defaults)
    from whimbrel.config.origins import command_context  # explanations need it, -t does not

    return command_context(configuration, configuration.main, configuration.main.defaults)


def ordered(sections: Sequence[Section]) -> list[Section]:
    """Return <Directory> sections in the order of merging: by number of path components, regular expressions
    last; otherwise in file order.
    """
    return sorted(
        sections, key=lambda section: (section.regex is not None, 0 if section.regex else section.components)
    )


class ThirdPartyListing:
    """Context manager of reading: an error after lines of third-party modules lists them, as httpd would have
    stopped at the first.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, problem: object, _traceback: object) -> None:
        if self._configuration.third_party is not None and isinstance(problem, (ConfigError, StartError)):
            from whimbrel.config.third_party_lines import finish

            finish(self._configuration, problem)


class DeepRecursion:
    """Context manager that raises the recursion limit for sections nested thousands of levels deep, as httpd
    accepts them; the garbage collector is off meanwhile.
    """

    def __enter__(self) -> None:
        self._limit = sys.getrecursionlimit()
        self._collecting = gc.isenabled()
        sys.setrecursionlimit(max(self._limit, 2_000_000))
        gc.disable()

    def __exit__(self, *_exception: object) -> None:
        sys.setrecursionlimit(self._limit)
        if self._collecting:
            gc.enable()
