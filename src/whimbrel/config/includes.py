"""Include: the files that an argument names, in httpd's order.

A directory stands for everything in it, sorted by bytes, directories within it included.  Wildcards may stand
in any part of the path in 2.4, only in the last one in 2.2.  Manual: mod/core.html#include.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from whimbrel.base.errors import ConfigError, MissingResource, NotCopied, SourceLocation
from whimbrel.base.file_reading import NotRegular, read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.execute import is_directory, root_relative
from whimbrel.config.model import Included
from whimbrel.config.options import LoadOptions
from whimbrel.config.reader import ConfigSource, Reader

DEFAULT_FILE = "conf/httpd.conf"
MAX_DEPTH = 128
MAX_DIRECTORY_DEPTH = 20


def has_wildcards(pattern: str) -> bool:
    """apr_fnmatch_test: an unescaped ``?`` or ``*``, or a ``[`` with a ``]`` later on."""
    if "*" not in pattern and "?" not in pattern and "[" not in pattern:
        return False
    nesting = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char in "?*":
            return True
        if char == "\\":
            at += 1
            if at >= len(pattern):
                return False
        elif char == "[":
            nesting = True
        elif char == "]" and nesting:
            return True
        at += 1
    return False


def matches(pattern: str, name: str) -> bool:
    """apr_fnmatch with APR_FNM_PERIOD: a leading dot must be written out."""
    if name[:1] == "." and pattern[:1] != ".":
        return False
    return _compiled(pattern)(name)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Callable[[str], bool]:
    found = re.compile(_translated(pattern), re.DOTALL)
    return lambda name: found.fullmatch(name) is not None


def _translated(pattern: str) -> str:
    out = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "[" and (end := pattern.find("]", at + 1)) > 0:
            out.append(_class(pattern[at:end]))
            at = end + 1
        elif char == "\\" and at < len(pattern):
            out.append(re.escape(pattern[at]))
            at += 1
        else:
            out.append(re.escape(char))
    return "".join(out)


def _class(body: str) -> str:
    negated = body[:1] in ("!", "^")
    safe = re.sub(r"([\[&~|^])", r"\\\1", body[negated:])
    return f"[^{safe}]" if negated else f"[{safe}]"


def error_text(problem: OSError) -> str:
    return os.strerror(problem.errno) if problem.errno else str(problem)


def _as_named(path: str) -> str:
    return path


class Finder:
    """The files that the argument of Include or IncludeOptional stands for; *old* selects the rules and
    messages of 2.2; *openable* maps a path to the name of its file on this machine.

    Each file is yielded before the next directory is read, as httpd reads it before it goes on.  Raise
    ConfigError without a location.
    """

    def __init__(
        self, *, old: bool, optional: bool = False, openable: Callable[[str], str] = _as_named
    ) -> None:
        self.old = old
        self.optional = optional
        self._openable = openable
        self._prefix, self._what = ("", "config ") if old else ("Include/IncludeOptional: ", "")

    def files(self, path: str) -> Iterator[str]:
        """Yield the files of *path* (absolute) in order; a name without wildcards even if it is missing."""
        if not has_wildcards(path):
            return self._plain(path, 0)
        return self._wild_22(path) if self.old else self._wild("/", path.lstrip("/"))

    def _plain(self, path: str, depth: int) -> Iterator[str]:
        path = self._openable(path)
        if not is_directory(path):
            yield path
            return
        if depth >= MAX_DIRECTORY_DEPTH:
            raise ConfigError(
                f"{self._prefix}Directory '{path}' exceeds the maximum include directory nesting level of "
                f"{MAX_DIRECTORY_DEPTH}. "
                "You have probably a recursion somewhere."
            )
        for name in self._entries(path):
            yield from self._plain(_joined(path, name), depth + 1)

    def _wild_22(self, path: str) -> Iterator[str]:
        directory, _slash, pattern = path.rpartition("/")
        if has_wildcards(directory):
            raise ConfigError(f"Wildcard patterns not allowed in Include {path}")
        directory = self._openable(directory)
        if not is_directory(directory or "/"):
            raise MissingResource(f"Include directory '{directory or '/'}' not found", matters=True)
        if not has_wildcards(pattern):
            raise ConfigError(f"Must include a wildcard pattern for Include {path}")
        for name in self._entries(directory or "/"):
            if matches(pattern, name):
                yield from self._plain(_joined(directory or "/", name), 1)

    def _wild(self, directory: str, rest: str) -> Iterator[str]:
        first, slash, rest = rest.partition("/")
        if not has_wildcards(first):
            path = _joined(directory, first)
            yield from self._wild(path, rest) if slash else self._plain(path, 0)
            return
        directory = self._openable(directory)
        found = [name for name in self._entries(directory) if matches(first, name)]
        if slash:
            found = [name for name in found if is_directory(self._openable(_joined(directory, name)))]
        if not found and not self.optional:
            raise MissingResource(
                f"{self._prefix}No matches for the wildcard '{first}' in '{directory}', failing",
                matters=True,
            )
        for name in found:
            path = _joined(directory, name)
            yield from self._wild(path, rest) if slash else self._plain(path, 0)

    def _entries(self, directory: str) -> list[str]:
        try:
            return sorted(to_text(name) for name in os.listdir(to_bytes(directory)))
        except OSError as problem:
            if self.optional and isinstance(problem, FileNotFoundError):
                return []
            raise MissingResource(
                f"{self._prefix}Could not open {self._what}directory {directory}: {error_text(problem)}",
                matters=True,
            ) from None


class Includer:
    """Execution of one Include or IncludeOptional line."""

    def __init__(
        self, reader: Reader, *, optional: bool, line: int = 0, included_from: SourceLocation | None = None
    ) -> None:
        self.reader = reader
        self.optional = optional
        self.line = line
        self.included_from = included_from
        self.configuration = reader.configuration

    def include(self, path: str) -> None:
        """Read all that *path* (absolute) stands for."""
        copied = self.configuration.copied_path(path)
        if not copied:
            # httpd starts without a file that is optional, and the text of one that exists is not judged
            raise NotCopied(path, stops=not (self.optional or os.path.exists(to_bytes(path))))
        if not self.optional and self.included_from is not None:
            copied = self.configuration.stand_in(copied, self.included_from, "Include")
        self.configuration.include_patterns.append(copied)
        old = not self.configuration.dialect.include_needs_match
        finder = Finder(old=old, optional=self.optional, openable=self.configuration.disk.openable)
        for file in finder.files(copied):
            self.read_file(file)

    def read_main(self, path: str, may_miss: bool) -> None:
        """Read the main file; *may_miss*: 2.2 does without the default one where -C or -c gave lines."""
        if (
            may_miss
            and path == root_relative(self.configuration.options.server_root, DEFAULT_FILE)
            and not os.path.lexists(to_bytes(path))
        ):
            return
        self.read_file(path)

    def read_file(self, path: str) -> None:
        """Read one file where the Include stands."""
        try:
            data = read_overlaid(path, self.configuration.options)
        except OSError as problem:
            if self.optional and isinstance(problem, (FileNotFoundError, NotADirectoryError)):
                return
            if isinstance(problem, NotRegular):
                self.configuration.warn(
                    f"Access to file {path} denied by server: not a regular file",
                    code="AH00554",
                    level="error",
                )
            raise MissingResource(
                f"Could not open configuration file {path}: {error_text(problem)}", matters=True
            ) from None
        self.configuration.budget.charge_file(data)
        self.configuration.includes.append(
            Included(path, self.line, self.reader.include_depth, self.configuration.include_line)
        )
        self.reader.include(ConfigSource(path, self.reader.lines(data, path), self.included_from))


def read_overlaid(path: str, options: LoadOptions) -> bytes:
    """Return the bytes of a configuration file as *options* have it; raises as `read_config_file`."""
    data = options.overlaid(path)
    return read_config_file(path) if data is None else data


def read_config_file(path: str) -> bytes:
    """Return the bytes of a configuration file; raises OSError, NotRegular for a directory too."""
    try:
        return read_regular(to_bytes(path))
    except IsADirectoryError:
        raise NotRegular(path) from None


def _joined(directory: str, name: str) -> str:
    return directory + name if directory[-1:] == "/" else f"{directory}/{name}"
