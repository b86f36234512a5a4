"""The server root of a case: files, modes, links, times, and the preamble of the configuration.

The preamble (LoadModule, Listen ...) is a separate file, so line numbers in messages are those of the case.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.case import Case, File, Payload, Version
from tests.conformance.masks import CaseMask, SiteMask
from whimbrel.testing.ports import free_ports

FILE_TIME = 1_600_000_000
"""Modification time of every file: Sun, 13 Sep 2020 12:26:40 GMT."""
DIRECTORIES = ("conf", "htdocs", "logs", "run", "var")
SERVER_USER = "www-data"
MIME_TYPES = Path(__file__).with_name("mime.types")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BUILT_IN: Mapping[Version, frozenset[str]] = {
    "2.2": frozenset({"so", "core", "http", "prefork"}),
    "2.4": frozenset({"so", "core", "http", "watchdog", "log_config", "logio", "version", "unixd"}),
}
"""Modules compiled into the recorded servers: the cases have no LoadModule line for them."""
_PREFIX = "server-"  # as long as the recorded one: the sizes of error pages with paths agree


@dataclass(frozen=True)
class Modules:
    """The directory that LoadModule lines name, and the modules that need no such line."""

    directory: str
    built_in: frozenset[str]


class RecordedSite:
    """A new server root on the loopback, filled from a case; a context manager that removes it.

    Attributes:
        ports: the ports of @PORT@, @PORT2@ and @PORT3@.
        conf: the configuration with its placeholders replaced.
        tokens: DAV lock tokens of earlier responses and their placeholders.
    """

    def __init__(self, case: Case, modules: Modules) -> None:
        self.case, self.modules = case, modules
        self.root = tempfile.mkdtemp(prefix=_PREFIX)
        self.document_root = os.path.join(self.root, "htdocs")
        self.ports = tuple(free_ports(3))
        self.tokens: dict[str, str] = {}
        self._make_directories()
        shutil.copy(MIME_TYPES, self.path("conf/mime.types"))
        for name, file in case.files.items():
            self.write(name, file)
        self.conf = self.expand(case.conf)
        self.write_text("conf/httpd.conf", self.conf)
        self.preamble = "".join(line + "\n" for line in preamble(self))
        self.write_text("conf/preamble.conf", self.preamble)
        self._set_directory_times()
        if case.topic == "modules":
            self._give_var_to_server()

    def __enter__(self) -> RecordedSite:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def path(self, name: str) -> str:
        """The path of a file below the server root."""
        return os.path.join(self.root, name)

    def expand(self, text: str) -> str:
        """Replace the placeholders of recorded text by the values of this site."""
        values = {
            "@SERVERROOT@": self.root,
            "@DOCROOT@": self.document_root,
            "@MODULES@": self.modules.directory,
        }
        values |= zip(("@PORT@", "@PORT2@", "@PORT3@"), map(str, self.ports), strict=True)
        values |= {placeholder: token for token, placeholder in self.tokens.items()}
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)
        return text

    def mask(self) -> SiteMask:
        """The inverse of `expand`, for any text of this site."""
        return SiteMask(self.root, self.document_root, self.ports)

    def case_mask(self) -> CaseMask:
        """The mask of the site and the masks of its case."""
        return CaseMask(self.mask(), self.case.masks)

    def environment(self) -> dict[str, str]:
        """The environment of every program of the case."""
        values = {name: self.expand(value) for name, value in self.case.environment.items()}
        return {"PATH": PATH, "LANG": "C", "NO_COLOR": "1", **values}

    def write(self, name: str, file: File) -> None:
        """Write a file of the case; a name that ends with a slash makes a directory."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
        if file.symlink is not None:
            os.symlink(self.expand(file.symlink), path)
        elif not name.endswith("/"):
            self._write(path, self._bytes(file.content), file.mode)

    def write_text(self, name: str, text: str) -> None:
        """Write text that holds no placeholder."""
        self._write(self.path(name), text.encode(), 0o644)

    def read(self, name: str) -> str:
        """The text of a file; an empty string if there is none."""
        try:
            return Path(self.root, name).read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""

    def _bytes(self, content: Payload) -> bytes:
        return content if isinstance(content, bytes) else self.expand(content).encode()

    @staticmethod
    def _write(path: str, data: bytes, mode: int) -> None:
        Path(path).write_bytes(data)
        os.chmod(path, mode)
        os.utime(path, (FILE_TIME, FILE_TIME))

    def _make_directories(self) -> None:
        os.chmod(self.root, 0o755)
        for name in DIRECTORIES:
            os.mkdir(self.path(name))
            os.chmod(self.path(name), 0o755)
        if is_root():
            shutil.chown(self.path("var"), SERVER_USER, SERVER_USER)

    def _set_directory_times(self) -> None:
        for directory, _, _ in os.walk(self.document_root, topdown=False):
            os.utime(directory, (FILE_TIME, FILE_TIME))

    def _give_var_to_server(self) -> None:
        """Everything below var/ belongs to the user of the server in the cases of modules."""
        for directory, _, names in os.walk(self.path("var")) if is_root() else ():
            for path in (directory, *(os.path.join(directory, name) for name in names)):
                shutil.chown(path, SERVER_USER, SERVER_USER)
                os.utime(path, (FILE_TIME, FILE_TIME))


def is_root() -> bool:
    """Return True if servers are started as root, so they change to `SERVER_USER`."""
    return os.getuid() == 0


def has_directive(conf: str, *names: str) -> bool:
    """Return True if a line of *conf* begins with one of the directives."""
    return any(re.search(rf"(?im)^\s*{name}\s", conf) for name in names)


def load_module_lines(names: tuple[str, ...], directory: str) -> list[str]:
    """LoadModule lines in the order of *names*."""
    return [f"LoadModule {name}_module {directory}/mod_{name}.so" for name in names]


def preamble(site: RecordedSite) -> list[str]:
    """The lines before the configuration, without the directives that the configuration has itself."""
    case, built_in = site.case, site.modules.built_in
    lines = load_module_lines(
        tuple(name for name in case.modules if name not in built_in), site.modules.directory
    )
    if not case.preamble:
        return lines
    present = built_in | set(case.modules)
    lines += [
        f'ServerRoot "{site.root}"',
        "PidFile logs/httpd.pid",
        "ErrorLog logs/error_log",
        "ServerName localhost",
    ]
    lines += _unless(site.conf, "DocumentRoot", f'DocumentRoot "{site.document_root}"')
    lines += _unless(site.conf, "Listen", f"Listen 127.0.0.1:{site.ports[0]}")
    if is_root() and (case.version == "2.2" or "unixd" in present):
        lines += [f"User {SERVER_USER}", f"Group {SERVER_USER}"]
    if case.version != "2.2":
        lines += _unless(site.conf, "DefaultRuntimeDir", "DefaultRuntimeDir run")
    lines.append("StartServers 1")
    if "log_config" in present and not has_directive(site.conf, "CustomLog", "TransferLog"):
        lines += [
            r'LogFormat "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"" recorded',
            "CustomLog logs/access_log recorded",
        ]
    if "mime" in case.modules:
        lines += _unless(site.conf, "TypesConfig", "TypesConfig conf/mime.types")
    if "cgid" in case.modules:
        lines += _unless(site.conf, "ScriptSock", "ScriptSock run/cgisock")
    return lines


def _unless(conf: str, directive: str, line: str) -> list[str]:
    return [] if has_directive(conf, directive) else [line]
