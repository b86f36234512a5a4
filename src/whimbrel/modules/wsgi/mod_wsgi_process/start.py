"""Start of an application's process.

The server runs it by ``python -c``, with the listening socket as standard input, and settings as JSON. Each
connection brings one request in FastCGI's records. Lines without a request, and signs of life, go to a
datagram socket that the keeper reads.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
import types
from _thread import stack_size, start_new_thread
from collections.abc import Callable

from .asgi import serve
from .journal import LogLines, Reports, SwitchedLog, text_stream
from .process import Process
from .records import Channel
from .request import VERSION, ApplicationRequest
from .serving import ServingThread
from .streams import FileWrapper


def set_limits(process: Process) -> None:
    """Set the limits of the system for this process."""
    import resource

    settings = process.settings
    seconds = settings["cpu_time_limit"]
    limits = (
        ("memory", resource.RLIMIT_DATA, settings["memory_limit"]),
        ("virtual memory", resource.RLIMIT_AS, settings["virtual_memory_limit"]),
    )
    for what, kind, size in limits:
        if size:
            try:
                resource.setrlimit(kind, (size, size))
            except (OSError, ValueError):
                words = "Couldn't set %s limit of %d for process '%s'."
                process.log("crit", words % (what, size, process.name))
    if seconds:
        try:
            hard = seconds + 1 + settings["shutdown_timeout"]
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
        except (OSError, ValueError):
            words = "Couldn't set CPU time limit of %d seconds for process '%s'."
            process.log("crit", words % (seconds, process.name))
    if settings["cpu_priority"]:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, settings["cpu_priority"])
        except OSError:
            words = "Couldn't set CPU priority in daemon process '%d'."
            process.log("error", words % settings["cpu_priority"])


def set_surroundings(process: Process) -> None:
    """Set directory, locale, module search path and name of the process."""
    settings = process.settings
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [each for each in sys.path if each not in ("", own)]
    if settings["display_name"]:
        try:
            with open("/proc/self/comm", "wb") as file:
                file.write(settings["display_name"].encode("utf-8", "replace")[:15])
        except OSError:
            pass  # a matter of looks
    if settings["locale"]:
        import locale

        try:
            locale.setlocale(locale.LC_ALL, settings["locale"])
        except locale.Error:
            words = (
                "Unsupported locale setting %s specified for daemon process group %s. "
                "Consider using 'C.UTF-8' as fallback setting."
            )
            process.log("error", words % (settings["locale"], process.name))
    for directory in filter(None, settings["python_path"].split(":")):
        add_directory(process, directory)


def add_directory(process: Process, directory: str) -> None:
    """Add a directory of packages in front of the module search path, with its .pth files."""
    import site

    process.log("info", "Adding '%s' to path." % directory)
    before = list(sys.path)
    try:
        site.addsitedir(directory)
    except Exception:
        process.log("error", "Call to 'site.addsitedir()' failed for '%s'." % directory)
        return
    added = [each for each in sys.path if each not in before]
    sys.path[:] = added + before


def add_modules(process: Process) -> None:
    """Provide the modules mod_wsgi and apache."""
    common = {
        "maximum_processes": process.settings["processes"],
        "threads_per_process": process.settings["threads"],
    }
    module = types.ModuleType("mod_wsgi")
    module.__dict__.update(
        common,
        version=VERSION,
        process_group=process.name,
        application_group=process.group,
        FileWrapper=FileWrapper,
    )
    sys.modules["mod_wsgi"] = module
    module = types.ModuleType("apache")
    module.__dict__.update(
        common,
        version=tuple(process.settings["apache_version"]),
        description=process.settings["description"],
    )
    sys.modules["apache"] = module


class ImportChannel(Channel):
    """The channel of a script that is loaded before the first request: its lines have no request."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def log(self, level: str, text: str | bytes) -> None:
        self._reports.log(level, text if isinstance(text, str) else text.decode("utf-8", "replace"))

    def log_error(self, line: bytes) -> None:
        self.log("error", line)


def restrict_signal(process: Process) -> None:
    """Let signal.signal() have no effect, since the server stops the process by signals."""

    original: Callable[..., object] = signal.signal

    def intercepted(number: int, handler: object) -> object:
        if process.is_child():
            return original(number, handler)
        process.log("warn", "Callback registration for signal %d ignored." % number)
        stream = text_stream(LogLines("<log>", lambda line: process.reports.log("warn", line.decode())))
        traceback.print_stack(file=stream)
        stream.flush()
        return handler

    vars(signal)["signal"] = intercepted


def main() -> None:
    """Serve until the order to stop."""
    process = Process(json.loads(sys.argv[1]))
    settings = process.settings
    sys.argv[:] = ["mod_wsgi"]
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    sys.stdin = open(os.devnull)
    sys.stdout = text_stream(SwitchedLog("<stdout>", process.current, process.reports))
    sys.stderr = text_stream(SwitchedLog("<stderr>", process.current, process.reports))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, process.stop)
    signal.signal(
        signal.SIGXCPU,
        lambda *_: process.stop_gracefully("Exceeded CPU time limit", settings["graceful_timeout"]),
    )
    signal.signal(
        signal.SIGUSR1,
        lambda *_: process.stop_gracefully(
            "Process eviction requested", settings["eviction_timeout"] or settings["graceful_timeout"]
        ),
    )
    set_limits(process)
    set_surroundings(process)
    add_modules(process)
    if settings["asgi"] is not None:
        threading.Thread(target=process.watch, daemon=True).start()
        serve(process, ImportChannel(process.reports), settings["asgi"])
        return
    if settings["restricts_signal"]:
        restrict_signal(process)
    os.register_at_fork(after_in_child=process.become_child)
    for path in settings["imports"]:
        variables = {"mod_wsgi.process_group": process.name, "SCRIPT_FILENAME": path}
        request = ApplicationRequest(process, ImportChannel(process.reports), variables)
        request.loaded(path)
    if process.is_forked:
        os._exit(0)
    serving = [ServingThread(process, number + 1) for number in range(settings["threads"])]
    if settings["stack_size"]:
        stack_size(settings["stack_size"])
    # without the module threading, whose functions a script that was loaded may have replaced (gevent)
    for thread in serving:
        thread.start()
    start_new_thread(process.watch, ())
    process.wait_for_end(serving)
