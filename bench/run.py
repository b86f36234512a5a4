"""Runs the benchmark: python -m bench.run [--seconds 5] [--rounds 3] [--cases 1k,404] [--servers whimbrel,apache] [--json FILE].

One core answers, the other asks (taskset); the rounds go through all servers in turn, so that a machine that gets slower
gets slower for all.  Exit code 1 when a server does not start or gives a wrong answer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from bench.documents import CASES, Case, lay_out
from bench.load import Sample, WrongAnswer, check_answer, measure
from bench.process import NotStarted, Running
from bench.report import model, table
from bench.servers import Server, prepare, program

NAMES = ("whimbrel", "apache", "nginx")
RESULTS = Path(__file__).with_name("results.json")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5, help="length of one measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default=",".join(c.name for c in CASES))
    parser.add_argument("--servers", default=",".join(NAMES))
    parser.add_argument("--json", type=Path, default=RESULTS)
    return parser.parse_args()


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def cores() -> tuple[int | None, int | None]:
    """The core of the servers and that of wrk; (None, None) where there is only one, or no taskset."""
    mine = sorted(os.sched_getaffinity(0))
    return (mine[0], mine[1]) if len(mine) > 1 and shutil.which("taskset") else (None, None)


def present(wanted: list[str], console: Console) -> list[str]:
    """Those of the wanted servers that this machine has; says which it leaves out."""
    for name in wanted:
        if program(name) is None:
            console.print(f"{name}: not on this machine, left out")
    return [name for name in wanted if program(name)]


def version(server: Server) -> str:
    """The first line of what the server says about itself."""
    done = subprocess.run(server.version, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().partition("\n")[0]


def rounds(running: list[Running], cases: list[Case], options: argparse.Namespace, core: int | None) -> dict[str, dict[str, list[Sample]]]:
    """All measurements, interleaved: case -> server -> one sample a round."""
    samples: dict[str, dict[str, list[Sample]]] = {c.name: {r.server.name: [] for r in running} for c in cases}
    for case in cases:
        for one in running:
            check_answer(case, one.server.port)
    for _ in range(options.rounds):
        for case in cases:
            for one in running:
                samples[case.name][one.server.name].append(measure(one, case, options.seconds, core))
    return samples


def bench(options: argparse.Namespace, console: Console, root: Path) -> None:
    """Lays out, starts, measures, reports; raises NotStarted or WrongAnswer."""
    os.chmod(root, 0o755)
    lay_out(root)
    mine, other = cores()
    if mine is None:
        console.print("one core only, or no taskset: server and wrk share it, the figures are rough")
    cases = [c for c in CASES if c.name in options.cases.split(",")]
    servers = [prepare(name, root, free_port()) for name in present(options.servers.split(","), console)]
    with ExitStack() as stack:
        running = [stack.enter_context(Running(server, mine)) for server in servers]
        results = model(rounds(running, cases, options, other))
    about = {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count(), "seconds": options.seconds, "rounds": options.rounds}
    options.json.write_text(json.dumps({**about, "servers": {s.name: version(s) for s in servers}, "cases": results}, indent=1) + "\n")
    table(results, console)


def main() -> int:
    options, console = arguments(), Console(width=None if sys.stdout.isatty() else 120)
    if shutil.which("wrk") is None:
        console.print("wrk is not on this machine: nothing measured")
        return 1
    with tempfile.TemporaryDirectory(prefix="whimbrel-bench-") as folder:
        try:
            bench(options, console, Path(folder))
        except (NotStarted, WrongAnswer) as problem:
            console.print(f"{type(problem).__name__}: {problem}", markup=False)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
