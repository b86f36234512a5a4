"""Processes of applications: one program for each process group, one variant for each application group."""

from __future__ import annotations

import json
import os
import sys
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from whimbrel.base.accounts import user_named, user_numbered
from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.errors import PostConfigError
from whimbrel.base.latin1 import to_bytes, to_system
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import atoi
from whimbrel.base.product import SOFTWARE
from whimbrel.config.configuration import Configuration
from whimbrel.config.mpm_config import group_id, user_id
from whimbrel.modules.support.processes.manager import NotStarted, ProcessManager
from whimbrel.modules.support.processes.program import Identity, KeeperLimits, Launch, StaticProgram
from whimbrel.modules.wsgi.mod_wsgi.asgi import socket_name
from whimbrel.modules.wsgi.mod_wsgi.messages import INTERPRETERS, WsgiMessages
from whimbrel.modules.wsgi.mod_wsgi.options import ASGI, DaemonProcess
from whimbrel.modules.wsgi.mod_wsgi.settings import AsgiAlias, WsgiScript, WsgiServerConfig
from whimbrel.registry.programs import ProgramHost

MAX_EMBEDDED: Final = 4  # processes of one application group in embedded mode
EMBEDDED: Final = DaemonProcess("", is_multiprocess=True, deadlock_timeout=0)
RESTART_DELAY: Final = 2.0  # seconds after the failure of a start
STOP_GRACE: Final = 3.0  # seconds between SIGTERM and SIGKILL, as in httpd
TICK: Final = 1.0  # seconds between two signs of life
MAX_PLACES: Final = 1000  # names of groups that a worker remembers
_PACKAGES: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_START: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from mod_wsgi_process.start import main; main()"
)


def variant_socket(number: int, application_group: str) -> str:
    """Return the name of the socket of an application group."""
    if not application_group:
        return str(number)
    return f"{number}.{blake2b(to_bytes(application_group), digest_size=8).hexdigest()}"


def interpreter(home: str) -> str:
    """Return the interpreter of a Python home; that of the server for "". Raises FileNotFoundError."""
    if not home:
        return sys.executable
    for name in INTERPRETERS:
        path = os.path.join(home, name)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(2, "no interpreter", os.path.join(home, INTERPRETERS[0]))


class ApplicationProcesses(StaticProgram):
    """The processes of one process group for one application group."""

    stop_grace = STOP_GRACE
    may_end_early = True
    restart_delay = RESTART_DELAY

    def __init__(
        self,
        number: int,
        daemon: DaemonProcess,
        settings: WsgiServerConfig,
        surroundings: Surroundings,
        application_group: str = "",
        asgi: AsgiAlias | None = None,
    ) -> None:
        self.number = number
        self.daemon = daemon
        self.settings = settings
        self.surroundings = surroundings
        self.application_group = application_group
        self.name = daemon.name
        self.asgi = asgi
        self.socket_name = (
            variant_socket(number, application_group) if asgi is None else socket_name(asgi.number)
        )
        self.count = daemon.processes
        self.backlog = daemon.listen_backlog
        self.silence_limit = daemon.deadlock_timeout
        self.is_on_demand = not daemon.name or (daemon.application_type == ASGI and asgi is None)
        identity = surroundings.identity(daemon)
        who = "" if identity is None else f"uid={identity.user}, gid={identity.group} and "
        self.label = f"'{daemon.name}' with {who}threads={daemon.threads}."

    def variant(self, name: str) -> ApplicationProcesses:
        """See StaticProgram: *name* is an application group."""
        found = ApplicationProcesses(self.number, self.daemon, self.settings, self.surroundings, name)
        found.is_on_demand = False
        return found

    def owner(self) -> tuple[int, int] | None:
        owner = self.surroundings.owner
        socket_user = user_id(self.daemon.socket_user) if self.daemon.socket_user else None
        return owner if owner is None or socket_user is None else (socket_user, owner[1])

    def launch(self, _path: str, _handle: int, reports: int) -> Launch:
        daemon = self.daemon
        home = daemon.python_home or self.settings.python_home
        command = [
            interpreter(to_system(home)),
            *self._options(),
            "-c",
            _START,
            _PACKAGES,
            self._json(reports),
        ]
        return Launch(
            command,
            self._environment(),
            self._directory(),
            has_reports=True,
            identity=self.surroundings.identity(daemon),
            umask=daemon.umask,
        )

    def _options(self) -> list[str]:
        """Return the options of the interpreter."""
        settings = self.settings
        level = min(2, max(0, atoi(settings.python_optimize)))
        options = ["-" + "O" * level] if level else []
        if not settings.writes_bytecode:
            options.append("-B")
        return options + [f"-W{each}" for each in settings.python_warnings]

    def _environment(self) -> dict[str, str]:
        daemon = self.daemon
        variables = dict(self.surroundings.environment)
        for name, value in (
            ("LANG", daemon.lang),
            ("LC_ALL", daemon.locale),
            ("PYTHON_EGG_CACHE", daemon.python_eggs if daemon.name else self.settings.python_eggs),
            ("PYTHONHASHSEED", self.settings.python_hash_seed),
        ):
            if value:
                variables[name] = to_system(value)
        return variables

    def _directory(self) -> str:
        daemon = self.daemon
        if daemon.home:
            return to_system(daemon.home)
        return user_named(to_system(daemon.user)).pw_dir if daemon.user else "/"

    def _json(self, reports: int) -> str:
        daemon = self.daemon
        wanted = (daemon.name, self.application_group)
        imports = [
            each.path
            for each in self.settings.imports
            if (each.process_group, each.application_group) == wanted
        ]
        path = daemon.python_path if daemon.name else self.settings.python_path
        display_name = f"(wsgi:{daemon.name})" if daemon.display_name == "%{GROUP}" else daemon.display_name
        return json.dumps(
            {
                "process_group": daemon.name,
                "application_group": self.application_group,
                "processes": daemon.processes,
                "threads": daemon.threads,
                "is_multithread": daemon.threads != 1,
                "is_multiprocess": daemon.is_multiprocess,
                "reports": reports,
                "tick": TICK,
                "imports": imports,
                "asgi": None if self.asgi is None else self._asgi(self.asgi),
                "python_path": path,
                "display_name": display_name,
                "locale": daemon.locale,
                "stack_size": daemon.stack_size,
                "maximum_requests": daemon.maximum_requests,
                "startup_timeout": daemon.startup_timeout,
                "shutdown_timeout": daemon.shutdown_timeout,
                "inactivity_timeout": daemon.inactivity_timeout,
                "request_timeout": daemon.request_timeout,
                "graceful_timeout": daemon.graceful_timeout,
                "eviction_timeout": daemon.eviction_timeout,
                "restart_interval": daemon.restart_interval,
                "queue_timeout": daemon.queue_timeout,
                "cpu_time_limit": daemon.cpu_time_limit,
                "cpu_priority": daemon.cpu_priority,
                "memory_limit": daemon.memory_limit,
                "virtual_memory_limit": daemon.virtual_memory_limit,
                "restricts_signal": self.settings.restrict_signal,
                "apache_version": self.surroundings.version,
                "description": SOFTWARE,
            }
        )

    @staticmethod
    def _asgi(mount: AsgiAlias) -> dict[str, str]:
        return {
            "script": mount.script,
            "callable": mount.callable_object,
            "root_path": mount.location.rstrip("/"),
        }


class Surroundings:
    """What all processes have in common.

    Attributes:
        environment: variables. `version`: of httpd.
        owner: user and group of the workers, if processes have other users; None otherwise.
    """

    def __init__(self, configuration: Configuration, daemons: dict[str, DaemonProcess]) -> None:
        self.environment = dict(configuration.options.environment or os.environ)
        self.version = (2, 4, 71) if configuration.dialect.messages_24 else (2, 2, 34)
        self.owner: tuple[int, int] | None = None
        spec = configuration.spec
        user = user_id(spec.user) if spec.user else None
        group = group_id(spec.group) if spec.group else None
        if os.geteuid() == 0 and user is not None and group is not None:
            has_others = any(each.user or each.group or each.supplementary for each in daemons.values())
            self._server = (user, group)
            self.owner = self._server if has_others else None

    def identity(self, daemon: DaemonProcess) -> Identity | None:
        """Return the identity of the processes of *daemon*; None for that of the keeper."""
        if self.owner is None:
            return None
        user = user_id(daemon.user) if daemon.user else self.owner[0]
        group = group_id(daemon.group) if daemon.group else self.owner[1]
        if user is None or group is None:
            raise PermissionError(1, "the account does not exist")
        if daemon.supplementary:
            more = [number for each in daemon.supplementary if (number := group_id(each)) is not None]
            return Identity(user, group, (group, *more))
        return Identity(user, group, tuple(os.getgrouplist(user_numbered(user).pw_name, group)))


class WsgiPlace(NamedTuple):
    """Where the processes of an application group are.

    Attributes:
        number: of the process group. `path`: of the socket. `capacity`: of all threads.
    """

    number: int
    path: str
    capacity: int


class WsgiPool:
    """The process groups as workers see them.

    Attributes:
        server_names: by process group, the name of the virtual host that it belongs to, None for the main
            server's.
    """

    def __init__(self, groups: dict[str, tuple[int, int]], server_names: dict[str, str | None]) -> None:
        """Make it of *groups*: number and threads of each process group."""
        self._groups = groups
        self.server_names = server_names
        self._places: BoundedDict[tuple[str, str], WsgiPlace] = BoundedDict(MAX_PLACES)

    def place_of(self, process_group: str, application_group: str, directory: str) -> WsgiPlace:
        """Return where the processes of an application group are; *directory* has the sockets."""
        key = (process_group, application_group)
        place = self._places.get(key)
        if place is None:
            number, capacity = self._groups[process_group]
            name = variant_socket(number, application_group)
            place = WsgiPlace(number, f"{directory}/{name}", capacity)
            self._places[key] = place
        return place


def _server_names(configuration: Configuration, daemons: dict[str, DaemonProcess]) -> dict[str, str | None]:
    names: dict[str, str | None] = {name: None for name, daemon in daemons.items() if not daemon.is_virtual}
    for server in configuration.servers():
        for name in server.config(WsgiServerConfig).daemon_names:
            if name not in names:
                names[name] = server.name
    return names


def _imported_groups(imports: list[WsgiScript], name: str) -> set[str]:
    """Return the application groups of a process group that scripts are loaded for at the start."""
    found = {each.application_group or "" for each in imports if each.process_group == name}
    return found - {""}


def start_programs(configuration: Configuration, host: ProgramHost) -> list[Any]:
    """Start the keeper. Raises PostConfigError."""
    settings = configuration.main.config(WsgiServerConfig)
    daemons = settings.daemons
    surroundings = Surroundings(configuration, daemons)
    embedded = replace(
        EMBEDDED,
        processes=max(1, min(MAX_EMBEDDED, os.cpu_count() or 1)),
        threads=max(2, min(15, configuration.spec.max_workers)),
    )
    programs = [ApplicationProcesses(0, embedded, settings, surroundings)]
    for daemon in daemons.values():
        programs.append(ApplicationProcesses(len(programs), daemon, settings, surroundings))
    statics: list[StaticProgram] = [*programs]
    for mount in settings.asgi_programs:
        number = len(statics)
        daemon = daemons[mount.process_group]
        statics.append(ApplicationProcesses(number, daemon, settings, surroundings, asgi=mount))
    if any(daemon.chroot for daemon in daemons.values()):
        text = "mod_wsgi: the option chroot of WSGIDaemonProcess has no behaviour here"
        raise PostConfigError("wsgi", ("alert", text), coded=False)
    manager = ProcessManager(
        "wsgi",
        KeeperLimits(),
        WsgiMessages,
        statics=statics,
        parent=os.path.dirname(settings.socket_prefix),
        owner=surroundings.owner,
    )
    groups = {each.name: (each.number, each.daemon.processes * each.daemon.threads) for each in programs}
    manager.context = WsgiPool(groups, _server_names(configuration, daemons))
    try:
        manager.start(host)
    except (NotStarted, OSError) as problem:
        text = f"mod_wsgi: the processes of applications cannot be started: {problem}"
        raise PostConfigError("wsgi", ("alert", text), coded=False) from None
    for program in programs:
        for group in sorted(_imported_groups(settings.imports, program.name)):
            manager.request_variant(program.number, group)
    return [manager]
