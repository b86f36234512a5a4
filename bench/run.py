"""Run the benchmark: python -m bench.run [--seconds 5] [--rounds 3] [--cases 1k,404] [--servers
whimbrel,apache].

Servers and load generators have one core each (taskset). Each round runs all servers in turn, so a machine
that slows down affects all alike. Where the kernel groups by session and permits it, servers and load
generators have priority over other work. Exit code 1 if a server does not start or answers wrongly; a target
that is not met is no error.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import wsgi
from bench.compare import changes, changes_table
from bench.configs import SITES
from bench.documents import CASES, write_documents
from bench.errors import WrongResponse
from bench.interpreter import described, switch
from bench.markdown import write_page
from bench.pace import SLOTS
from bench.php import php_fpm
from bench.process import NotStarted, cores
from bench.replay import LOG
from bench.replay import prepare as prepare_replay
from bench.report import conditions_table, model, model_half, show
from bench.runner import Plan
from bench.servers import APACHE_MODULES, program
from bench.startup_memory import extras
from bench.targets import conditions

NAMES = ("whimbrel", "apache", "nginx", "granian", *wsgi.NAMES)
RESULTS = Path(__file__).with_name("results.json")
NEEDED = {"wrk": "nothing measured", "h2load": "no HTTP/2"}


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5, help="length of one measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default=",".join(c.name for c in CASES))
    parser.add_argument("--servers", default=",".join(NAMES))
    parser.add_argument(
        "--half", action=argparse.BooleanOptionalAction, default=True, help="latency at half of full load"
    )
    parser.add_argument(
        "--half-seconds", type=int, default=2, help="the same at half load, at most --seconds"
    )
    parser.add_argument(
        "--debian",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run the bench and the servers in Python on Debian's interpreter, if it fits",
    )
    parser.add_argument("--log", type=Path, default=LOG, help="access log (combined) that is replayed")
    parser.add_argument(
        "--idle", type=int, default=10_000, help="idle connections whose memory is measured, 0 for none"
    )
    parser.add_argument(
        "--extras", action=argparse.BooleanOptionalAction, default=True, help="start-up, -t, idle connections"
    )
    parser.add_argument("--json", type=Path, default=RESULTS, help="write the figures to this file")
    parser.add_argument("--docs", type=Path, help="write performance.md and its plots to this directory")
    parser.add_argument(
        "--compare", type=Path, metavar="OLD.json", help="list what got better or worse since that run"
    )
    parser.add_argument(
        "--from", dest="earlier", type=Path, metavar="OLD.json", help="measure nothing, report that run"
    )
    parser.add_argument(
        "--color",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="color the tables; default: on a terminal, unless NO_COLOR is set",
    )
    return parser.parse_args(argv)


def present(wanted: list[str], console: Console) -> list[str]:
    """Return the selected servers that this machine has; print those it lacks."""
    for name in wanted:
        if program(name) is None:
            console.print(f"{name}: not on this machine, left out")
    return [name for name in wanted if program(name)]


def measured(options: argparse.Namespace, console: Console, root: Path) -> dict[str, Any]:
    """Make a complete run; raises NotStarted or WrongResponse."""
    os.chmod(root, 0o755)
    wanted = [case for case in CASES if case.name in options.cases.split(",")]
    requests, summary = [], ""
    if any(case.replay for case in wanted) and options.log.is_file():
        requests, summary = prepare_replay(options.log, root)
        console.print(f"replay: {summary}", markup=False)
    elif any(case.replay for case in wanted):
        console.print(f"replay: left out, there is no {options.log} (--log)", markup=False)
    if php_fpm() is None and any(SITES[case.site].php for case in wanted):
        console.print("php-fpm: left out, it is not installed", markup=False)
        options.cases = ",".join(case.name for case in wanted if not SITES[case.site].php)
        wanted = [case for case in wanted if not SITES[case.site].php]
    if not (APACHE_MODULES / "mod_wsgi.so").exists() and any(case.site == "wsgi" for case in wanted):
        console.print("wsgi: left out, apache2 has no mod_wsgi", markup=False)
        options.cases = ",".join(case.name for case in wanted if case.site != "wsgi")
        wanted = [case for case in wanted if case.site != "wsgi"]
    write_documents(root, max((case.pages for case in wanted), default=0) or 1)
    if cores()[0] is None:
        console.print(
            "one core only, or no taskset: server and load generator share it, the figures are rough"
        )
    plan = Plan(options, root, present(options.servers.split(","), console), requests=requests)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=plan.steps())

        def report(text: str) -> None:
            progress.update(task, description=text, completed=next(counted))

        counted = iter(range(plan.steps() + 1))
        plan.report, plan.done = report, console.print
        plan.run()
        progress.update(task, description="start, check, idle connections", completed=plan.steps())
        more = extras(options, root, plan.servers) if options.extras else {}
    return {
        "interpreter": described(),
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "seconds": options.seconds,
        "rounds": options.rounds,
        "servers": plan.versions,
        "cases": model(plan.full),
        "half": model_half(plan.half),
        "extras": more,
        "half_seconds": min(options.half_seconds, options.seconds),
        "replay": summary,
        "pace": SLOTS,
    }


def bench(options: argparse.Namespace, console: Console) -> None:
    """Measure, or read an earlier run, and report; raises NotStarted or WrongResponse."""
    old = json.loads(options.compare.read_text()) if options.compare is not None else None
    if options.earlier is not None:
        results = json.loads(options.earlier.read_text())
    else:
        with tempfile.TemporaryDirectory(prefix="whimbrel-bench-") as folder:
            results = measured(options, console, Path(folder))
        results["conditions"] = [asdict(one) for one in conditions(results)]
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    show(results, console)
    conditions_table(conditions(results), console)
    if old is not None:
        changes_table(changes(old, results), console)
        if min(old["rounds"], results["rounds"]) < 2:
            console.print("A run of one round knows no noise: take --rounds 3.")
    if options.docs is not None:
        write_page(options.docs, results)


def main() -> int:
    options = arguments()
    plain = options.color is False
    width = None if sys.stdout.isatty() else 140
    reason = ""
    if options.debian and options.earlier is None:
        reason = switch(["-m", "bench.run", *sys.argv[1:]])
    console = Console(
        width=width,
        no_color=plain or None,
        highlight=not plain,
        force_terminal=True if options.color else None,
    )
    if options.earlier is None:
        console.print(f"interpreter: {described()}{f'; {reason}' if reason else ''}", markup=False)
    for name, lost in NEEDED.items() if options.earlier is None else ():
        if shutil.which(name) is None:
            console.print(f"{name} is not on this machine: {lost}")
            if name == "wrk":
                return 1
    try:
        bench(options, console)
    except (NotStarted, WrongResponse) as problem:
        console.print(f"{type(problem).__name__}: {problem}", markup=False)
        return 1
    except subprocess.CalledProcessError as problem:
        console.print(f"{problem}\n{problem.output}", markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("stopped, nothing written")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
