"""Reading the configuration that a command line names, and printing its messages on standard error."""

from __future__ import annotations

import gc
import os

from whimbrel.base.dialect import DIALECTS
from whimbrel.base.errors import ConfigError, PostConfigError, StartError
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.cli import paths
from whimbrel.cli.arguments import Arguments
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import complete, new_configuration, read
from whimbrel.config.messages import format_error, format_message
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL
from whimbrel.modules.core.spec import server_spec

_LEVELS = {
    name: number
    for number, name in enumerate(("emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"))
}
_ALWAYS = frozenset(
    {"startup", "notice", *(f"trace{n}" for n in range(1, 9))}
)  # traces are only made where LogLevel asks for them


class ConfigLoader:
    """Reads the configuration that the command line names, as often as asked; messages go to standard error as they come."""

    def __init__(self, arguments: Arguments, *, is_silent: bool = False) -> None:
        self.arguments, self.is_silent = arguments, is_silent
        self.dialect = DIALECTS[arguments.dialect]
        self.root = paths.root_of(arguments.root)
        self.configuration: Configuration | None = None
        self._messages = 0

    def options(self) -> LoadOptions:
        """The command line as the configuration's reader wants it; reads the variables of a Debian folder."""
        arguments = self.arguments
        envvars = paths.envvars_of(arguments.envvars, self.root)
        if envvars:
            os.environ.update(paths.read_envvars(envvars, self.root))
        return LoadOptions(
            server_root=from_system(self.root),
            file=from_system(arguments.file or paths.file_of(self.root)),
            defines=tuple(map(from_system, arguments.defines)),
            before=tuple(map(from_system, arguments.before)),
            check_roots=arguments.check_roots,
            verbose=arguments.level == "debug" or arguments.level.startswith("trace"),
            after=tuple(map(from_system, arguments.after)),
            check_only=arguments.check_only,
            environment={from_system(k): from_system(v) for k, v in os.environ.items()},
            program=os.path.basename(arguments.program),
        )

    def load(self) -> Configuration:
        """Read everything; raises ConfigError or StartError."""
        try:
            options = self.options()
        except OSError as problem:
            raise StartError(
                f"{os.path.basename(self.arguments.program)}: could not read {problem.filename}: {problem.strerror}"
            ) from None
        self.configuration = configuration = new_configuration(options, ALL, self.dialect)
        self._messages = 0
        collecting = gc.isenabled()
        gc.disable()  # nothing of a configuration that is being read is waste
        try:
            complete(read(configuration))
            server_spec(configuration)
        except PostConfigError:
            server_spec(configuration)  # its logs are opened to say so
            raise
        finally:
            self.print_messages()
            if collecting and not self.arguments.check_only:
                gc.enable()
        return configuration

    def load_to_serve(self) -> Configuration:
        """The same for a server: directives without behaviour stop it."""
        configuration = self.load()
        self.require_implemented()
        return configuration

    def reload(self) -> Configuration:
        """The same for a restart: messages are the log's, which the server writes, unless it ends before that."""
        before, self.is_silent = self.is_silent, True
        try:
            return self.load_to_serve()
        except (ConfigError, StartError):
            self.is_silent, self._messages = before, 0
            self.print_messages()
            raise
        finally:
            self.is_silent = before

    def require_implemented(self) -> None:
        """Stop a start on directives that have no behaviour here: raises StartError.  -t lets them pass, as the lines are right."""
        if self.configuration is not None and (
            self.configuration.unimplemented or self.configuration.handlers
        ):
            from whimbrel.config.unimplemented import refuse_start

            try:
                refuse_start(self.configuration)
            finally:
                self.print_messages()

    def print_messages(self) -> None:
        """Print the messages that came since the last time."""
        configuration = self.configuration
        if configuration is None or self.is_silent:
            return
        limit = _LEVELS.get(self.arguments.level or "warn", 99)
        for message in configuration.messages[self._messages :]:
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


def print_error(problem: ConfigError | StartError, loader: ConfigLoader) -> int:
    """Print why it can't go on; the exit status."""
    write_stderr(format_error(problem, loader.dialect, os.path.basename(loader.arguments.program)))
    return problem.status if isinstance(problem, StartError) else 1
