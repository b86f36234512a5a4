"""mod_fcgid 2.3.9: FastCGI applications that the server starts on demand, one request at a time each.

Manual: https://httpd.apache.org/mod_fcgid/mod/mod_fcgid.html.
"""

from __future__ import annotations

from typing import Any, Final

from whimbrel.base.errors import PostConfigError
from whimbrel.directives.spec import Args, ConfigScope, Context, Directive
from whimbrel.modules.fcgid.mod_fcgid import settings as s
from whimbrel.modules.fcgid.mod_fcgid.settings import FcgidDirConfig, FcgidServerConfig
from whimbrel.modules.support.setters import Setter, set_flag
from whimbrel.registry.module import PROGRAMS, CompiledHook, Hook, HookMaker, Module, Order, Provider, Scope
from whimbrel.registry.phases import ACCESS_CHECKER, AUTH_CHECKER, CHECK_USER_ID, HANDLER
from whimbrel.registry.programs import ProgramHost

MAX_SLOTS: Final = 4096

# name, former name, setter, help: directives of the server
_SERVER: Final[tuple[tuple[str, str, Setter, str], ...]] = (
    ("FcgidBusyScanInterval", "BusyScanInterval", s.main_number("busy_scan"),
     "scan interval for busy timeout process"),
    ("FcgidBusyTimeout", "BusyTimeout", s.number("busy_timeout"),
     "a fastcgi application will be killed after handling a request for BusyTimeout"),
    ("FcgidMaxProcessesPerClass", "DefaultMaxClassProcessCount", s.number("most"),
     "Max process count of one class of fastcgi application"),
    ("FcgidMinProcessesPerClass", "DefaultMinClassProcessCount", s.number("least"),
     "Min process count of one class of fastcgi application"),
    ("FcgidErrorScanInterval", "ErrorScanInterval", s.main_number("error_scan"),
     "scan interval for exited process"),
    ("FcgidIdleScanInterval", "IdleScanInterval", s.main_number("idle_scan"),
     "scan interval for idle timeout process"),
    ("FcgidIdleTimeout", "IdleTimeout", s.number("idle_timeout"),
     "an idle fastcgi application will be killed after IdleTimeout"),
    ("FcgidIOTimeout", "IPCCommTimeout", s.set_io_timeout, "Communication timeout to fastcgi server"),
    ("FcgidConnectTimeout", "IPCConnectTimeout", s.number("connect_timeout"),
     "Connect timeout to fastcgi server"),
    ("FcgidMaxProcesses", "MaxProcessCount", s.main_number("max_processes"), "Max total process count"),
    ("FcgidMaxRequestInMem", "MaxRequestInMem", s.number("in_memory"),
     "The part of HTTP request which greater than this limit will swap to disk"),
    ("FcgidMaxRequestLen", "MaxRequestLen", s.set_max_request, "Max HTTP request length in byte"),
    ("FcgidMaxRequestsPerProcess", "MaxRequestsPerProcess", s.number("max_requests"),
     "Max requests handled by each fastcgi application"),
    ("FcgidOutputBufferSize", "OutputBufferSize", s.number("output_buffer"), "CGI output buffer size"),
    ("FcgidPassHeader", "PassHeader", s.add_header,
     "Header name which will be passed to FastCGI as environment variable."),
    ("FcgidFixPathinfo", "PHP_Fix_Pathinfo_Enable", s.main_number("fix_pathinfo"),
     "Set 1, if cgi.fix_pathinfo=1 in php.ini"),
    ("FcgidProcessLifeTime", "ProcessLifeTime", s.number("lifetime"), "fastcgi application lifetime"),
    ("FcgidProcessTableFile", "SharememPath", s.main_path("table_file"),
     "fastcgi shared memory file path"),
    ("FcgidIPCDir", "SocketPath", s.main_path("ipc_dir"), "fastcgi socket file path"),
    ("FcgidSpawnScore", "SpawnScore", s.main_number("spawn_score"), "Score of spawn"),
    ("FcgidSpawnScoreUpLimit", "SpawnScoreUpLimit", s.main_number("score_limit"), "Spawn score up limit"),
    ("FcgidTerminationScore", "TerminationScore", s.main_number("termination_score"),
     "Score of termination"),
    ("FcgidTimeScore", "TimeScore", s.main_number("time_score"), "Score of passage of time (in seconds)"),
    ("FcgidZombieScanInterval", "ZombieScanInterval", s.main_number("zombie_scan"),
     "scan interval for zombie process"),
)  # fmt: skip
# name after Fcgid and FastCgi, field, kind in messages, words of help texts
_DECIDERS: Final = (
    ("AccessChecker", "access_checker", "Access checker", "access checker", "access control"),
    ("Authenticator", "authenticator", "Authenticator", "authenticator", "authentication"),
    ("Authorizer", "authorizer", "Authorizer", "authorizer", "authorization"),
)  # fmt: skip
_ANYWHERE: Final = Context.ACCESS_CONF | Context.OR_FILEINFO


def _row(name: str, apply: Setter, text: str, args: Args = Args.TAKE1) -> Directive[Any]:
    return Directive(
        name=name, args=args, where=Context.RSRC_CONF, apply=apply, help=text, record=ConfigScope.SERVER
    )


def _directives() -> tuple[Directive[Any], ...]:
    """Return the table: each directive under its name, then under that of 2.2."""
    rows = [_row(name, apply, text) for name, _old, apply, text in _SERVER]
    rows += [_row(old, apply, f"Deprecated - Use '{name}' instead") for name, old, apply, _text in _SERVER]
    rows.append(
        _row("FcgidCmdOptions", s.set_options, "set processing options for a FastCGI command", Args.RAW_ARGS)
    )
    text = "an environment variable name and optional value to pass to FastCGI."
    rows.append(_row("FcgidInitialEnv", s.set_environment, text, Args.TAKE12))
    text = "Deprecated - Use 'FcgidInitialEnv' instead"
    rows.append(_row("DefaultInitEnv", s.set_environment, text, Args.TAKE12))
    out: list[Directive[Any]] = rows
    for name, field, kind, file, what in _DECIDERS:
        text = f"a absolute {file} file path"
        apply, flag = s.program(field, kind), set_flag(f"{field}_authoritative")
        allow = f"Set to 'off' to allow {what} to be passed along to lower modules upon failure"
        for prefix, help_text, help_flag in (
            ("Fcgid", text, allow),
            (
                "FastCgi",
                f"Deprecated - Use 'Fcgid{name}' instead",
                f"Deprecated - Use 'Fcgid{name}Authoritative' instead",
            ),
        ):
            out.append(
                Directive(
                    name=f"{prefix}{name}", args=Args.TAKE1, where=_ANYWHERE, apply=apply, help=help_text
                )
            )
            out.append(
                Directive(
                    name=f"{prefix}{name}Authoritative",
                    args=Args.FLAG,
                    where=_ANYWHERE,
                    apply=flag,
                    help=help_flag,
                )
            )
    text = "The CGI wrapper file an optional URL suffix and an optional flag"
    for name, help_text in (
        ("FcgidWrapper", text),
        ("FCGIWrapper", "Deprecated - Use 'FcgidWrapper' instead"),
    ):
        where = Context.RSRC_CONF | _ANYWHERE
        out.append(Directive(name=name, args=Args.TAKE123, where=where, apply=s.set_wrapper, help=help_text))
    return tuple(out)


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


def start_programs(configuration: Any, host: ProgramHost) -> list[Any]:
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
    directives=_directives(),
    hooks=(
        Hook(HANDLER, make_handler, Order.MIDDLE),
        Hook(CHECK_USER_ID, _decider("authenticator"), Order.MIDDLE),
        Hook(AUTH_CHECKER, _decider("authorizer"), Order.MIDDLE),
        Hook(ACCESS_CHECKER, _decider("access_checker"), Order.MIDDLE),
    ),
    providers=(Provider(PROGRAMS, "fcgid", start_programs),),
)
