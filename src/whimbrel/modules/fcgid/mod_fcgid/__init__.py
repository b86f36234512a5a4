"""mod_fcgid 2.3.9: FastCGI applications that the server starts on demand, one request at a time each.

Manual: https://httpd.apache.org/mod_fcgid/mod/mod_fcgid.html.
"""

from __future__ import annotations

from typing import Any, Final

from whimbrel.base.errors import PostConfigError
from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Setter
from whimbrel.modules.fcgid.mod_fcgid import settings as s
from whimbrel.modules.fcgid.mod_fcgid.settings import FcgidDirConfig, FcgidServerConfig
from whimbrel.modules.support.setters import add_text, set_entry, set_flag, set_in_range, set_number, set_path
from whimbrel.registry.module import PROGRAMS, CompiledHook, Hook, HookMaker, Module, Order, Provider, Scope
from whimbrel.registry.phases import ACCESS_CHECKER, AUTH_CHECKER, CHECK_USER_ID, HANDLER
from whimbrel.registry.programs import ProgramHost

MAX_SLOTS: Final = 4096

# by name and former name
_SERVER: Final[dict[tuple[str, str], Setter]] = {
    ("FcgidBusyScanInterval", "BusyScanInterval"): set_number("busy_scan"),
    ("FcgidBusyTimeout", "BusyTimeout"): set_number("busy_timeout"),
    ("FcgidMaxProcessesPerClass", "DefaultMaxClassProcessCount"): set_number("most"),
    ("FcgidMinProcessesPerClass", "DefaultMinClassProcessCount"): set_number("least"),
    ("FcgidErrorScanInterval", "ErrorScanInterval"): set_number("error_scan"),
    ("FcgidIdleScanInterval", "IdleScanInterval"): set_number("idle_scan"),
    ("FcgidIdleTimeout", "IdleTimeout"): set_number("idle_timeout"),
    ("FcgidIOTimeout", "IPCCommTimeout"): set_in_range(
        "io_timeout", 1, None, "FcgidIOTimeout must be greater than 0"
    ),
    ("FcgidConnectTimeout", "IPCConnectTimeout"): set_number("connect_timeout"),
    ("FcgidMaxProcesses", "MaxProcessCount"): set_number("max_processes"),
    ("FcgidMaxRequestInMem", "MaxRequestInMem"): set_number("in_memory"),
    ("FcgidMaxRequestLen", "MaxRequestLen"): s.set_max_request,
    ("FcgidMaxRequestsPerProcess", "MaxRequestsPerProcess"): set_number("max_requests"),
    ("FcgidOutputBufferSize", "OutputBufferSize"): set_number("output_buffer"),
    ("FcgidPassHeader", "PassHeader"): add_text("pass_headers"),
    ("FcgidFixPathinfo", "PHP_Fix_Pathinfo_Enable"): set_number("fix_pathinfo"),
    ("FcgidProcessLifeTime", "ProcessLifeTime"): set_number("lifetime"),
    ("FcgidProcessTableFile", "SharememPath"): set_path("table_file"),
    ("FcgidIPCDir", "SocketPath"): set_path("ipc_dir"),
    ("FcgidSpawnScore", "SpawnScore"): set_number("spawn_score"),
    ("FcgidSpawnScoreUpLimit", "SpawnScoreUpLimit"): set_number("score_limit"),
    ("FcgidTerminationScore", "TerminationScore"): set_number("termination_score"),
    ("FcgidTimeScore", "TimeScore"): set_number("time_score"),
    ("FcgidZombieScanInterval", "ZombieScanInterval"): set_number("zombie_scan"),
    ("FcgidCmdOptions", "FcgidCmdOptions"): s.set_options,
    ("FcgidInitialEnv", "DefaultInitEnv"): set_entry("environment"),
}
# name after Fcgid and FastCgi: field, kind in messages
_DECIDERS: Final = {
    "AccessChecker": ("access_checker", "Access checker"),
    "Authenticator": ("authenticator", "Authenticator"),
    "Authorizer": ("authorizer", "Authorizer"),
}


def _dir_setters() -> dict[str, Setter]:
    """Return the setters of per-directory settings: each directive under its name and that of mod_fastcgi."""
    setters: dict[str, Setter] = {"FcgidWrapper": s.set_wrapper, "FCGIWrapper": s.set_wrapper}
    for name, (field, kind) in _DECIDERS.items():
        for prefix in ("Fcgid", "FastCgi"):
            setters[f"{prefix}{name}"] = s.program(field, kind)
            setters[f"{prefix}{name}Authoritative"] = set_flag(f"{field}_authoritative")
    return setters


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler fcgid-script."""
    from whimbrel.modules.fcgid.mod_fcgid.handler import make_handler as make  # imports what -t does not need

    return make(scope)


def _decider(field: str) -> HookMaker:
    def make_decider(scope: Scope) -> CompiledHook | None:
        """Make the hook of one program that decides about access; None without one."""
        if getattr(scope.dir_config(FcgidDirConfig), field) is None:
            return None
        from whimbrel.modules.fcgid.mod_fcgid.deciders import make_decider as make

        return make(scope, field)

    return make_decider


def start_programs(configuration: Configuration, host: ProgramHost) -> list[Any]:
    """Start the process manager. Raises PostConfigError."""
    from whimbrel.modules.support.processes.manager import NotStarted, ProcessManager
    from whimbrel.modules.support.processes.program import KeeperLimits

    conf = configuration.main.config(FcgidServerConfig)
    limits = KeeperLimits(
        most=conf.max_processes,
        spawn_score=conf.spawn_score,
        termination_score=conf.termination_score,
        time_score=conf.time_score,
        score_limit=conf.score_limit,
        idle_scan=conf.idle_scan,
        busy_scan=conf.busy_scan,
        error_scan=conf.error_scan,
        zombie_scan=conf.zombie_scan,
    )
    slots = min(max(1, conf.max_processes), MAX_SLOTS)
    manager = ProcessManager("fcgid", limits, slots=slots, parent=conf.ipc_dir)
    try:
        manager.start(host)
    except (NotStarted, OSError) as problem:
        text = f"mod_fcgid: Can't initialize process manager: {problem}"
        raise PostConfigError("fcgid", ("emerg", text), coded=False) from None
    return [manager]


MODULE = Module(
    name="fcgid_module",
    source="mod_fcgid.c",
    dir_config=FcgidDirConfig,
    server_config=FcgidServerConfig,
    dir_setters=_dir_setters(),
    server_setters={name: setter for names, setter in _SERVER.items() for name in names},
    hooks=(
        Hook(HANDLER, make_handler, Order.MIDDLE),
        Hook(CHECK_USER_ID, _decider("authenticator"), Order.MIDDLE),
        Hook(AUTH_CHECKER, _decider("authorizer"), Order.MIDDLE),
        Hook(ACCESS_CHECKER, _decider("access_checker"), Order.MIDDLE),
    ),
    providers=(Provider(PROGRAMS, "fcgid", start_programs),),
)
