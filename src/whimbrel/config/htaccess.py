"""Read .htaccess files and cache the results until they change.

A file is executed under the AllowOverride of its directory: the same file under another override is another
layer.
"""

from __future__ import annotations

import os
from typing import Final

from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.file_reading import NotRegular
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.configuration import STREAM_TAGS, Configuration
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.includes import error_text, read_overlaid
from whimbrel.config.model import Layer, SectionKind, Server, StartMessage
from whimbrel.config.origins import command_context
from whimbrel.config.reader import MAX_HTACCESS_LINE, ConfigSource, Reader
from whimbrel.directives.node import Node
from whimbrel.directives.spec import Context

ALL: Final = int(Context.OR_ALL)


@dataclass(frozen=True, slots=True)
class Override:
    """The directives that a .htaccess file may have: class bits with the Nonfatal ones, the Options of
    ``Options=``, the names of AllowOverrideList.
    """

    bits: int
    options: int
    names: frozenset[str] | None = None

    @property
    def nothing(self) -> bool:
        """Return True if the file needs no reading at all."""
        return not self.bits and not self.names


def override_of(configuration: Configuration, core: CoreDirConfig) -> Override:
    """Return the override that *core* (merged, with defaults) sets; -1, no AllowOverride anywhere, means the
    dialect's default.

    2.2 then admits everything. 2.4 reads the file and admits nothing in it, which OR_UNSET stands for. The
    guide ignores the file.
    """
    bits = core.override
    if bits == -1:
        dialect = configuration.dialect
        if dialect.override_default_all:
            bits = ALL
        elif dialect.override_unset_ignores:
            bits = 0
        else:
            bits = int(Context.OR_UNSET)
    return Override(bits | core.nonfatal, core.override_options, core.override_list)


class HtaccessError(Exception):
    """A .htaccess file that ends the request.

    Attributes:
        log, code, level: httpd's error-log text (not yet escaped), the AH number or "", the level.
        cause: the system's error in APR's wording, printed before the client.
        status: 500 for a file with an error, 403 for an unreadable file.
        note: httpd's ``error-notes`` of the request.
        refused: the line that cannot be read, with its location; None for a file that cannot be opened.
    """

    refused: ConfigError | None = None

    def __init__(
        self, log: str, *, status: int, code: str = "", level: str = "alert", cause: str = "", note: str = ""
    ) -> None:
        super().__init__(log)
        self.log = log
        self.status = status
        self.code = code
        self.level = level
        self.cause = cause
        self.note = note


@dataclass(slots=True)
class Parsed:
    """The result for one file: a layer, or an error; *messages* are log lines without client, written each
    time httpd would parse the file; *problem* is the refused line with its location.
    """

    layer: Layer | None
    error: HtaccessError | None = None
    messages: tuple[StartMessage, ...] = ()
    problem: ConfigError | None = None


ABSENT: Final = Parsed(None)


def parse(configuration: Configuration, server: Server, path: str, data: bytes, override: Override) -> Parsed:
    """Return the layer of a file; *path* names it in messages and gives setters their directory."""
    shown = configuration.disk.openable(path)
    layer = Layer(SectionKind.HTACCESS, SourceLocation(shown, 0))
    view = _View(configuration)
    state = command_context(view, server, layer, override.bits)
    state.in_htaccess = True
    state.override_options = override.options
    state.override_list = override.names
    state.path = os.path.dirname(path).rstrip("/") + "/"
    if b"h2_stream" in data.lower():
        configuration.declare(STREAM_TAGS, "yes")
    reader = Reader(state)
    nodes: list[Node] = []
    error: HtaccessError | None = None
    refused: ConfigError | None = None
    try:
        reader.read(ConfigSource(shown, reader.lines(data, shown, MAX_HTACCESS_LINE)), nodes)
        if configuration.third_party is not None:
            configuration.third_party.refuse_readers(nodes)
        state.walk(nodes)
    except ConfigError as problem:
        error = HtaccessError(f"{path}: {problem.reason}", status=500)
        refused = problem
        error.refused = problem
    return Parsed(None if error else layer, error, tuple(view.messages), refused)


class _View(Configuration):
    """The configuration as a .htaccess file sees it: shared, except for messages and tree."""

    def __init__(self, configuration: Configuration) -> None:
        self.__dict__.update(configuration.__dict__)
        self.messages = []
        self.tree = []


@dataclass(slots=True)
class _CachedFile:
    stamp: tuple[int, int, int, int] | None
    parsed: dict[Override, Parsed]
    data: bytes = b""
    failure: Parsed | None = None


class HtaccessCache:
    """Key: path and override; value: the parsed file; valid while its stat signature is unchanged, which each
    lookup checks.

    One cache belongs to one configuration.  A layer keeps its identity as long as the file is unchanged, so
    plans that contain it stay valid.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self._cached: dict[str, _CachedFile] = {}

    def get(self, path: str, override: Override, server: Server) -> Parsed:
        """Return the result for *path* under *override*, `ABSENT` without a file that counts. Never raise."""
        if override.nothing:
            return ABSENT
        try:
            status = os.stat(to_bytes(self.configuration.disk.on_disk(path)))
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)
        except (FileNotFoundError, NotADirectoryError):
            self._cached.pop(path, None)
            return ABSENT
        except OSError as problem:
            return self._unreadable(path, problem)
        cached = self._cached.get(path)
        if cached is None or cached.stamp != stamp:
            cached = self._read(path, stamp)
            self._cached[path] = cached
        if cached.failure is not None:
            return cached.failure
        entry = cached.parsed.get(override)
        if entry is None:
            entry = parse(self.configuration, server, path, cached.data, override)
            cached.parsed[override] = entry
        return entry

    def _read(self, path: str, stamp: tuple[int, int, int, int]) -> _CachedFile:
        try:
            return _CachedFile(
                stamp, {}, read_overlaid(self.configuration.disk.openable(path), self.configuration.options)
            )
        except OSError as problem:
            return _CachedFile(None, {}, failure=self._unreadable(path, problem))

    def _unreadable(self, path: str, problem: OSError) -> Parsed:
        """Return the result for a file that cannot be read: 403, so that its directory stays protected."""
        text = f"{path} pcfg_openfile: unable to check htaccess file, ensure it is readable"
        if self.configuration.dialect.messages_24:
            text += f" and that '{os.path.dirname(path)}/' is executable"
        error = HtaccessError(
            text,
            status=403,
            code="AH00529",
            level="crit",
            cause=f"({problem.errno}){error_text(problem)}",
            note=_NOTE,
        )
        refused = StartMessage(
            f"Access to file {path} denied by server: not a regular file", "AH00554", "error", "core", None
        )
        return Parsed(None, error, (refused,) if isinstance(problem, NotRegular) else ())


_NOTE: Final = "Server unable to read htaccess file, denying access to be safe"
