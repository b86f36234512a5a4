"""Applications that fork, fail, and change what the threads of their process rely on.

After each incident the process serves as before, or another one takes its place, and none spins.
"""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, within

PYTHON = Path("/usr/bin/python3")
pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="no /usr/bin/python3 that the server's user may run"
)
APPLICATION = """
import ctypes, multiprocessing, os, signal, sys, threading, time
FILES = []
def child(number):
    if number == 0:
        print("printed by a child")
        time.sleep(60)
def terminated():
    process = multiprocessing.get_context("fork").Process(target=child, args=(0,))
    process.start()
    time.sleep(0.2)
    process.terminate()
    process.join(10)
    return process.exitcode
def forked():
    pid = os.fork()
    return "child" if pid == 0 else os.waitpid(pid, 0)[1]
def exits():
    pid = os.fork()
    if pid == 0:
        sys.exit(3)
    return os.waitpid(pid, 0)[1]
def handles():
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGUSR2, lambda *_: os._exit(7))
        os.kill(os.getpid(), signal.SIGUSR2)
        time.sleep(10)
    return os.waitpid(pid, 0)[1] >> 8
def files():
    try:
        while True:
            FILES.append(open("/dev/null"))
    except OSError as problem:
        return problem.errno
def sleepless():
    time.sleep = lambda _seconds: None
def frozen():
    time.monotonic = lambda: None
def timeless():
    FILES.clear()
    threading.Event.wait = lambda *_: True
def closes():
    os.closerange(3, 100)
def raises():
    me = threading.get_ident()
    for number in sys._current_frames():
        if number not in (me, threading.main_thread().ident):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(number), ctypes.py_object(RuntimeError))
def application(environ, start_response):
    name = environ["QUERY_STRING"].partition("=")[0]
    found = globals().get(name, str)()
    data = ("%s is %s pid %d\\n" % (environ["QUERY_STRING"], found, os.getpid())).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(data)))])
    return [data]
"""
CONF = """
LoadModule wsgi_module m/mod_wsgi.so
LogLevel info
WSGIPythonHome /usr
WSGIDaemonProcess site threads={threads}
WSGIScriptAlias /app {root}/htdocs/app.wsgi process-group=site application-group=%{{GLOBAL}}
"""
REQUESTS = 12  # after an incident: more than all threads, one after the other


# what gevent replaces, before there are threads: the script is loaded with the process
REPLACED = """
import select, socket, threading, time
def fails(*_arguments):
    raise NotImplementedError
threading.Thread.start = threading.Timer = threading.Event.wait = fails
threading.Lock = threading._allocate_lock = select.select = select.epoll = socket.socket = fails
time.sleep = time.monotonic = fails
"""

HANDLER = """
def handle(*_arguments):
    raise TimeoutError("in a handler")
signal.signal(signal.SIGALRM, handle)
"""


def start(server: ServerProcess, threads: int, more: str = "") -> None:
    """Start *server* with the application at /app, and load that; *more* is at the end of the script."""
    directive = "WSGIRestrictSignal Off\n" if "signal.signal" in more else ""
    (server.root / "htdocs/app.wsgi").write_text(APPLICATION + more)
    (server.root / "conf/extra.conf").write_text(CONF.format(threads=threads, root=server.root) + directive)
    server.start()
    check_answers(server, 1)


def check_answers(server: ServerProcess, count: int = REQUESTS) -> int:
    """Send requests, which must have the answers to themselves; return the process of the last one."""
    pid = 0
    for number in range(count):
        reply = server.get(f"/app?n={number}")
        found = re.search(rb"\r\n\r\nn=%d is  pid (\d+)\n\Z" % number, reply)
        assert found is not None, reply
        pid = int(found[1])
    return pid


def processor_time(pid: int) -> float:
    """Return the seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def check_rest(pid: int) -> None:
    """Check that a process without a request uses no processor."""
    before = processor_time(pid)
    time.sleep(1.5)
    assert processor_time(pid) - before < 0.15


@pytest.mark.parametrize("threads", [1, 3])
def test_signals_of_a_child_are_for_it_alone(server: ServerProcess, threads: int) -> None:
    """By wsgi_signal_handler of mod_wsgi a child exits with -1, so `terminate` of multiprocessing ends it."""
    start(server, threads)
    assert b"terminated is 255 " in server.get("/app?terminated")
    check_rest(check_answers(server))
    assert within(lambda: "printed by a child" in server.errors())


@pytest.mark.parametrize("threads", [1, 3])
def test_a_child_does_not_answer(server: ServerProcess, threads: int) -> None:
    start(server, threads)
    for number in range(3):
        assert b"forked=%d is 0 " % number in server.get(f"/app?forked={number}")
        check_answers(server, 2)
        assert b"exits=%d is 0 " % number in server.get(f"/app?exits={number}")
        check_rest(check_answers(server, 2))
    assert "SystemExit exception raised by WSGI script" in server.errors()


def test_a_child_may_handle_signals(server: ServerProcess) -> None:
    """As in mod_wsgi, whose function passes calls in children on (SignalIntercept_call)."""
    start(server, 1)
    assert b"handles is 7 " in server.get("/app?handles")
    assert "Callback registration" not in server.errors()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_process_without_free_descriptors_serves_on(server: ServerProcess, threads: int) -> None:
    start(server, threads)
    assert b"files is 24 " in server.get("/app?files")
    check_rest(check_answers(server))


@pytest.mark.parametrize("what", ["sleepless", "frozen", "timeless"])
def test_replaced_functions_are_those_of_the_application_alone(server: ServerProcess, what: str) -> None:
    start(server, 3)
    assert b" 200 OK" in server.get(f"/app?{what}")
    check_rest(check_answers(server))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_script_that_is_loaded_first_may_replace_functions(server: ServerProcess, threads: int) -> None:
    start(server, threads, REPLACED)
    pid = check_answers(server)
    check_rest(pid)
    os.kill(pid, signal.SIGTERM)
    assert within(lambda: f"mod_wsgi (pid={pid}): Exiting process 'site'." in server.errors())
    check_answers(server)


def test_a_handler_of_a_signal_may_raise(server: ServerProcess) -> None:
    start(server, 3, HANDLER)
    pid = check_answers(server)
    os.kill(pid, signal.SIGALRM)
    assert within(lambda: "between requests: TimeoutError('in a handler')." in server.errors())
    assert check_answers(server) == pid


@pytest.mark.parametrize("threads", [1, 3])
def test_a_process_without_its_descriptors_is_replaced(server: ServerProcess, threads: int) -> None:
    start(server, threads)
    assert server.get("/app?closes").startswith(b"HTTP/1.1 500 ")
    check_rest(check_answers(server))


def test_a_process_whose_threads_fail_is_replaced(server: ServerProcess) -> None:
    start(server, 3)
    assert b"raises is None" in server.get("/app?raises")
    check_rest(check_answers(server))
    assert "Thread of daemon process 'site' failed between requests: RuntimeError()." in server.errors()
