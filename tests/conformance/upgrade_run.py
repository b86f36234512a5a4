"""Upgrade recorded 2.2 configurations in place, start apache2 on them, compare with the answers of 2.2.

The server root holds the files of the case and conf/httpd.conf: LoadModule lines of 2.2, the preamble, the
text of the case.  The command is called as COMMAND -d ROOT -f conf/httpd.conf and edits files in place.
Verdicts:

  same      every status, redirect target and password challenge equals the one of 2.2
  marked    an answer differs, and the command reported it ("needs review" in its output, or exit code 3)
  unmarked  an answer differs, and the command did not report it: a defect
  refused   apache2 does not start on the result, and the command reported it
  broken    apache2 does not start on the result, and the command did not report it: a defect
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.conformance.backends import running_backends
from tests.conformance.case import Case, Request
from tests.conformance.cases import exempt, packed, read_cases
from tests.conformance.masks import Mask
from tests.conformance.program import ProgramServer, absolute, apache
from tests.conformance.report import TOTAL, percentage
from tests.conformance.run import add_selection, missing, write_json
from tests.conformance.site import RecordedSite, load_module_lines

FAMILIES = ("authz*", "config-htaccess", "config-vhost", "core-rewrite")
"""The packed families that are upgraded by default: those whose answers depend on what changed."""
SAME, DEFECTS = "same", ("unmarked", "broken")
VERDICTS = (SAME, "marked", "unmarked", "refused", "broken")
REVIEW_CODE = 3
UPGRADE_TIMEOUT = 120
_MAX_DIFFERENCES = 20
EPILOG = """\
exit codes:
  0  the run is complete, and --floor holds
  1  less than --floor agrees, or a case is unmarked or broken while --floor is set
  2  the command line is wrong, or no case is selected

example:
  python -m tests.conformance.upgrade_run --upgrade ".venv/bin/whimbrel upgrade --write" --every 40
"""
Upgrade = Callable[[RecordedSite], subprocess.CompletedProcess[bytes]]
Seen = tuple[int, str | None, str | None]
"""What a client must find unchanged: status, redirect target, password challenge."""


@dataclass
class Outcome:
    """The outcome of one upgraded case.

    Attributes:
        answers, equal: compared answers, and those that equal the ones of 2.2.
        facts: everything else that a report shows.
    """

    case: Case
    verdict: str
    answers: int = 0
    equal: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


class UpgradedServer(ProgramServer):
    """apache2 at a site whose one httpd.conf holds everything."""

    def __init__(self, site: RecordedSite) -> None:
        super().__init__(apache(), site)

    def argv(self, *more: str) -> list[str]:
        return [*self.program.argv, "-d", self.site.root, "-f", self.site.path("conf/httpd.conf"), *more]


def is_upgradable(case: Case) -> bool:
    """Return True if 2.2 started with the configuration and it stands for a complete server."""
    return case.kind == "site" and bool(case.answer["started"]) and case.preamble and not case.strict


def merged_site(case: Case) -> RecordedSite:
    """A site as 2.2 would have it: LoadModule lines, preamble and configuration in one conf/httpd.conf."""
    site = RecordedSite(case, apache().modules)
    directory = site.modules.directory
    os.symlink(directory, site.path("modules"))
    built_in = tuple(name for name in case.modules if name in site.modules.built_in)
    lines = "".join(line + "\n" for line in load_module_lines(built_in, "modules"))
    site.write_text("conf/httpd.conf", lines + site.preamble.replace(directory, "modules") + site.conf)
    return site


def remove_built_in(site: RecordedSite) -> None:
    """Remove the LoadModule lines that apache2 refuses, since the modules are compiled in."""
    names = "|".join(site.modules.built_in)
    path = Path(site.path("conf/httpd.conf"))
    path.write_bytes(
        re.sub(rf"(?im)^[ \t]*LoadModule\s+(?:{names})_module\s.*\n".encode(), b"", path.read_bytes())
    )


def seen(status: int, headers: Iterable[Sequence[str]], mask: Mask) -> Seen:
    """What a client must find unchanged in a response."""
    values = {pair[0].lower(): mask(pair[1]) for pair in headers}
    challenge = values.get("www-authenticate") if status == 401 else None
    return status, values.get("location"), challenge and re.sub(r'(nonce|opaque)="[^"]*"', "", challenge)


def run_program(command: Sequence[str], site: RecordedSite) -> subprocess.CompletedProcess[bytes]:
    """The result of a command that upgrades the site; its messages are in the output."""
    return subprocess.run(
        [*command, "-d", site.root, "-f", "conf/httpd.conf"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=UPGRADE_TIMEOUT,
        cwd=site.root,
        check=False,
    )


def upgrade_and_compare(case: Case, upgrade: Upgrade) -> Outcome:
    """Upgrade a case, start apache2 on the result, and compare its answers."""
    with merged_site(case) as site, running_backends(site), UpgradedServer(site) as server:
        done = upgrade(site)
        output = done.stdout.decode("utf-8", "replace")
        reported = done.returncode == REVIEW_CODE or "needs review" in output.lower()
        remove_built_in(site)
        if server.start():
            outcome = compare_answers(server, reported)
        else:
            errors = site.mask()(site.read("stderr.txt") + site.read("logs/error_log"))
            outcome = Outcome(case, "refused" if reported else "broken", facts={"why": errors[-800:]})
        outcome.facts["exit"] = done.returncode
        if outcome.verdict != SAME:
            after = site.mask()(site.read("conf/httpd.conf"))
            outcome.facts |= {"before": case.conf, "after": after, "output": site.mask()(output)[-3000:]}
        return outcome


def compare_answers(server: ProgramServer, reported: bool) -> Outcome:
    """Send the requests and compare what a client sees."""
    case, mask = server.site.case, server.site.mask()
    pairs = [
        (request, response)
        for request, response in zip(case.requests, case.answer["responses"], strict=True)
        if "status" in response
    ]
    expected = [seen(response["status"], response["headers"], str) for _, response in pairs]
    actual = [_send(server, request, mask) for request, _ in pairs]
    differences = [
        {"request": request.record, "2.2": old, "upgraded": new}
        for (request, _), old, new in zip(pairs, expected, actual, strict=True)
        if old != new
    ]
    verdict = SAME if not differences else "marked" if reported else "unmarked"
    facts = {"differences": differences[:_MAX_DIFFERENCES]} if differences else {}
    return Outcome(case, verdict, len(pairs), len(pairs) - len(differences), facts)


def _send(server: ProgramServer, request: Request, mask: Mask) -> Seen:
    reply = server.client.send(request)
    return seen(reply.status, reply.headers, mask)


def upgrade_all(cases: Sequence[Case], upgrade: Upgrade, jobs: int) -> Iterator[Outcome]:
    """Upgrade the cases, *jobs* at a time; yield the outcomes in the order of the cases."""

    def attempt(case: Case) -> Outcome:
        try:
            return upgrade_and_compare(case, upgrade)
        except Exception as error:  # a failing case does not end the run
            return Outcome(case, "broken", facts={"why": repr(error)})

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(attempt, cases)


def count(outcomes: Iterable[Outcome]) -> dict[str, Counter[str]]:
    """The counts of each family and of all: verdicts, answers, equal answers."""
    totals: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for name in (outcome.case.family, TOTAL):
            totals.setdefault(name, Counter()).update(
                {outcome.verdict: 1, "answers": outcome.answers, "equal": outcome.equal}
            )
    return dict(sorted(totals.items(), key=lambda item: (item[0] == TOTAL, item[0])))


def table(totals: dict[str, Counter[str]]) -> str:
    """One line for each family, and one for all."""
    columns = (*VERDICTS, "answers", "equal")
    rows = (
        f"{name:34}" + "".join(f"{one[column]:>10}" for column in columns) for name, one in totals.items()
    )
    return "\n".join([f"{'family':34}" + "".join(f"{column:>10}" for column in columns), *rows])


def arguments(argv: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The parser and the parsed command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance.upgrade_run",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--upgrade",
        metavar="COMMAND",
        required=True,
        help="upgrade in place by this command (no default; example: '.venv/bin/whimbrel upgrade --write')",
    )
    add_selection(parser)
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        type=Path,
        help=f"read recordings, .jsonl or .jsonl.xz (default: the packed {', '.join(FAMILIES)}; "
        "example: tests/conformance/cases/authz-*.xz)",
    )
    return parser, parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    parser, options = arguments(argv)
    exemptions = [options.exemptions] if options.exemptions else []
    if absent := missing([*options.files, *exemptions]):
        parser.error(f"no such file: {', '.join(absent)}")
    entries = [entry for path in exemptions for entry in exempt(path)]
    cases = [
        case
        for case in read_cases(options.files or packed(*FAMILIES), "2.2", options.only)
        if is_upgradable(case) and not any(entry.covers(case.id) for entry in entries)
    ][:: options.every]
    if not cases:
        parser.error("no case is selected")
    outcomes = list(upgrade_all(cases, partial(run_program, absolute(options.upgrade)), options.jobs))
    if options.details:
        lines = (
            json.dumps(detail(one), ensure_ascii=False) + "\n" for one in outcomes if one.verdict != SAME
        )
        options.details.write_text("".join(lines), encoding="utf-8")
    return print_report(options, count(outcomes))


def detail(outcome: Outcome) -> dict[str, Any]:
    """An outcome in the form of --details."""
    return {"id": outcome.case.id, "title": outcome.case.title, "verdict": outcome.verdict, **outcome.facts}


def print_report(options: argparse.Namespace, totals: dict[str, Counter[str]]) -> int:
    """Print the table and the agreement; return the exit code."""
    overall = totals[TOTAL]
    share, defects = (
        percentage(overall["equal"], overall["answers"]),
        sum(overall[verdict] for verdict in DEFECTS),
    )
    if options.json != "-":
        print(table(totals))
        print(
            f"equal after upgrade: {share:.2f} % of {overall['answers']} answers; "
            f"configurations unmarked or broken: {defects}"
        )
    write_json(options.json, {"families": totals, "percent": round(share, 3), "defects": defects})
    return 1 if options.floor is not None and (share < options.floor or defects) else 0


if __name__ == "__main__":
    sys.exit(main())
