"""Ask a server one recorded case and compare its answers."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.conformance.backends import running_backends
from tests.conformance.case import Case
from tests.conformance.client import Client
from tests.conformance.compare import (
    Levels,
    access_log_lines,
    compare_reply,
    count_matching,
    describe,
    equal,
    error_log_entries,
    error_log_matches,
)
from tests.conformance.masks import matches, sort_unordered
from tests.conformance.process_steps import run_steps
from tests.conformance.program import Program, ProgramServer, apache, run_utility
from tests.conformance.site import RecordedSite


@dataclass
class Result:
    """The outcome of one case.

    Attributes:
        levels: one element for each answer.
        log: whether the error log agrees; None if the case has none to compare.
        access, access_expected: access log lines that agree, and recorded ones.
        differences: one element for each answer or log that differs.
        failure: the exception that ended the case.
    """

    case: Case
    levels: list[Levels] = field(default_factory=list)
    log: bool | None = None
    access: int = 0
    access_expected: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)
    failure: str | None = None

    def add(self, levels: Levels, expected: object, actual: object, **about: object) -> None:
        """Record one answer, and its difference if it does not agree fully."""
        self.levels.append(levels)
        if not levels.full:
            self.add_difference(expected, actual, **about)

    def add_difference(self, expected: object, actual: object, **about: object) -> None:
        """Record a difference; *about* names the request or the file."""
        self.differences.append({**about, "expected": expected, "actual": actual})


class Server(Protocol):
    """A server at a site: a process, or an engine in this process."""

    @property
    def site(self) -> RecordedSite: ...
    @property
    def client(self) -> Client: ...
    def start(self) -> bool: ...
    def stop(self) -> None: ...
    def wait_for_logs(self, lines: int) -> None: ...


def evaluate(case: Case, program: Program, utilities: str = "{}") -> Result:
    """Run a case against a program; a command line for its utilities has {} for their name."""
    if case.kind == "command":
        return evaluate_command(case, utilities)
    with (
        RecordedSite(case, program.modules) as site,
        running_backends(site),
        ProgramServer(program, site) as server,
    ):
        if case.kind == "configtest":
            return evaluate_configtest(server)
        return evaluate_process(server) if case.kind == "process" else evaluate_site(server)


def failed(case: Case, error: Exception) -> Result:
    """The result of a case that ended with an exception: one answer that does not agree."""
    result = Result(case, failure=repr(error))
    result.add(equal(False), "an answer", repr(error))
    return result


def evaluate_configtest(server: ProgramServer) -> Result:
    """Compare exit code and text of a configuration test."""
    site, result = server.site, Result(server.site.case)
    done = server.call(*site.case.args)
    actual = sort_unordered(site.mask()((done.stdout + done.stderr).decode("utf-8", "replace")).strip())
    expected = sort_unordered(site.case.answer["text"])
    code = done.returncode == site.case.answer["rc"]
    text = code and matches(expected, actual)
    result.add(
        Levels(code, text, text),
        [site.case.answer["rc"], expected],
        [done.returncode, actual],
        arguments=site.case.args,
    )
    return result


def evaluate_command(case: Case, utilities: str) -> Result:
    """Compare exit code, output and files of a utility such as htpasswd."""
    result, expected = Result(case), case.answer
    with RecordedSite(case, apache().modules) as site:
        name, *arguments = [site.expand(word) for word in case.argv]
        done = run_utility([*shlex.split(utilities.replace("{}", name)), *arguments], site)
        mask = site.case_mask()
        actual: dict[str, Any] = {"rc": done.returncode}
        actual |= {
            "stdout": mask(done.stdout.decode("utf-8", "replace")),
            "stderr": mask(done.stderr.decode("utf-8", "replace")),
        }
        actual["collected"] = {
            name: mask(site.read(name)) if os.path.isfile(site.path(name)) else None
            for name in expected.get("collected", {})
        }
    code = expected["rc"] == done.returncode
    text = (
        code
        and matches(expected["stdout"], actual["stdout"])
        and matches(expected["stderr"], actual["stderr"])
    )
    full = text and _same_files(expected.get("collected", {}), actual["collected"])
    result.add(Levels(code, full, full), expected, actual, arguments=case.argv)
    return result


def _same_files(expected: dict[str, str | None], actual: dict[str, str | None]) -> bool:
    """Compare collected files; one with a placeholder in its name is not compared."""
    pairs = [(text, actual[name]) for name, text in expected.items() if "@" not in name]
    return all(
        text == other if text is None or other is None else matches(text, other) for text, other in pairs
    )


def evaluate_process(server: ProgramServer) -> Result:
    """Compare the result of each step in the life of a process."""
    result = Result(server.site.case)
    for step, expected, actual, agrees in run_steps(server):
        result.add(equal(agrees), expected, actual, step=step)
    return result


def evaluate_site(server: Server) -> Result:
    """Start a server, send the requests, and compare responses and logs."""
    site, result = server.site, Result(server.site.case)
    expected, mask = site.case.answer, site.case_mask()
    started = server.start()
    if started and expected["started"]:
        for request, response in zip(site.case.requests, expected["responses"], strict=True):
            reply = server.client.send(request)
            levels = compare_reply(response, reply, mask)
            result.add(
                levels, response, None if levels.full else describe(reply, mask), request=request.record
            )
        server.wait_for_logs(len(expected.get("access_log") or []))
    if not result.levels:
        output = site.mask()(site.read("stderr.txt"))[-2000:]
        result.add(
            equal(started == expected["started"]),
            [expected["started"], expected.get("startup")],
            [started, output],
            about="started",
        )
    server.stop()
    compare_logs(result, mask(site.read("logs/error_log")), mask(site.read("logs/access_log")))
    return result


def compare_logs(result: Result, error_log: str, access_log: str) -> None:
    """Compare the logs of a site and record what differs."""
    expected, version = result.case.answer, result.case.version
    wanted = expected.get("error_log", [])
    result.log = error_log_matches(wanted, error_log, version)
    if not result.log:
        result.add_difference(
            error_log_entries(wanted, version),
            error_log_entries(error_log.splitlines(), version),
            about="error log",
        )
    lines, actual = expected.get("access_log") or [], access_log_lines(access_log)
    result.access_expected, result.access = len(lines), count_matching(lines, actual)
    if result.access != result.access_expected:
        result.add_difference(lines, actual, about="access log")
