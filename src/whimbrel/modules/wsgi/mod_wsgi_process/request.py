"""One request: its script, the variables of PEP 3333, the call and its result."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterable
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Protocol

from .journal import LogLines, own_frames_left_out, text_stream
from .records import ACCEPT_FLAG, ACCEPTED, AUTHORIZER, STDOUT, Channel, ClientGone, record, records
from .response import WsgiResponse, bad_item
from .scripts import compiled, modified, new_module
from .streams import FileWrapper, WsgiInput

if TYPE_CHECKING:
    from types import ModuleType

    from .process import Process
    from .serving import ServingThread

    class Application(Protocol):
        """An application of PEP 3333."""

        def __call__(self, environ: dict[str, object], start_response: object, /) -> Iterable[bytes]: ...


VERSION = (4, 9, 4)  # of mod_wsgi
OK = 200
NOT_FOUND = 404
FAILED = 500
TIMED_OUT = 504
CUT = 599  # the response has begun, and must not end in good order


class ApplicationRequest:
    """One request: the script, the variables, the application and its result."""

    def __init__(self, process: Process, channel: Channel, variables: dict[str, object]) -> None:
        self.process = process
        self.channel = channel
        self.variables = variables
        self.begun = time.time()
        self.input: WsgiInput | None = None
        self.pending = b""  # records that go out with the end
        self.is_embedded = not variables.get("mod_wsgi.process_group")
        self.shown = self.text("SCRIPT_FILENAME")
        self.script = self.text("mod_wsgi.handler_script") or self.shown

    def text(self, name: str) -> str:
        """Return a variable, "" if it is not set."""
        value = self.variables.get(name, "")
        return value if isinstance(value, str) else ""

    def log(self, level: str, text: str) -> None:
        """Write a line of mod_wsgi."""
        self.channel.log(level, "mod_wsgi (pid=%d): %s" % (os.getpid(), text))

    def log_exception(self, script: str, error: BaseException, lines: LogLines | None = None) -> None:
        """Write an exception with its traceback."""
        if isinstance(error, SystemExit):
            self.log("error", "SystemExit exception raised by WSGI script '%s' ignored." % script)
        else:
            self.log("error", "Exception occurred processing WSGI script '%s'." % script)
        stream = text_stream(lines or LogLines("<log>", self.channel.log_error))
        trace = own_frames_left_out(error.__traceback__)
        traceback.print_exception(type(error), error, trace, None, stream)
        stream.flush()
        stream.detach()

    def answer(self, thread: ServingThread) -> int | None:
        """Return the status for the server; None if another process is to serve the request."""
        if self.channel.role == AUTHORIZER:
            return self.decide()
        queued = self.process.settings["queue_timeout"]
        if queued:
            waited = self.begun - int(self.text("mod_wsgi.request_start") or 0) / 1e6
            if waited > queued:
                self.log("error", "Queue timeout expired for WSGI daemon process '%s'." % self.process.name)
                return TIMED_OUT
        with self.process.loading:
            module = self.present_module()
            if module is None and self.script in self.process.modules and not self.is_embedded:
                words = "Force restart of process '%s'."
                self.log("info", words % self.text("mod_wsgi.process_group"))
                self.process.stop()
                return None
            if self.channel.flags & ACCEPT_FLAG:
                self.channel.send(record(ACCEPTED))
            self.input = WsgiInput(self.channel)
            if module is None:
                module = self.loaded(self.script)
            if module is None:
                return FAILED
        name = self.text("mod_wsgi.callable_object") or "application"
        application = getattr(module, name, None)
        if application is None:
            words = "Target WSGI script '%s' does not contain WSGI application '%s'."
            self.log("error", words % (self.script, name))
            return NOT_FOUND
        return self.called(application, thread)

    # scripts ----------------------------------------------------------------------------------------
    def present_module(self) -> ModuleType | None:
        """Return the module of the script if it is loaded and up to date."""
        module = self.process.modules.get(self.script)
        if module is None or self.variables.get("mod_wsgi.script_reloading") == "0":
            return module
        return module if self.is_current(module) else None

    def is_current(self, module: ModuleType) -> bool:
        """Return True if the file of *module* has not changed."""
        path = self.script
        if module.__dict__["__mtime__"] != modified(path):
            return False
        required = getattr(module, "reload_required", None)
        if required is None or self.shown == "":
            return True
        try:
            return not required(self.shown)
        except BaseException as error:
            self.log_exception(path, error)
            return True

    def loaded(self, path: str) -> ModuleType | None:
        """Load the script at *path*; return its module, None after an error, which is logged."""
        process = self.process
        where = "mod_wsgi (pid=%d, process='%s', application='%s'): " % (
            os.getpid(),
            self.text("mod_wsgi.process_group"),
            process.group,
        )
        if path in process.modules:
            self.channel.log("info", "%sReloading WSGI script '%s'." % (where, path))
        else:
            self.channel.log("info", "%sLoading Python script file '%s'." % (where, path))
            if process.startup_until is None and process.settings["startup_timeout"]:
                process.startup_until = time.monotonic() + process.settings["startup_timeout"]
        try:
            code = compiled(path)
        except BaseException as error:
            self.channel.log("error", "%sCould not read/compile source file '%s'." % (where, path))
            self.log_exception(path, error)
            return None
        module = new_module(path)
        sys.modules[module.__name__] = module
        try:
            exec(code, module.__dict__)
        except BaseException as error:
            sys.modules.pop(module.__name__, None)
            if isinstance(error, SystemExit):
                words = "SystemExit exception raised when doing exec of Python script file '%s'."
            else:
                words = "Failed to exec Python script file '%s'."
            self.log("error", words % path)
            self.log_exception(path, error)
            return None
        process.modules[path] = module
        process.startup_until = None
        return module

    # application ------------------------------------------------------------------------------------
    def environ(self, errors: TextIOWrapper, thread: ServingThread) -> dict[str, object]:
        """Return the variables of PEP 3333."""
        process = self.process
        environ = self.variables
        environ.pop("PATH", None)
        scheme = environ.pop("HTTPS", "")
        environ.update(process.constant)
        if not self.is_embedded:
            environ["mod_wsgi.daemon_start"] = "%d" % (self.begun * 1_000_000)
        environ["mod_wsgi.script_start"] = "%d" % (time.time() * 1_000_000)
        environ["wsgi.url_scheme"] = "https" if scheme and is_on(scheme) else "http"
        environ["wsgi.errors"] = errors
        environ["wsgi.input"] = self.input
        environ["mod_wsgi.total_requests"] = process.requests - 1
        environ["mod_wsgi.thread_id"] = thread.number
        environ["mod_wsgi.thread_requests"] = thread.requests
        return environ

    def called(self, application: Application, thread: ServingThread) -> int:
        """Call the application and send its response; return the status for the server."""
        current = self.process.current
        errors, lines = thread.errors.begin(self.channel.log_error)
        current.log = lines
        environ = self.environ(errors, thread)
        thread.requests += 1
        response = WsgiResponse(self.channel)
        status = FAILED
        try:
            status = self.sent(application, environ, response, lines)
        finally:
            response.expire()
            self.pending = response.pending
            current.log = None
            self.variables = {}
            del environ, errors, lines
            thread.errors.end()
        return status

    def sent(
        self, application: Application, environ: dict[str, object], response: WsgiResponse, lines: LogLines
    ) -> int:
        """Send what the application returns, and close it."""
        try:
            result = application(environ, response.start_response)
        except BaseException as error:
            self.log_exception(self.shown, error, lines)
            return self.status_after(response)
        status = FAILED
        problem: BaseException | None = None
        try:
            problem = self.output(result, response)
            status = OK
        except ClientGone:
            response.is_aborted = True
            status = OK
            self.log("debug", "Client closed connection.")
        except BaseException as error:
            problem = error
        if problem is not None:
            status = self.status_after(response)
        length = response.length
        is_clean = problem is None and not response.is_aborted
        if length is not None and ((is_clean and response.sent != length) or response.sent > length):
            words = "Content length mismatch, expected %d, response generated %d: %s"
            self.log("debug", words % (length, response.sent, self.shown))
        if problem is not None:
            self.log_exception(self.shown, problem, lines)
            problem = None  # its traceback has this frame: a cycle, which the application's gc may not end
        close = getattr(result, "close", None)
        if close is not None:
            try:
                close()
            except BaseException as error:
                self.log_exception(self.shown, error, lines)
        return status

    def status_after(self, response: WsgiResponse) -> int:
        """Return the status after an error; embedded mode lets the client detect the truncation."""
        if not response.has_started:
            return FAILED
        return CUT if self.is_embedded and response.length is None else OK

    def output(self, result: Iterable[object], response: WsgiResponse) -> Exception | None:
        """Send the items of *result*; return an error, or raise it."""
        if isinstance(result, FileWrapper) and not response.sent and response.output_file(result):
            return None
        if type(result) in (list, tuple):
            return response.output_all(result)
        for item in result:
            if not isinstance(item, bytes):
                return bad_item(item)
            if item:
                response.output(item)
        response.output(b"")
        return None

    # access scripts ---------------------------------------------------------------------------------
    def decide(self) -> int:
        """Call the function of an access script; send its result as JSON."""
        call = json.loads(self.text("mod_wsgi.call"))
        del self.variables["mod_wsgi.call"]
        with self.process.loading:
            module = self.present_module()
            if module is None:
                module = self.loaded(self.script)
        answer: dict[str, object] = {"loaded": module is not None}
        if module is not None:
            lines = LogLines("<log>", self.channel.log_error)
            errors = text_stream(lines)
            self.process.current.log = lines
            environ = self.variables
            environ.pop("PATH", None)
            environ["wsgi.errors"] = errors
            try:
                for name in call["names"]:
                    function = getattr(module, name, None)
                    if function is not None:
                        answer[name] = plain(function(environ, *call["arguments"]))
            except BaseException as error:
                answer["failed"] = True
                self.log_exception(self.script, error)
            finally:
                self.process.current.log = None
                errors.flush()
                lines.expire()
        body = json.dumps(answer).encode()
        self.channel.send(records(STDOUT, b"Status: 200 OK\r\n\r\n" + body))
        return OK


def constant_variables(settings: dict[str, Any]) -> dict[str, object]:
    """Return the variables of PEP 3333 and of mod_wsgi that all requests of a process have."""
    return {
        "wsgi.version": (1, 0),
        "wsgi.multithread": settings["is_multithread"],
        "wsgi.multiprocess": settings["is_multiprocess"],
        "wsgi.run_once": settings["threads"] == 1 and settings["maximum_requests"] == 1,
        "wsgi.input_terminated": True,
        "wsgi.file_wrapper": FileWrapper,
        "apache.version": tuple(settings["apache_version"]),
        "mod_wsgi.version": VERSION,
    }


def is_on(value: object) -> bool:
    """Return True if *value* of HTTPS stands for a connection with TLS."""
    return value == "1" or str(value).lower() == "on"


def plain(value: object) -> list[object]:
    """Return type and value of what an access script returns, as far as the server needs them."""
    if value is None or isinstance(value, (bool, str)):
        return [type(value).__name__, value]
    if isinstance(value, bytes):
        return ["str", value.decode("latin-1")]
    try:
        items = [
            each.decode("latin-1") if isinstance(each, bytes) else each
            for each in value  # type: ignore[attr-defined]
        ]
    except TypeError:
        return ["other", None]
    if not all(isinstance(each, str) for each in items):
        return ["other", None]
    return ["list", items]
