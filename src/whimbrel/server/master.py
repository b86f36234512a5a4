"""The master: reads the configuration, binds the sockets, opens the logs, forks workers and looks after them.

It waits in select(2) and does nothing between signals.  How the numbers of httpd's MPMs are meant here (a worker serves any number of connections):

    ========================================================  =====================================================================
    StartServers                                              workers at the beginning, at most one for each processor (the default)
    ServerLimit, MaxRequestWorkers (MaxClients),              workers at most: MaxRequestWorkers / ThreadsPerChild, and never more than
    ThreadsPerChild, ThreadLimit                              processors; a worker that is busy for a second brings the next one
    ThreadsPerChild                                           also: threads of a worker for what blocks
    MaxConnectionsPerChild (MaxRequestsPerChild)              connections after which a worker is replaced, without a gap
    MinSpareThreads, MaxSpareThreads, MinSpareServers,        no meaning: a waiting worker costs nothing
    MaxSpareServers, AsyncRequestWorkerFactor, MaxMemFree
    ========================================================  =====================================================================

Signals: TERM, INT stop; WINCH graceful stop; HUP restart; USR1 graceful restart.  Manual: stopping.html.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from whimbrel.config.configuration import Configuration
from whimbrel.config.core import CoreServer
from whimbrel.config.messages import format_error, format_message
from whimbrel.config.model import LogSink
from whimbrel.errors import ConfigError, StartError
from whimbrel.http.dates import error_log_time
from whimbrel.octets import raw
from whimbrel.request.engine import Engine
from whimbrel.request.log import enabled
from whimbrel.server import pidfile, privileges, sockets
from whimbrel.server.generation import Generation
from whimbrel.server.logs import Logs
from whimbrel.server.runtime import ServerRuntime
from whimbrel.server.scoreboard import Board, Life
from whimbrel.server.words import cause
from whimbrel.server.worker import FATAL, Worker, child

PATIENCE: Final = 6.0    # seconds after which a worker that was told to stop is killed
QUICK_DEATH: Final = 1.0  # a worker that lived no longer is replaced with a delay
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGWINCH, signal.SIGCHLD)


@dataclass(frozen=True, slots=True)
class StartOptions:
    """How the server was started: *load* reads the configuration anew; *command_line* is for the log; *single* is -X."""

    load: Callable[[], Configuration]
    command_line: str
    single: bool = False
    built: str = ""
    ready: Callable[[], None] = lambda: None


@dataclass(slots=True)
class Child:
    """A running worker."""

    pid: int
    slot: int
    generation: int
    born: float
    leaving: bool = False


class Master:
    """The parent process from its first configuration to its end."""

    def __init__(self, options: StartOptions) -> None:
        self.options = options
        self.board = Board()
        self.children: dict[int, Child] = {}
        self.sockets: dict[sockets.Key, socket.socket] = {}
        self.old_logs: list[Logs] = []
        self.life = Life(time.time(), time.time(), built=options.built)
        self._told: list[int] = []
        self._respawn_at: float | None = None
        self.wanted = 1

    # starting ---------------------------------------------------------------------------------
    def prepare(self, configuration: Configuration) -> None:
        """Everything that may fail while there is somebody to tell; raises StartError."""
        spec = configuration.spec
        privileges.check(spec, configuration.dialect)
        bound = sockets.bind_all(spec.listeners, self.sockets, spec.backlog, configuration.dialect)
        for key, one in self.sockets.items():
            if key not in bound:
                one.close()
        self.sockets = bound
        logs = Logs(configuration.dialect, configuration.program)
        runtime = ServerRuntime(logs, min(32, max(4, spec.threads)))
        self.life.mpm = next((n for n in ("prefork", "worker") if configuration.loaded(f"mpm_{n}_module")), "event")
        generation = Generation(configuration, Engine(configuration, runtime), runtime, logs, bound, self.board, self.life)
        logs.open_error_log(generation.error_log)
        logs.open(_error_logs(configuration), error_log=True)
        logs.open(spec.log_sinks, hold=spec.buffered_logs)
        self.generation = generation
        self.repeat_messages()
        processors = len(os.sched_getaffinity(0))
        self.limit = max(1, min(processors, spec.max_processes or processors))
        self.wanted = max(1, min(spec.processes or processors, self.limit))

    def repeat_messages(self) -> None:
        """httpd reads its configuration twice, the second time with its log open: what was said on the console is in the log, too."""
        generation = self.generation
        dialect, runtime = generation.dialect, generation.runtime
        levels = generation.configuration.main.conf(CoreServer).log_level
        stamp = error_log_time(runtime.now(), microseconds=dialect.ah_codes)[1:-1]
        for message in generation.configuration.messages:
            if message.level == "startup" and dialect.ah_codes and not self.life.generation:
                continue
            if message.level == "startup" or enabled(levels, message.module, message.level):
                line = format_message(message, dialect, time=stamp, process=f"pid {runtime.pid}:tid {runtime.tid}")
                generation.logs.write(generation.error_log, raw(line) + b"\n")

    def run(self) -> int:
        """Be the server's parent until the end; the exit status."""
        self.generation.runtime.born()
        temporary = self._pid_file()
        if temporary is None:
            return 1
        self._listen_to_signals()
        self._lifeline, self._lifeline_out = os.pipe()
        self._control, self._control_out = os.pipe()
        os.set_blocking(self._control, False)
        os.set_blocking(self._control_out, False)
        if not self.options.single:
            privileges.import_everything()
            gc.collect()
            gc.freeze()
            self.start_workers()
        self.say_hello()
        pidfile.publish(self.generation.spec.pid_file, temporary)
        self.options.ready()
        try:
            return self._alone() if self.options.single else self._look_after()
        finally:
            pidfile.remove(self._pid_path, os.getpid())
            self._close_logs()

    def _pid_file(self) -> bytes | None:
        """Prepare the PidFile; None when that fails, which the log tells."""
        generation = self.generation
        self._pid_path = path = generation.spec.pid_file
        try:
            if os.path.exists(raw(path)) and not _is(path, os.getpid()):
                text = f"pid file {path} overwritten -- Unclean shutdown of previous Apache run?"
                generation.log("warn", text, code="AH00098")
            return pidfile.prepare(path, os.getpid())
        except OSError as problem:
            shown = problem.filename.decode("latin-1") if isinstance(problem.filename, bytes) else f"{path}.XXXXXX"
            generation.log("error", f"{cause(problem)}: AH00099: could not create {shown}" if generation.dialect.ah_codes
                           else f"{cause(problem)}: could not create {path}")
            generation.log("error", f"{generation.configuration.program}: could not log pid to file {path}", code="AH00100")
            return None

    def say_hello(self) -> None:
        """The lines of the log that tell that the server runs."""
        generation = self.generation
        words = generation.words
        generation.log("notice", words.running[1] % generation.identity, code=words.running[0], module=words.module)
        if generation.dialect.ah_codes:
            generation.log("notice", f"Command line: '{self.options.command_line}'", code="AH00094")

    # signals ----------------------------------------------------------------------------------
    def _listen_to_signals(self) -> None:
        self._wake_in, wake_out = os.pipe()
        for end in (self._wake_in, wake_out):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake_out, warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, self._note_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def _note_signal(self, number: int, _frame: object) -> None:
        if number != signal.SIGCHLD:
            self._told.append(number)

    def _look_after(self) -> int:
        """Sleep, and do what signals, children and their messages ask for."""
        while True:
            timeout = None if self._respawn_at is None else max(0.0, self._respawn_at - time.monotonic())
            ready, _, _ = select.select([self._wake_in, self._control], [], [], timeout)
            if self._wake_in in ready:
                _drain(self._wake_in)
            if self._control in ready:
                self._heard(os.read(self._control, 4096))
            if not self._reap():
                self._end_children(signal.SIGTERM)
                return 1
            while self._told:
                status = self._obey(self._told.pop(0))
                if status is not None:
                    return status
            if self._respawn_at is None or self._respawn_at <= time.monotonic():
                self._respawn_at = None
                self.start_workers()

    def _obey(self, number: int) -> int | None:
        """Do what a signal says; the exit status when that is the end."""
        generation = self.generation
        words = generation.words
        if number in (signal.SIGTERM, signal.SIGINT):
            self._end_children(signal.SIGTERM)
            generation.log("notice", words.term[1], code=words.term[0], module=words.module)
            return 0
        if number == signal.SIGWINCH:
            generation.log("notice", words.winch[1], code=words.winch[0], module=words.module)
            self._stop_gracefully()
            return 0
        graceful = number == signal.SIGUSR1
        what = words.usr1 if graceful else words.hup
        generation.log("notice", what[1], code=what[0], module=words.module)
        return self.restart(graceful=graceful)

    # workers ----------------------------------------------------------------------------------
    def start_workers(self) -> None:
        """Fork what is missing of this generation."""
        present = sum(1 for c in self.children.values() if c.generation == self.life.generation and not c.leaving)
        for _ in range(self.wanted - present):
            self._fork()

    def _fork(self) -> None:
        taken = {c.slot for c in self.children.values()}
        slot = next((n for n in range(self.board.slots) if n not in taken), None)
        if slot is None:
            return
        generation = self.generation
        try:
            pid = os.fork()
        except OSError as problem:
            generation.log("error", f"{cause(problem)}: AH00159: fork: Unable to fork new process")
            self._respawn_at = time.monotonic() + QUICK_DEATH
            return
        if pid == 0:
            self._become_worker(generation, slot)
        self.children[pid] = Child(pid, slot, self.life.generation, time.monotonic())

    def _become_worker(self, generation: Generation, slot: int) -> None:
        status = FATAL
        try:
            signal.set_wakeup_fd(-1)
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            os.close(self._lifeline_out)
            status = child(generation, slot, self._lifeline, self._control_out)
        except Exception as problem:
            generation.log("crit", "".join(traceback.format_exception(problem)).rstrip("\n"))
        finally:
            generation.logs.flush()
            os._exit(status)

    def _reap(self) -> bool:
        """Bury who has ended; False when a worker could not begin at all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if not pid:
                return True
            gone = self.children.pop(pid, None)
            if gone is None:
                self._program_ended(pid)
                continue
            self.board.clear(gone.slot)
            code = os.waitstatus_to_exitcode(status)
            if code == FATAL:
                text = f"Child {pid} returned a Fatal error... Apache is exiting!"
                self.generation.log("alert", text, code="AH00050")
                return False
            if code < 0 and -code not in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
                text = f"child pid {pid} exit signal {signal.strsignal(-code)} ({-code})"
                self.generation.log("notice", text, code="AH00052")
            if time.monotonic() - gone.born < QUICK_DEATH and code != 0:
                self._respawn_at = time.monotonic() + QUICK_DEATH

    def _program_ended(self, pid: int) -> None:
        """A log program: it is started again while its log is in use."""
        for program in self.generation.logs.programs:
            if program.pid == pid:
                program.ended()
                new = self.generation.dialect.ah_codes
                text = f"piped log program '{program.sink.target}' failed unexpectedly"
                os.write(2, raw(f"AH00106: {text}\n" if new else f"{text}\n"))
                try:
                    program.start()
                except OSError as problem:
                    os.write(2, raw(f"{cause(problem)}: {'AH00107: ' if new else ''}unable to start piped log program '{program.sink.target}'\n"))

    def _heard(self, data: bytes) -> None:
        for line in data.decode("latin-1").splitlines():
            word, _, number = line.partition(" ")
            one = self.children.get(int(number)) if number.isdigit() else None
            if one is None:
                continue
            if word == "retire":
                one.leaving = True
            elif word == "busy" and self.wanted < self.limit:
                self.wanted += 1

    def _signal_children(self, number: int, generation: int | None = None) -> None:
        for one in self.children.values():
            if generation is None or one.generation == generation:
                try:
                    os.kill(one.pid, number)
                except ProcessLookupError:
                    pass

    def _end_children(self, number: int) -> None:
        """Tell all workers to end and wait until they have; the slow are killed."""
        self._signal_children(number)
        end = time.monotonic() + PATIENCE
        while self.children and time.monotonic() < end:
            select.select([self._wake_in], [], [], max(0.0, min(1.0, end - time.monotonic())))
            _drain(self._wake_in)
            self._reap()
        self._signal_children(signal.SIGKILL)
        while self.children:
            pid, _status = os.wait()
            self.children.pop(pid, None)

    def _stop_gracefully(self) -> None:
        for one in self.sockets.values():
            one.close()
        self._signal_children(signal.SIGUSR1)
        limit = self.generation.spec.graceful_timeout
        end = time.monotonic() + limit if limit else float("inf")
        while self.children and time.monotonic() < end and not {signal.SIGTERM, signal.SIGINT} & set(self._told):
            select.select([self._wake_in], [], [], 1.0 if limit else None)
            _drain(self._wake_in)
            self._reap()
        self._end_children(signal.SIGTERM)

    # restarting -------------------------------------------------------------------------------
    def restart(self, *, graceful: bool) -> int | None:
        """Begin a new generation; None when it runs, else the exit status."""
        if not graceful:
            self._end_children(signal.SIGTERM)
        old = self.generation
        try:
            configuration = self.options.load()
            self.life = Life(self.life.started, time.time(), self.life.generation + 1, self.life.built, self.life.mpm)
            self.prepare(configuration)
        except (ConfigError, StartError) as problem:
            os.write(2, raw(format_error(problem, old.dialect, old.configuration.program)) + b"\n")
            self._end_children(signal.SIGTERM)
            return 1
        path = self.generation.spec.pid_file
        if path != self._pid_path:
            temporary = self._pid_file()
            if temporary is None:
                return 1
            pidfile.publish(path, temporary)
        gc.collect()
        gc.freeze()
        self.start_workers()
        self.say_hello()
        if graceful:
            self._signal_children(signal.SIGUSR1, self.life.generation - 1)
        old.logs.close()
        return None

    def _close_logs(self) -> None:
        logs = self.generation.logs
        logs.flush()
        programs = logs.programs
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        logs.close()
        end = time.monotonic() + 1.0
        for program in programs:
            while program.process is not None and program.process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            if program.process is not None and program.process.poll() is None:
                program.process.terminate()

    # -X ---------------------------------------------------------------------------------------
    def _alone(self) -> int:
        """Be master and worker in one process."""
        signal.set_wakeup_fd(-1)
        privileges.import_everything()
        privileges.drop(self.generation.spec)
        while True:
            worker = Worker(self.generation, 0)
            reason = worker.run()
            words = self.generation.words
            if reason in (signal.SIGHUP, signal.SIGUSR1):
                status = self._again(graceful=reason == signal.SIGUSR1)
                if status is not None:
                    return status
                continue
            what = words.winch if reason == signal.SIGWINCH else words.term
            self.generation.log("notice", what[1], code=what[0], module=words.module)
            self.generation.logs.flush()
            return 0

    def _again(self, *, graceful: bool) -> int | None:
        words = self.generation.words
        what = words.usr1 if graceful else words.hup
        self.generation.log("notice", what[1], code=what[0], module=words.module)
        self.generation.logs.flush()
        try:
            self.prepare(self.options.load())
        except (ConfigError, StartError) as problem:
            os.write(2, raw(format_error(problem, self.generation.dialect, self.generation.configuration.program)) + b"\n")
            return 1
        self.say_hello()
        return None


def _drain(handle: int) -> None:
    try:
        while os.read(handle, 4096):
            pass
    except BlockingIOError:
        pass


def _is(path: str, number: int) -> bool:
    try:
        return pidfile.read(path) == number
    except pidfile.BadPidFile:
        return False


def _error_logs(configuration: Configuration) -> list[LogSink]:
    """The error logs of all servers, which BufferedLogs does not concern."""
    ask = configuration.provider("log", "error_sink")
    return [ask(configuration, server) for server in configuration.servers()] if ask is not None else []
