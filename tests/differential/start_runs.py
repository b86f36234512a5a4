"""Random configurations that apache2 and Whimbrel check, start and stop: exit codes, texts, logs, PidFile.

    python -m tests.differential.start_runs --count 200 --seed 1

prints the differences; the exit status is 1 if there are any that EXPLAINED does not cover.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.start_grammar import StartCase, generate
from whimbrel.testing.ports import free_port

START_TIMEOUT, STOP_TIMEOUT = 20.0, 10.0
PID_FILES = ("logs/httpd.pid", "logs/other.pid")
# Lines of the error log whose number or order changes from run to run: idle threads, children that end.
_UNSTEADY = re.compile(
    r"AH00487|AH10159|AH00045|AH00046|AH00047|AH00276|AH00275|AH02471|AH00546|AH03090|AH00052|AH00161|AH00484|"
    r"trace\d\]|debug\]|:info\]"
)
# Differences with their reasons: a pattern of the text of the configuration, or of apache2's error log.
EXPLAINED: tuple[tuple[str, str], ...] = (
    (r"(?mi)^\s*Max(?:ConnectionsPer|RequestsPer)Child -", "httpd's children end at once and answer nothing"),
    (r"AH01243: Couldn't bind", "mod_cgid of httpd has a socket in the run directory; ours needs none"),
    (r"AH03490: scoreboard is full", "httpd's event MPM needs more processes than ServerLimit; ours do not"),
    (r"AH0215[56]: (?:setgid|getpwuid)", "httpd serves as root if it cannot become the user; Whimbrel ends"),
)
_MASKS: tuple[tuple[str, str], ...] = (
    (r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d [\d:.]+ \d{4}", "TIME"),
    (r"^\[TIME\] ", ""),
    (r"\[pid \d+(?::tid \d+)?\] ", ""),
    (r"(?:Apache|Whimbrel)/[0-9.]+ \([^)]*\)", "SERVER"),
    (r"(?m)^(?:whimbrel-httpd|apache2): ", "PROGRAM: "),
    (r"(?m)(AH00534: )(?:whimbrel-httpd|apache2): ", r"\1PROGRAM: "),
    (r"(?m)(AH00\d+: )(?:whimbrel-httpd|apache2): ", r"\1PROGRAM: "),
    (r"(?m)^.*AH00094: .*\n?", ""),
    (r"(?m)^whimbrel: .*\n?", ""),
    (r"(?m)^.*(?:no loaded module implements the handler|\(mod_\w+\.c\) is left out: ).*\n?", ""),
    (r"(?m)^(?:Mutex|Define:).*\n?", ""),
    (r"\(pid \d+\)", "(pid N)"),
    (r"process \d+", "process N"),
    (r"(?m)Server built: .*$", "Server built"),
)


@dataclass(frozen=True)
class Outcome:
    """What one program did with one configuration, in steps that are compared one by one."""

    steps: dict[str, object]


def masked(text: str, names: Sequence[tuple[str, str]]) -> str:
    """Return *text* without what differs between runs."""
    for path, name in names:
        text = text.replace(path, name)
    for pattern, replacement in _MASKS:
        text = re.sub(pattern, replacement, text, flags=re.M)
    return text


class StartSite:
    """A server root for one program and one case; a context manager."""

    def __init__(self, program: Program, case: StartCase, busy: int) -> None:
        self.program, self.case = program, case
        self.root = Path(tempfile.mkdtemp(prefix="start-"))
        self.ports = free_port(), free_port()
        self.names = [
            (str(self.root), "@ROOT@"),
            (program.module_dir, "@MODULES@"),
            (str(self.ports[0]), "@PORT@"),
            (str(self.ports[1]), "@PORT2@"),
            (str(busy), "@BUSY@"),
        ]
        for name in ("logs", "htdocs", "conf"):
            (self.root / name).mkdir()
        for name, text in {**case.files, "httpd.conf": case.text}.items():
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            for value, placeholder in self.names:
                text = text.replace(placeholder, value)
            path.write_text(text)
        os.chmod(self.root, 0o755)

    def __enter__(self) -> StartSite:
        return self

    def __exit__(self, *_error: object) -> None:
        for number in self.processes():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        shutil.rmtree(self.root, ignore_errors=True)

    def processes(self) -> Iterator[int]:
        """Yield the processes of this server root, by their command line."""
        wanted = os.fsencode(self.root)
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) != os.getpid():
                with suppress(OSError):
                    if wanted in Path(f"/proc/{entry}/cmdline").read_bytes():
                        yield int(entry)

    def call(self, *words: str) -> tuple[int, str, str]:
        """Run the program with *words*; return exit code, and masked standard output and error."""
        argv = [*self.program.argv, "-d", str(self.root), "-f", "httpd.conf", *self.case.arguments, *words]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # a daemon keeps them open
            try:
                code = subprocess.run(argv, stdout=out, stderr=err, timeout=60, check=False).returncode
            except subprocess.TimeoutExpired:
                code = -1
            out.seek(0)
            err.seek(0)
            printed, errors = (masked(sink.read().decode("latin-1"), self.names) for sink in (out, err))
            return code, printed, errors

    def log_lines(self) -> list[str]:
        """Return the steady lines of all files in logs that look like an error log."""
        lines: list[str] = []
        for name in ("error_log", "other_log"):
            with suppress(OSError):
                text = (self.root / "logs" / name).read_text("latin-1")
                lines += [line for line in text.splitlines() if not _UNSTEADY.search(line)]
        return [line for line in masked("\n".join(lines), self.names).splitlines() if line]

    def pid_file(self) -> str:
        """Return the name of the PidFile, "" for none."""
        return next((name for name in PID_FILES if (self.root / name).is_file()), "")

    def answer(self) -> str:
        """Return the status line of a request to the first port, or the error."""
        try:
            with socket.create_connection(("127.0.0.1", self.ports[0]), 5) as wire:
                wire.sendall(b"GET /index.html HTTP/1.0\r\n\r\n")
                return wire.recv(64).partition(b"\r\n")[0].decode("latin-1")
        except OSError as problem:
            return type(problem).__name__

    def run(self) -> Outcome:
        """Check, dump, start, send one request, stop."""
        steps: dict[str, object] = {"-t": self.call("-t"), "-S": self.call("-S")}
        steps["start"] = self.call("-k", "start")
        end = time.monotonic() + (START_TIMEOUT if steps["start"] == (0, "", "") else 0.3)
        while not self.pid_file() and time.monotonic() < end and any(self.processes()):
            time.sleep(0.02)
        end = time.monotonic() + 2
        while self.pid_file() and "resuming" not in "".join(self.log_lines()) and time.monotonic() < end:
            time.sleep(0.05)
        steps["pid file"] = self.pid_file()
        steps["answer"] = self.answer()
        steps["log of the start"] = self.log_lines()
        steps["stop"] = self.call("-k", "stop")
        end = time.monotonic() + STOP_TIMEOUT
        while any(self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        steps["left"] = bool(any(self.processes()) or self.pid_file())
        steps["log"] = self.log_lines()
        return Outcome(steps)


def compare(case: StartCase) -> dict[str, tuple[object, object]]:
    """Return the steps in which the programs differ: apache2's result and ours."""
    with socket.create_server(("127.0.0.1", 0)) as busy:
        outcomes = []
        for program in (APACHE, WHIMBREL):
            with StartSite(program, case, busy.getsockname()[1]) as site:
                outcomes.append(site.run().steps)
    first, second = outcomes
    return {name: (first[name], second[name]) for name in first if first[name] != second[name]}


def reason(case: StartCase, found: dict[str, tuple[object, object]]) -> str:
    """Return why a difference is as it should be, "" if it is none of EXPLAINED."""
    text = f"{case.text}\n{found.get('log', ('',))[0]}"
    return next((why for pattern, why in EXPLAINED if re.search(pattern, text)), "")


def main() -> int:
    """Compare a series and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="configurations (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="the series (default: 1)")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of configurations")
    parser.add_argument("--details", help="write differing cases to this file, one JSON object a line")
    options = parser.parse_args()
    numbers = options.only or range(options.count)
    differing = explained = 0
    with open(options.details or os.devnull, "w", encoding="utf-8") as details:
        for number in numbers:
            case = generate(number, options.seed)
            found = compare(case)
            if found and (why := reason(case, found)):
                explained += 1
                print(f"{number} {why}")
            elif found:
                differing += 1
                details.write(json.dumps({"number": number, "text": case.text, "steps": found}) + "\n")
                details.flush()
                for name, (wanted, actual) in found.items():
                    print(f"{number} {name}\n   apache2:  {wanted}\n   whimbrel: {actual}", flush=True)
    agreeing = len(numbers) - differing - explained
    print(f"{agreeing} of {len(numbers)} agree, {explained} differ for a known reason")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
