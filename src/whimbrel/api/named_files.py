"""The input that a path names: what check and upgrade read, and the server that answers requests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from whimbrel.api.errors import ConfigurationError
from whimbrel.api.htaccess_server import HtaccessServer
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.config.options import LoadOptions
from whimbrel.config.servers import fault_of, why_no_server
from whimbrel.upgrade.source.named_sources import ConfigArguments, sources
from whimbrel.upgrade.source.reading import Sources
from whimbrel.utilities.usage_error import UsageError

DIALECTS: Final = ("2.4", "2.2", "guide")


@dataclass(frozen=True, slots=True)
class NamedInput:
    """The input that a path names.

    Attributes:
        path: absolute. `directory`: the one that reports show paths relative to.
        sources: what check and upgrade read: the configuration of a server, or a file without its server.
        options: of the server that answers; None for a directory of files without a server.
        lines: the defines and lines that are added to the text, and the file of shell variables.
        holder: the server around a .htaccess file, which lives as long as it; None for others.
    """

    path: str
    directory: str
    sources: Sources
    options: LoadOptions | None
    lines: ConfigArguments
    holder: HtaccessServer | None = None

    @property
    def served(self) -> str:
        """The path that `whimbrel serve` takes."""
        return self.path if self.holder is None else self.holder.file


def named_input(path: str, dialect: str, at: str, lines: ConfigArguments) -> NamedInput:
    """Return what *path* names; raises ConfigurationError, and ValueError for an unknown dialect."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect {dialect!r}: not one of {', '.join(DIALECTS)}")
    full = os.path.abspath(path)
    fault = "" if os.path.isdir(full) else fault_of(full)
    if fault:
        raise ConfigurationError(full, 0, fault.removeprefix(f"{full}: "))
    found, directory = _read(full, lines, as_server=False)
    if "htaccess" in os.path.basename(full):
        try:
            holder = HtaccessServer(full, at, dialect)
        except OSError as problem:
            raise ConfigurationError(full, 0, problem.strerror or str(problem)) from None
        options = _read(holder.file, lines, as_server=True)[0].options
        return NamedInput(full, directory, found, options, lines, holder)
    if found.options is not None or os.path.isdir(full):
        return NamedInput(full, directory, found, found.options, lines)
    options = _read(full, lines, as_server=True)[0].options
    return NamedInput(full, directory, found, options, lines)


def _read(path: str, lines: ConfigArguments, *, as_server: bool) -> tuple[Sources, str]:
    try:
        return sources(replace(lines, paths=[Path(path)], as_server=as_server))
    except UsageError as problem:
        message = problem.message.partition("\n")[0]  # then a hint about options of commands
        raise ConfigurationError(path, 0, message.removeprefix(f"{path}: ")) from None


def why_no_answers(path: str) -> ConfigurationError:
    """Return the error about a path that names no server."""
    return ConfigurationError(path, 0, why_no_server(path).removeprefix(f"{path}: "))
