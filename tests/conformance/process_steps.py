"""The steps of a `process` case: start, signals, further calls of the program, logs, files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.conformance.case import Record, request_of
from tests.conformance.compare import compare_reply, describe, lines_match
from tests.conformance.masks import mask_process_numbers, mask_request_time, matches
from tests.conformance.program import PID_FILE, ProgramServer

Outcome = tuple[Any, bool]
"""The actual result of a step, and whether it agrees with the recorded one."""
Action = Callable[[ProgramServer, Record, Record], Outcome]
CALL_TIMEOUT = 8
_ENDED: Outcome = (None, True)


def run_steps(server: ProgramServer) -> Iterator[tuple[Record, Record, Any, bool]]:
    """Run the steps; yield each step, its recorded result, its actual result, and whether they agree."""
    case = server.site.case
    for step, expected in zip(case.steps, case.answer["steps"], strict=False):
        actual, agrees = ACTIONS[step["do"]](server, step, expected)
        yield step, expected, actual, agrees


def _start(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    started = server.start()
    return started, started == expected["started"]


def _request(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    reply, mask = server.client.send(request_of(step)), server.site.case_mask()
    return describe(reply, mask), all(compare_reply(expected, reply, mask))


def _signal(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    alive = server.is_running()
    if alive and server.process is not None:
        os.kill(server.process.pid, signal.Signals["SIG" + step["name"]])
        time.sleep(step.get("wait", 1.0))
    return alive, alive == expected["alive"]


def _call(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    """Run the program with more arguments, for example -k stop."""
    try:
        done = server.call(*map(server.site.expand, step["args"]), timeout=step.get("timeout", CALL_TIMEOUT))
    except subprocess.TimeoutExpired:
        return "timeout", bool(expected.get("timeout"))
    finally:
        time.sleep(step.get("wait", 0.6))
    texts = {
        name: _text(server, data.decode())
        for name, data in (("stdout", done.stdout), ("stderr", done.stderr))
    }
    agrees = (
        not expected.get("timeout")
        and done.returncode == expected["rc"]
        and all(matches(expected[name], texts[name]) for name in texts)
    )
    return {"rc": done.returncode, **texts}, agrees


def _wait_exit(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    try:
        code: int | str | None = server.process.wait(5) if server.process else None
    except subprocess.TimeoutExpired:
        code = "running"
    return code, code == expected["rc"]


def _read(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    """Compare the lines of a file; None stands for a missing file."""
    recorded = expected.get("lines")
    lines = _lines(server, step) if os.path.exists(server.site.path(step["file"])) else None
    return lines, lines == recorded if lines is None or recorded is None else lines_match(recorded, lines)


def _lines(server: ProgramServer, step: Record) -> list[str]:
    lines = [mask_request_time(line) for line in _text(server, server.site.read(step["file"])).splitlines()]
    if step.get("drop"):
        lines = [line for line in lines if not re.search(step["drop"], line)]
    if step.get("unique"):
        lines = list(set(lines))
    return sorted(lines) if step.get("unique") or step.get("sort") else lines


def _text(server: ProgramServer, text: str) -> str:
    return mask_process_numbers(server.site.case_mask()(text))


def _pid_file(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    exists = bool(server.site.read(step.get("file", PID_FILE)))
    return exists, exists == expected["exists"]


def _exists(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    exists = os.path.exists(server.site.path(step["file"]))
    return exists, exists == expected["exists"]


def _list(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    """Compare the names of a directory; long numbers are times."""
    names = sorted(re.sub(r"\d{9,}", "@TIME@", name) for name in os.listdir(server.site.path(step["file"])))
    return names, lines_match(expected["names"], names)


def _write(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    server.site.write_text(step["file"], server.site.expand(step["text"]))
    return _ENDED


def _chmod(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    os.chmod(server.site.path(step["file"]), int(step["mode"], 8))
    return _ENDED


def _unlink(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    os.unlink(server.site.path(step["file"]))
    return _ENDED


def _rename(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    os.rename(server.site.path(step["file"]), server.site.path(step["to"]))
    return _ENDED


def _mkdir(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    os.mkdir(server.site.path(step["file"]))
    return _ENDED


def _sleep(server: ProgramServer, step: Record, expected: Record) -> Outcome:
    time.sleep(step["s"])
    return _ENDED


ACTIONS: Mapping[str, Action] = {
    "start": _start,
    "request": _request,
    "signal": _signal,
    "httpd": _call,
    "wait_exit": _wait_exit,
    "read": _read,
    "pidfile": _pid_file,
    "exists": _exists,
    "ls": _list,
    "write": _write,
    "chmod": _chmod,
    "unlink": _unlink,
    "rename": _rename,
    "mkdir": _mkdir,
    "sleep": _sleep,
}
