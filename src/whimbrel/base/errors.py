"""Errors that users see, each with a stable code and a source location."""

from __future__ import annotations

import os

from whimbrel.base.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A position in a file (lines count from 1), and the Include line that led there, if any.

    Text from the command line has a *path* such as ``(command line)`` and httpd's wording for it.
    """

    path: str
    line: int
    included_from: SourceLocation | None = None

    def __str__(self) -> str:
        via = f" (included from {self.included_from})" if self.included_from else ""
        return f"{self.path}:{self.line}{via}"


class ConfigError(Exception):
    """A line that httpd refuses.

    Attributes:
        reason: httpd's message; `hint`: our advice, what to write instead.
        place: the source location; the core adds it, as setters raise without one.
        code: the AH number that 2.4 prints before "Syntax error on line N of FILE:".
        bare: True for messages that httpd prints without the "Syntax error" line.
        details: our lines after httpd's message.

    Callers decide by the class or *code*, never by the text.
    """

    details: tuple[str, ...] = ()

    def __init__(
        self,
        reason: str,
        place: SourceLocation | None = None,
        *,
        hint: str = "",
        code: str = "AH00526",
        bare: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place
        self.hint = hint
        self.code = code
        self.bare = bare

    def __str__(self) -> str:
        tail = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.place or '?'}: {self.code}: {self.reason}{tail}"


class UnknownDirective(ConfigError):
    """A directive that no loaded module declares."""

    def __init__(self, name: str, place: SourceLocation | None = None, *, declared_by: str = "") -> None:
        super().__init__(
            f"Invalid command '{name}', perhaps misspelled or defined by a module not included in the "
            f"server configuration",
            place,
            hint=f"add: LoadModule {declared_by}" if declared_by else "",
        )


class MissingResource(ConfigError):
    """A file, directory, library or user that a line names and that this machine does not have.

    A configuration of another machine is read without such a line (`LoadOptions.is_elsewhere`).

    Attributes:
        matters: answers may depend on it; those of the directory of a log do not.
        stops: no server starts on this machine with the line.
        is_accepted_by_22: 2.2 starts with it.
    """

    stops = True

    def __init__(
        self,
        reason: str,
        place: SourceLocation | None = None,
        *,
        matters: bool = False,
        is_accepted_by_22: bool = False,
    ) -> None:
        super().__init__(reason, place)
        self.matters = matters
        self.is_accepted_by_22 = is_accepted_by_22


class NotCopied(MissingResource):
    """A file or directory of a configuration outside of the copy that is read; *stops* as its line is."""

    def __init__(self, path: str, *, stops: bool) -> None:
        super().__init__(f"Could not open configuration file {path}: not in this copy", matters=True)
        self.stops = stops


class MissingTypes(MissingResource):
    """The file of the types of names: Content-Type depends on it."""


class ForeignResource(MissingResource):
    """What a module of a third party gives, and that is not here."""


class ForeignDirective(ForeignResource):
    """A directive of a module that is not here: of *product*, or of an unknown one."""

    def __init__(self, name: str, place: SourceLocation | None = None, *, product: str = "") -> None:
        owner = f"{product}, which" if product else "a module that"
        super().__init__(f"{name}: a directive of {owner} is not here", place, matters=True)
        self.name = name


class ForeignProvider(ForeignResource):
    """A provider that a module of *product*, or of an unknown one, registers, and that is not here."""

    def __init__(self, text: str, place: SourceLocation | None = None, *, product: str = "") -> None:
        owner = product or "a module that is in no table"
        super().__init__(f"{text}: of {owner}, which is not here", place, matters=True)


class ForeignModule(ForeignResource):
    """A module that httpd does not distribute and that is not here: *product* says which, "" if unknown;
    *file* is the path of its line.
    """

    def __init__(self, reason: str, product: str = "", file: str = "") -> None:
        super().__init__(reason, matters=True)
        self.product = product
        self.file = file


class ThirdPartyError(ConfigError):
    """A refused line of a third-party module, with all other such lines in *details*."""

    def __init__(self, first: ConfigError, details: tuple[str, ...]) -> None:
        super().__init__(first.reason, first.place, code=first.code, bare=first.bare)
        self.details = details


class MissingDirectory(MissingResource):
    """A document root that is not here, and whose files are unknown: a virtual host starts without it, the
    main server does not.
    """

    def __init__(self, reason: str, place: SourceLocation | None, *, is_of_host: bool) -> None:
        super().__init__(reason, place)
        self.stops = not is_of_host


class ProgramNotRun(MissingResource):
    """A value that a program would print: tools run no program."""

    stops = False

    def __init__(self, reason: str, place: SourceLocation | None = None) -> None:
        super().__init__(reason, place, matters=True)


class UndecidedVariables(MissingResource):
    """A part of the file of variables beside a configuration that only a shell can carry out."""

    stops = False


class StartError(Exception):
    """The server cannot start although its configuration could be read: port in use, unreadable log, missing
    user.

    *lines* are the messages as httpd prints them (AH code included), *status* is the exit code.
    """

    def __init__(self, *lines: str, status: int = 1) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.status = status


class NotBound(StartError):
    """A listening socket that cannot be opened: *port*, and the system's *number* of the error."""

    def __init__(self, *lines: str, port: int, number: int) -> None:
        super().__init__(*lines)
        self.port = port
        self.number = number


class MissingPackage(StartError):
    """A module that needs an optional package, which *extra* of this distribution installs."""

    def __init__(self, module: str, extra: str, package: str = "") -> None:
        from whimbrel.base.extras import not_installed  # a start that succeeds does not need it

        super().__init__(not_installed(module, extra, package=package))
        self.module = module
        self.extra = extra


class NoMpm(StartError):
    """A configuration without a multi-processing module."""


class PostConfigError(StartError):
    """A module failed to start (httpd's post_config): the logs are open by then, so its messages are logged
    there.

    Attributes:
        module: the name in the log lines.
        log_lines: (level, text with cause and code) in the order of the log.
        repeat_in_log: True if httpd fails only in its second run of post_config.
        exits: True if the module ends the process itself, so that no closing line is logged.
    """

    def __init__(
        self,
        module: str,
        *log_lines: tuple[str, str],
        repeat_in_log: bool = False,
        coded: bool = True,
        exits: bool = False,
    ) -> None:
        self.module = module
        self.log_lines = log_lines
        self.repeat_in_log = repeat_in_log
        self.exits = exits
        super().__init__(*(text for _level, text in log_lines), "AH00016: " * coded + "Configuration Failed")


def apr_error(problem: OSError) -> str:
    """Return an error in APR's form, ``(2)No such file or directory``."""
    number = problem.errno or 0
    return f"({number}){os.strerror(number)}"
