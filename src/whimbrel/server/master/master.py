"""Parent process: reads the configuration, binds sockets, opens logs, forks workers and supervises them.

It waits in poll(2); between signals it only checks the heartbeats of its workers. Every cause of its end is
logged. How httpd's MPM settings apply here: docs/process-model.md.

Signals: TERM, INT stop; WINCH graceful stop; HUP restart; USR1 graceful restart; USR2 is ignored. Manual:
stopping.html.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from types import CodeType

from whimbrel.base.errors import ConfigError, PostConfigError, StartError, apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.catalogue.log_sources import source_of
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.messages import format_error, format_message
from whimbrel.config.model import LogSink, Server, Stage
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.engine.engine import Engine
from whimbrel.engine.log.error_log_line import enabled
from whimbrel.http.semantics.dates import error_log_time
from whimbrel.server.logs.logs import Logs
from whimbrel.server.master import pidfile, privileges, single_process, sockets, systemd
from whimbrel.server.master.generation import Generation
from whimbrel.server.master.messages import complain
from whimbrel.server.master.preload import import_everything
from whimbrel.server.master.segments import SegmentStore
from whimbrel.server.master.worker_pool import FATAL_SIGNALS, QUICK_DEATH, SIGNALS, FatalChild, WorkerPool
from whimbrel.server.worker.memory import map_large_buffers
from whimbrel.server.worker.runtime import ServerRuntime, thread_count
from whimbrel.server.worker.scoreboard import ServerInfo, SharedScoreboard
from whimbrel.server.worker.worker import GRACEFUL_STOP

_URGENCY = (signal.SIGTERM, signal.SIGINT, signal.SIGWINCH, signal.SIGHUP, signal.SIGUSR1)


@dataclass(frozen=True, slots=True)
class StartOptions:
    """Options of a start.

    Attributes:
        load: reads the configuration
        command_line: command line as the log shows it
        single: -X, one process
        detached: the server runs in the background, without the streams of the starting process
        built: build date
        ready: called when the server serves
        keeps_old: a graceful restart with an invalid configuration changes nothing
    """

    load: Callable[[], Configuration]
    command_line: str
    single: bool = False
    detached: bool = False
    built: str = ""
    ready: Callable[[], None] = lambda: None
    keeps_old: bool = False


class Master:
    """Parent process from its first configuration to its end."""

    def __init__(self, options: StartOptions) -> None:
        self.options = options
        self.board = SharedScoreboard()
        self.children = WorkerPool(self.board)
        self.sockets: dict[sockets.Key, socket.socket] = {}
        self.life = ServerInfo(time.time(), time.time(), built=options.built)
        self._pending_signals: list[int] = []
        self._pid_path = ""
        self._imported: set[CodeType] = set()
        self.wanted = 1
        self.notifier = systemd.Notifier(os.environ)
        self._segments = SegmentStore()

    # starting ---------------------------------------------------------------------------------
    def prepare(self, configuration: Configuration, *, serves: bool = True) -> None:
        """Do all that may fail before the server detaches; raise StartError. No *serves*: logs only."""
        spec = configuration.spec
        if serves:
            privileges.check(spec, configuration.dialect)
        loaded = configuration.loaded("systemd_module")
        self.notifier.enable(loaded)
        if loaded and not self.sockets:
            self.sockets = systemd.listen_fds(os.environ)
        bound = sockets.to_sockets(
            sockets.bind_all(spec.listeners, self.sockets, spec.backlog, configuration.dialect)
        )
        for key, sock in self.sockets.items():
            if key not in bound:
                sock.close()
        self.sockets = bound
        logs = Logs(configuration.dialect, configuration.program, configuration.root)
        segments = self._segments.open(configuration) if serves else {}
        runtime = ServerRuntime(logs, thread_count(spec.threads), slots=self.board.slots, segments=segments)
        self.life.mpm = next(
            (n for n in ("prefork", "worker") if configuration.loaded(f"mpm_{n}_module")), "event"
        )
        self.life.slots = max(1, spec.max_workers // spec.threads) * spec.threads
        generation = Generation(
            configuration, Engine(configuration, runtime), runtime, logs, bound, self.board, self.life
        )
        configuration.release_tree()
        logs.open_error_log(generation.error_log)
        logs.report = lambda text: generation.log("error", text, module="log_config")
        logs.open(_error_logs(configuration), error_log=True)
        logs.open(spec.log_sinks, hold=spec.buffered_logs)
        self.generation = generation
        if not self.life.generation:
            for name, (code, text) in configuration.modules.providers("first_notice").items():
                generation.log("notice", text, code=code, module=name)
        self.log_config_messages()
        if serves:
            generation.start_programs()
        processors = len(os.sched_getaffinity(0))
        self.limit = max(1, min(processors, spec.max_processes or processors))
        self.wanted = max(1, min(spec.processes or processors, self.limit))

    def log_config_messages(self) -> None:
        """Repeat the start messages in the error log.

        httpd reads its configuration twice, the second time with standard error redirected to its log, so
        the log has the messages of the console too. A server in the background has closed standard error
        before it executes them: at its first start, the log lacks the messages of execution.
        """
        generation = self.generation
        dialect = generation.dialect
        runtime = generation.runtime
        stamp = error_log_time(runtime.now(), microseconds=dialect.messages_24)[1:-1]
        configuration = generation.configuration
        is_unheard = self.options.detached and not self.life.generation
        unheard = configuration.execution_messages if is_unheard else range(0)
        for number, message in enumerate(configuration.messages):
            if number in unheard or (message.stage is Stage.FIRST_RUN and self.life.generation):
                continue
            if message.logged is not None:
                generation.log("warn", message.logged[1], code=message.logged[0], module=message.module)
                continue
            if message.level == "startup" and dialect.messages_24 and not self.life.generation:
                continue
            server = message.server or configuration.main
            levels = server.config(CoreServerConfig).log_level
            if message.level in ("startup", "notice") or enabled(levels, message.module, message.level):
                line = format_message(
                    message, dialect, time=stamp, process=f"pid {runtime.pid}:tid {runtime.tid}"
                )
                generation.logs.write(self._log_of(server), to_bytes(line) + b"\n")

    def _log_of(self, server: Server) -> LogSink:
        """Return the error log of *server*."""
        generation = self.generation
        provider = generation.configuration.provider("log", "error_sink")
        if provider is None or server is generation.configuration.main:
            return generation.error_log
        sink: LogSink = provider(generation.configuration, server)
        return sink

    def report_failure(self, problem: PostConfigError, *, repeat_in_log: bool) -> None:
        """Log why a module failed in post_config.

        With *repeat_in_log* the log has httpd's closing line too: the server ran before, or httpd would have
        come that far.
        """
        generation = self.generation
        coded = self.generation.dialect.messages_24
        for level, text in problem.log_lines:
            generation.log(level, text, module=problem.module)
        if problem.exits:
            pass
        elif repeat_in_log and coded:
            generation.log("emerg", "Configuration Failed, exiting", code="AH00020", module="")
        else:
            generation.logs.write(generation.error_log, to_bytes(problem.lines[-1]) + b"\n")
        generation.logs.end()

    def run(self) -> int:
        """Run as the server's parent process until the end; return the exit status."""
        self.generation.runtime.after_fork()
        faulthandler.enable(2)  # a crash of the interpreter, in a worker too, leaves a trace in the log
        try:
            return self._serve()
        except (KeyboardInterrupt, SystemExit):  # a signal before this process handles signals
            self.children.terminate(self.generation)
            return 0
        except BaseException as problem:
            self._report(problem)
            self.children.terminate(self.generation)
            return 1
        finally:
            self.notifier.stopping()
            if not self.options.single:  # as in httpd: the process may have lost the right to do so
                self._remove_pid_file()
            self.generation.release_programs(at_once=True)
            self._segments.forget()
            self.generation.logs.end()

    def _serve(self) -> int:
        privileges.raise_limits()
        map_large_buffers()
        self._import()  # imports are slow: do them before the first line of the log
        temporary = self._pid_file(warns=True)
        if temporary is None:
            return 1
        self._listen_to_signals()
        if self.options.single:
            gc.enable()
        else:
            self._fork_workers()
        self.log_started()
        pidfile.publish(self.generation.spec.pid_file, temporary)
        self.options.ready()
        self.notifier.ready()
        return single_process.serve(self.generation) if self.options.single else self._main_loop()

    def _pid_file(self, *, warns: bool) -> bytes | None:
        """Prepare the PidFile; return None after a failure, which is logged.

        *warns*: this is the start, at which a file is that of another server.
        """
        generation = self.generation
        path = generation.spec.pid_file
        self._pid_path = path
        try:
            if warns and os.path.exists(to_bytes(path)) and not _is(path, os.getpid()):
                text = f"pid file {path} overwritten -- Unclean shutdown of previous Apache run?"
                generation.log("warn", text, code="AH00098")
            return pidfile.prepare(path, os.getpid())
        except OSError as problem:
            self._pid_path = ""
            shown = (
                problem.filename.decode("latin-1")
                if isinstance(problem.filename, bytes)
                else f"{path}.XXXXXX"
            )
            generation.log(
                "error",
                f"{apr_error(problem)}: AH00099: could not create {shown}"
                if generation.dialect.messages_24
                else f"{apr_error(problem)}: could not create {path}",
            )
            generation.log(
                "error",
                f"{generation.configuration.program}: could not log pid to file {path}",
                code="AH00100",
            )
            return None

    def _remove_pid_file(self) -> None:
        """Remove the PidFile, once, and log it."""
        path, self._pid_path = self._pid_path, ""
        if not path:
            return
        generation = self.generation
        number = os.getpid()
        try:
            if pidfile.remove(path, number):
                generation.log("info", f"removed PID file {path} (pid={number})", code="AH00096")
        except OSError as problem:
            if generation.dialect.messages_24:
                text = f"failed to remove PID file {path}"
                generation.log("error", text, code="AH00095", cause=apr_error(problem))

    def log_started(self) -> None:
        """Log the lines that announce a running server."""
        generation = self.generation
        words = generation.words
        generation.log(
            "notice", words.running[1] % generation.identity, code=words.running[0], module=words.module
        )
        generation.log("info", f"Server built: {self.options.built}", code=words.built, module=words.module)
        if generation.dialect.messages_24:
            generation.log("notice", f"Command line: '{self.options.command_line}'", code="AH00094")

    # signals ----------------------------------------------------------------------------------
    def _listen_to_signals(self) -> None:
        signal.set_wakeup_fd(self.children.wake_out, warn_on_full_buffer=False)
        for number in (*SIGNALS, *FATAL_SIGNALS):
            signal.signal(number, self._note_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*SIGNALS, *FATAL_SIGNALS))

    def _note_signal(self, number: int, _frame: object) -> None:
        if number not in (signal.SIGCHLD, signal.SIGUSR2):
            self._pending_signals.append(number)

    def _import(self) -> None:
        """Import what workers may import later: they may lack descriptors, rights, or files."""
        import_everything(self.generation.configuration, self._imported)
        source_of("core", "", "")

    def _fork_workers(self) -> None:
        """Fork the workers; freeze shared objects first, so that collections do not copy pages."""
        if self.life.generation:
            self._import()
            gc.unfreeze()
            # objects of the previous generation; at the first start there is next to nothing to collect
            gc.collect()
        gc.freeze()
        gc.enable()  # start-up disables it
        self.children.spawn_missing(self.generation, self.wanted)

    def _main_loop(self) -> int:
        """Sleep and handle signals, ended children and their messages; return the exit status."""
        while True:
            try:
                self._wait()
                self.children.reap(self.generation)
            except FatalChild:
                self.children.terminate(self.generation)
                return 1
            except (
                Exception
            ) as problem:  # such a fault concerns one worker or one message: the server goes on
                self._report(problem)
                time.sleep(QUICK_DEATH)
            if self._pending_signals:
                status = self._handle_signal(self._most_urgent())
                if status is not None:
                    return status
            children = self.children
            if children.respawn_at is None or children.respawn_at <= time.monotonic():
                children.respawn_at = None
                children.spawn_missing(self.generation, self.wanted)

    def _wait(self) -> None:
        """Sleep until the next event, and run what is due."""
        children = self.children
        logs = self.generation.logs
        notifier = self.notifier
        seconds = children.watch(self.generation)
        due = [
            when - time.monotonic()
            for when in (children.respawn_at, notifier.due(), logs.restart_at)
            if when is not None
        ]
        if children.listen(min([seconds, *due])):
            self.wanted = min(self.wanted + 1, self.limit)
        logs.restart_programs()
        if notifier.active:
            main = self.generation.configuration.main.config(MpmConfig)
            notifier.tick(self.board, self.life, extended=main.extended_status is not False)

    def _report(self, problem: BaseException) -> None:
        """Log an internal error."""
        self.generation.log("crit", "".join(traceback.format_exception(problem)).rstrip("\n"))

    def _most_urgent(self) -> int:
        """Return the most urgent pending signal, drop the others: restarts cannot block the loop."""
        pending, self._pending_signals = set(self._pending_signals), []
        return next((number for number in _URGENCY if number in pending), pending.pop())

    def _handle_signal(self, number: int) -> int | None:
        """Handle a signal; return the exit status if it ends the server."""
        generation = self.generation
        words = generation.words
        if number in (signal.SIGTERM, signal.SIGINT):
            self.notifier.stopping()
            self.children.terminate(generation)
            self._remove_pid_file()
            generation.log("notice", words.term[1], code=words.term[0], module=words.module)
            return 0
        if number == signal.SIGWINCH:
            self._remove_pid_file()
            generation.log("notice", words.winch[1], code=words.winch[0], module=words.module)
            self._stop_gracefully()
            return 0
        if number in FATAL_SIGNALS:
            generation.log(
                "alert", f"caught {signal.Signals(number).name}, shutting down", module=words.module
            )
            self.children.terminate(generation)
            return 1
        graceful = number == signal.SIGUSR1
        what = words.usr1 if graceful else words.hup
        generation.log("notice", what[1], code=what[0], module=words.module)
        return self.restart(graceful=graceful)

    def _stop_gracefully(self) -> None:
        self.notifier.stopping()
        for sock in self.sockets.values():
            sock.close()
        self.children.signal_all(GRACEFUL_STOP)
        self.children.wait(
            self.generation, self.generation.spec.graceful_timeout or float("inf"), self._pending_signals
        )
        self.children.terminate(self.generation)

    # restarting -------------------------------------------------------------------------------
    def _load(self, *, keeps_old: bool) -> Configuration | None:
        """Read the configuration; with *keeps_old* log what is wrong with it and return None."""
        try:
            return self.options.load()
        except (ConfigError, StartError) as problem:
            if not keeps_old:
                raise
            complain(format_error(problem, self.generation.dialect, self.generation.configuration.program))
            self.notifier.ready()
            return None

    def restart(self, *, graceful: bool) -> int | None:
        """Start a new generation; return None when it runs, else the exit status."""
        self.notifier.reloading()
        if not graceful:
            self.children.terminate(self.generation, signal.SIGHUP)
        old = self.generation
        if not graceful:
            old.configuration.inherited.clear()
        try:
            configuration = self._load(keeps_old=graceful and self.options.keeps_old)
            if configuration is None:
                return None
            if not graceful:
                self.board.forget()
                self._segments.forget()
                self.life.started = time.time()
            self.life = replace(self.life, restarted=self.life.started, generation=self.life.generation + 1)
            self.prepare(configuration)
        except PostConfigError as problem:
            self.report_failure(problem, repeat_in_log=True)
            self.children.terminate(old)
            return 1
        except (ConfigError, StartError) as problem:
            complain(format_error(problem, old.dialect, old.configuration.program))
            self.children.terminate(old)
            return 1
        temporary = self._pid_file(warns=False)
        if temporary is None:
            return 1
        pidfile.publish(self._pid_path, temporary)
        old.release_programs(at_once=not graceful)
        old.logs.close()  # before the fork: programs of the old generation end with its workers
        self._fork_workers()
        self.log_started()
        if graceful:
            self.children.signal_all(signal.SIGUSR1, self.life.generation - 1)
        self.notifier.ready()
        return None


def _is(path: str, number: int) -> bool:
    try:
        return pidfile.read(path) == number
    except pidfile.BadPidFile:
        return False


def _error_logs(configuration: Configuration) -> list[LogSink]:
    """Return the error logs of all servers; BufferedLogs does not apply to them."""
    provider = configuration.provider("log", "error_sink")
    return (
        [provider(configuration, server) for server in configuration.servers()]
        if provider is not None
        else []
    )
