"""Finding, reading and completing the configuration that `whimbrel serve TREE` serves."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.latin1 import from_system
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.cli.arguments import Arguments
from whimbrel.cli.compared_requests import FORMAT
from whimbrel.cli.config_loader import ConfigLoader
from whimbrel.cli.serve_both import OFFSETS
from whimbrel.cli.serve_places import ServePlaces
from whimbrel.cli.served_lines import ServedLines
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import LogSink, all_nodes
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.config.options import LoadOptions
from whimbrel.config.servers import FoundServer
from whimbrel.config.service_settings import ServiceSettings, service_settings
from whimbrel.directives.node import Node
from whimbrel.engine.output.media_type import content_type
from whimbrel.http.syntax.url import escape_logitem
from whimbrel.modules.core.log import DEFAULT_LOG
from whimbrel.modules.loggers.mod_log_config import AccessLog, LogServerConfig
from whimbrel.modules.loggers.mod_log_config.items import KINDS, ItemKind, field_out
from whimbrel.modules.loggers.mod_log_config.writer import parse_format
from whimbrel.syntax.words import quoted

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

SHOWN: Final = SourceLocation("(whimbrel serve)", 0)
"""The place of lines that no file has."""
REQUEST_FORMAT: Final = "%s %>s %{local}p\t%D\t%{Host}i\t%r"
"""A line for the terminal: status, microseconds, host, request line."""
NOT_MODIFIED: Final = 304


class ServedServer(ConfigLoader):
    """Loader of the configuration of one server that is served where it is found.

    Attributes:
        places: where its files are.
        lines: the adapter of its lines, with notes about what it replaced.
        shows_requests: a program prints each finished request; *is_compared*: it sends the request to the
            server of the other version, too. *is_local*: it listens on 127.0.0.1 alone.
    """

    def __init__(
        self,
        arguments: Arguments,
        server: FoundServer,
        ports: Mapping[int, int],
        places: ServePlaces,
        *,
        shows_requests: bool = False,
        is_compared: bool = False,
        is_local: bool = False,
    ) -> None:
        super().__init__(arguments, is_silent=True)
        self.server = server
        self.places = places
        self.shows_requests = shows_requests
        self.root, self.file = self.places.root, from_system(server.path)
        self.is_compared = is_compared
        offset = OFFSETS[arguments.version] if is_compared else 0
        self.lines = ServedLines(self.places, ports, offset, is_local=is_local)

    def notes(self) -> list[str]:
        """Return one sentence for each kind of thing that is not as the text has it."""
        notes = list(self.lines.notes)
        if self.places.image:
            notes.append(f"logs and run files are below {self.places.directory}/written")
        configuration = self.configuration
        if self.shows_requests and configuration is not None:
            if not configuration.loaded("log_config_module"):
                notes.append("requests are not shown: mod_log_config is not loaded")
        return notes

    def settings(self) -> ServiceSettings:
        """Return what the service passes; no program of a copy runs, its files are read as text."""
        if self.places.image:
            return service_settings(self.server, os.environ, self.arguments.envvars)
        return super().settings()

    def placed(self, options: LoadOptions) -> LoadOptions:
        """Return *options* with the adapter, and the places of a copy."""
        self.lines.is_read = False
        return replace(
            options,
            server_root=self.places.root,
            file=from_system(self.server.path),
            overlay={self.places.place(path): text for path, text in options.overlay.items()},
            is_copy=bool(self.places.image),
            copied=self.places.copied,
            check_roots=False,
            adapter=self.lines,
        )

    def read(self) -> Configuration:
        """Read the configuration, and add the lines of the defaults that are not usable here."""
        try:
            configuration = super().read()
        except ConfigError as problem:
            raise self._named(problem) from None
        self._add_defaults(configuration)
        if self.shows_requests and configuration.loaded("log_config_module"):
            configuration.main.record(LogServerConfig).logs = [self._request_log(configuration)]
        return configuration

    def load(self) -> Configuration:
        """Read and execute the configuration; complete the identity of the workers."""
        try:
            configuration = super().load()
        except ConfigError as problem:
            raise self._named(problem) from None
        finally:
            self.lines.is_read = True
        spec = configuration.spec
        if os.getuid() == 0 and not spec.user:
            spec.user = self.lines.nobody(is_user=True)
            self.lines.note(f"the text has no User: the workers run as {spec.user}")
        if os.getuid() == 0 and not spec.group:
            spec.group = self.lines.nobody(is_user=False)
            self.lines.note(f"the text has no Group: the workers run as {spec.group}")
        return configuration

    def _begin(self, configuration: Configuration) -> None:
        super()._begin(configuration)
        self.lines.configuration = configuration

    def _add_defaults(self, configuration: Configuration) -> None:
        """Put lines in front of the text for values that it leaves to the build."""
        used = {
            node.name.lower()
            for node in all_nodes(configuration.tree)
            if not any(name.lower() == "<virtualhost" for name in node.sections())
        }
        build = configuration.build
        defaults = (
            ("PidFile", build.pid_file),
            ("ErrorLog", DEFAULT_LOG),
            ("TypesConfig", build.types_file),
            ("DocumentRoot", configuration.default_document_root),
        )
        for name, value in defaults:
            if name.lower() not in used and configuration.modules.rows(name) is not None:
                configuration.tree.insert(0, Node(name, quoted(value), SHOWN))
        process = configuration.main.record(MpmConfig)
        if not isinstance(process.run_directory, str) or not process.run_directory:
            process.run_directory = self.places.written(f"{self.places.directory}/run", is_directory=True)

    def _request_log(self, configuration: Configuration) -> AccessLog:
        """Return the log of all hosts whose program prints requests on standard output.

        The program has the interpreter of the server, and no module of the server root can replace it (-P).
        """
        for node in all_nodes(configuration.tree):
            if node.name.lower() == "listen":
                self.lines.change_listen(node, node.args)
        secure = ",".join(sorted(self.lines.secure_ports))
        words = [sys.executable, "-P", "-m", "whimbrel.cli.request_lines", secure]
        form = REQUEST_FORMAT
        if self.is_compared:
            own = self.arguments.version
            other = next(version for version in OFFSETS if version != own)
            words += [own, other, str(OFFSETS[other] - OFFSETS[own])]
            form += f"\t{FORMAT}"
        program = from_system(shlex.join(words))
        sink = LogSink(program, piped=True)
        return AccessLog(sink, f"||{program}", SHOWN, form, parse_format(form, _kind_of), everywhere=True)

    def _named(self, problem: ConfigError) -> ConfigError:
        """Return *problem* with the names of files that the user sees."""
        problem.reason = self.places.named_text(problem.reason)
        problem.details = tuple(map(self.places.named_text, problem.details))
        if problem.place is not None:
            problem.place = self._named_place(problem.place)
        return problem

    def _named_place(self, place: SourceLocation) -> SourceLocation:
        above = place.included_from
        return SourceLocation(
            self.places.named(place.path),
            place.line,
            self._named_place(above) if above is not None else None,
        )


def _kind_of(letter: str) -> ItemKind | None:
    """Return the item of a letter; a field of the answer is that which the client got."""
    return ItemKind(_sent_field) if letter == "o" else KINDS.get(letter)


def _sent_field(r: Request, argument: str) -> str | None:
    """Return a field of the answer; Content-Type with its parameters, which `%{Content-Type}o` leaves out."""
    if argument != "Content-Type":
        return field_out(r, argument)
    kind = None if r.status == NOT_MODIFIED else content_type(r)
    return escape_logitem(kind) if kind else None
