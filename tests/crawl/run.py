"""Command line of `make crawl`: compare answers of packaged applications on apache2 and Whimbrel.

Exits with 1 if fewer answers than the threshold are equal, with 2 if nothing can be crawled.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.crawl.applications import APPLICATIONS
from tests.crawl.report import Report
from tests.crawl.session import Options, Session, StartError
from tests.differential.servers import APACHE

THRESHOLD = 99.95


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        prog="make crawl", description=__doc__.splitlines()[0].partition(": ")[2]
    )
    parser.add_argument(
        "--only", nargs="+", metavar="PACKAGE", choices=sorted(APPLICATIONS), help="crawl these only"
    )
    parser.add_argument("--limit", type=int, default=30, help="targets of each application (default: 30)")
    parser.add_argument(
        "--seed", type=int, default=1, help="choose the order of links with this number (default: 1)"
    )
    parser.add_argument("--jobs", type=int, default=4, help="clients that send at the same time (default: 4)")
    parser.add_argument("--rounds", type=int, default=1, help="send each variant so many times (default: 1)")
    parser.add_argument(
        "--threshold", type=float, default=THRESHOLD, help=f"percentage (default: {THRESHOLD})"
    )
    parser.add_argument(
        "--details", type=Path, metavar="FILE", help="write each difference as a line of JSON"
    )
    parser.add_argument("--list", action="store_true", help="list the applications and end")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Crawl; print figures; return the exit status."""
    options = arguments(argv)
    if options.list:
        for application in APPLICATIONS.values():
            print(f"{application.package:24}{application.missing or 'present'}")
        return 0
    if not APACHE.present or os.getuid() != 0:
        print("make crawl needs apache2, and root to start it as packaged")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # stops the servers too
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with ExitStack() as stack:
        details = stack.enter_context(options.details.open("w")) if options.details else None
        report = Report(details)
        progress = stack.enter_context(Progress(*columns, console=console, disable=not console.is_terminal))
        sent = Options(options.limit, options.seed, options.jobs, options.rounds)
        for application in APPLICATIONS.values():
            if options.only and application.package not in options.only:
                continue
            if application.missing:
                print(f"{application.package}: skipped, {application.missing}")
                continue
            task = progress.add_task(application.package, total=options.limit)
            try:
                with Session(application) as session:
                    for outcome in session.run(
                        sent,
                        lambda done, total, task=task: progress.update(task, completed=done, total=total),
                    ):
                        report.add(outcome)
            except StartError as error:
                print(f"{application.package}: {error}")
                return 2
    for line in report.lines():
        print(line)
    if not report.total.answers:
        return 2
    return 0 if report.total.percent >= options.threshold else 1


if __name__ == "__main__":
    sys.exit(main())
