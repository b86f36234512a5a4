"""Reading the configuration that a command line names, and printing its messages on standard error."""

from __future__ import annotations

import gc
import os

from whimbrel.base.builds import ANY, AUTO
from whimbrel.base.dialect import DIALECTS
from whimbrel.base.errors import (
    ConfigError,
    MissingPackage,
    NoMpm,
    PostConfigError,
    StartError,
    UnknownDirective,
)
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.static_typing import Any
from whimbrel.cli.arguments import Arguments
from whimbrel.cli.missing_extras import missing_extras, used_modules
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import root_relative
from whimbrel.config.includes import read_overlaid
from whimbrel.config.load import complete, read_as_its_build
from whimbrel.config.messages import escaped, format_error, format_message
from whimbrel.config.model import Stage
from whimbrel.config.options import LoadOptions
from whimbrel.config.servers import server_of
from whimbrel.config.service_settings import ServiceSettings, settings_to_serve
from whimbrel.modules import ALL
from whimbrel.modules.core.spec import server_spec

_LEVELS = {
    name: number
    for number, name in enumerate(("emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"))
}
_ALWAYS = frozenset(
    {"startup", "notice", *(f"trace{n}" for n in range(1, 9))}
)  # traces exist only if LogLevel enables them


class ConfigLoader:
    """Loader of the configuration that a command line names.

    Prints messages on standard error as they arise.
    """

    def __init__(self, arguments: Arguments, *, is_silent: bool = False) -> None:
        self.arguments = arguments
        self.is_silent = is_silent
        self.dialect = DIALECTS[arguments.dialect]
        self.server = server_of(arguments.root, arguments.file, arguments.named_build)  # at a restart, too
        self.root, self.file = self.server.root, self.server.file
        self.configuration: Configuration | None = None
        self._messages = 0
        self._inherited: dict[str, Any] = {}

    def settings(self) -> ServiceSettings:
        """Return what the service of the layout passes; raises OSError."""
        return settings_to_serve(self.server, self.arguments.envvars)

    def placed(self, options: LoadOptions) -> LoadOptions:
        """Return *options* with the places of the server's files; here they are those of the text."""
        return options

    def options(self) -> LoadOptions:
        """Return the command line as LoadOptions. Reads what the service of the layout passes."""
        arguments = self.arguments
        settings = self.settings()
        os.environ.update(settings.environment)
        options = self.placed(
            LoadOptions(
                server_root=from_system(self.root),
                file=from_system(self.file),
                build=arguments.builtin,
                defines=tuple(map(from_system, [*arguments.defines, *settings.defines])),
                before=tuple(map(from_system, [*settings.before, *arguments.before])),
                check_roots=arguments.check_roots,
                verbose=arguments.level == "debug" or arguments.level.startswith("trace"),
                after=tuple(map(from_system, [*settings.after, *arguments.after])),
                overlay=settings.overlay,
                check_only=arguments.check_only,
                environment={from_system(k): from_system(v) for k, v in os.environ.items()},
                program=os.path.basename(arguments.program),
            )
        )
        if arguments.dialect != "2.2" or arguments.builtin not in (AUTO, ANY):
            return options
        if arguments.builtin == AUTO and (arguments.before or arguments.after):
            return replace(options, built_in_origin="-C and -c lines: what no line loads is unknown")
        from whimbrel.upgrade.source.binary import with_compiled_in

        return with_compiled_in(options, self.dialect)

    def read(self) -> Configuration:
        """Read the configuration without executing it; raises ConfigError or StartError."""
        try:
            options = self.options()
        except OSError as problem:
            name = os.path.basename(self.arguments.program)
            raise StartError(f"{name}: could not read {problem.filename}: {problem.strerror}") from None
        return read_as_its_build(options, ALL, self.dialect, self._begin)

    def load(self) -> Configuration:
        """Read and execute the configuration; raises ConfigError or StartError."""
        collecting = gc.isenabled()
        gc.disable()  # all objects of a configuration stay alive while it is read
        try:
            configuration = complete(self.read())
            server_spec(configuration)
        except PostConfigError:
            assert self.configuration is not None
            server_spec(self.configuration)  # the error is logged, so its logs are opened
            raise
        except MissingPackage as problem:
            assert self.configuration is not None
            names = used_modules(self.configuration)
            raise StartError(missing_extras(names, refused=problem)) from None
        finally:
            self.print_messages()
            if collecting and not self.arguments.check_only:
                gc.enable()
        return configuration

    def _begin(self, configuration: Configuration) -> None:
        """Take a configuration that is about to be read."""
        self.configuration = configuration
        configuration.inherited = self._inherited
        self._messages = 0

    def load_to_serve(self) -> Configuration:
        """Read the configuration; raises StartError for directives without behaviour."""
        configuration = self.load()
        self.require_implemented()
        return configuration

    def reload(self) -> Configuration:
        """Read the configuration for a restart.

        The server logs the messages; they are printed only if reading fails.
        """
        before, self.is_silent = self.is_silent, True
        try:
            return self.load_to_serve()
        except (ConfigError, StartError):
            self.is_silent = before
            self._messages = 0
            self.print_messages()
            raise
        finally:
            self.is_silent = before

    def require_implemented(self) -> None:
        """Raise StartError for directives that have no behaviour here.

        -t accepts them, since the lines are valid.
        """
        if self.configuration is not None and (
            self.configuration.unimplemented or self.configuration.handlers
        ):
            from whimbrel.config.unimplemented import refuse_start

            try:
                refuse_start(self.configuration)
            finally:
                self.print_messages()

    def print_messages(self) -> None:
        """Print the messages that were added since the last call."""
        configuration = self.configuration
        if configuration is None or self.is_silent:
            return
        limit = _LEVELS.get(self.arguments.level or "warn", 99)
        for message in configuration.messages[self._messages :]:
            if message.stage is not Stage.READING:
                continue
            if message.level in _ALWAYS or _LEVELS.get(message.level, 99) <= limit:
                write_stderr(
                    format_message(
                        message,
                        self.dialect,
                        time=_now(self.dialect.messages_24),
                        process=f"pid {os.getpid()}:tid {os.getpid()}",
                    )
                )
        self._messages = len(configuration.messages)


def _now(fine: bool) -> str:
    import time

    from whimbrel.http.semantics.dates import error_log_time

    return error_log_time(time.time(), microseconds=fine)[1:-1]


def write_stderr(text: str) -> None:
    """Print lines on standard error, byte for byte."""
    os.write(2, to_bytes(text) + b"\n")


def missing_line(problem: ConfigError | StartError, configuration: Configuration) -> str:
    """Return the advice for a module that the text does not load; "" if that is not the problem."""
    if isinstance(problem, UnknownDirective):
        return problem.hint
    if isinstance(problem, NoMpm):
        return "add: LoadModule mpm_event_module modules/mod_mpm_event.so"
    return ""


def damaged_bytes(problem: ConfigError | StartError, configuration: Configuration) -> list[str]:
    """Return one sentence for each fault of the bytes of the file that *problem* is about, and for a file
    that is no configuration or a template."""
    options = configuration.options
    place = problem.place if isinstance(problem, ConfigError) else None
    path = place.path if place is not None else root_relative(options.server_root, options.file)
    if not isinstance(problem, (ConfigError, NoMpm)):
        return []
    try:
        data = read_overlaid(path, options)
    except OSError:
        return []
    is_damaged = b"\0" in data or b"\n" not in data or data[:1] in (b"\xef", b"\xff", b"\xfe")
    if not is_damaged and not any(mark in data for mark in (b"{", b"<%", b"@")):
        return []
    from whimbrel.upgrade.source import text_faults  # wrong files alone need it

    kinds = (text_faults.FaultKind.FOREIGN, text_faults.FaultKind.TEMPLATE)
    if is_damaged:
        faults = text_faults.encoding_faults(data)
    else:
        every = text_faults.faults_and_template(data)
        faults = tuple(fault for fault in every if fault.kind in kinds)
    return [f"{path}:{fault.line}: {fault}" for fault in faults]


def print_error(problem: ConfigError | StartError, loader: ConfigLoader) -> int:
    """Print the reason of a failure, and the line that is missing in a build that the text shows; return the
    exit status.
    """
    program = os.path.basename(loader.arguments.program)
    shown = format_error(problem, loader.dialect, program)
    write_stderr(shown)
    if isinstance(problem, ConfigError) and escaped(problem.reason).rstrip(" ") not in shown:
        short = format_error(problem, loader.dialect, program, is_short=True)
        if short != shown:  # the names of nested files have left no room for the reason
            write_stderr(f"hint: {short}")
    configuration = loader.configuration
    faults = damaged_bytes(problem, configuration) if configuration is not None else []
    for fault in faults:
        write_stderr(f"hint: {fault}")
    if configuration is not None and configuration.build.is_shown and not faults:
        hint = missing_line(problem, configuration)
        if hint:
            build = configuration.build
            write_stderr(f"hint: {hint} (build: {build.name}: {build.reason}; --builtin names another)")
    return problem.status if isinstance(problem, StartError) else 1
