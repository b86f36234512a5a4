"""Random differential of all built modules: apache2 and Whimbrel answer the same requests.

    python -m tests.differential.random_run --seconds 1800 --details differences.jsonl

Each seed is a configuration with .htaccess files, and some thirty requests. A difference is reduced to few
lines and one request. DIFFERENCES.tsv lists the differences that stay: a regular expression for the reduced
record, a tab, the reason. Exit code 1 if another one was found.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from tests.differential.exchange import Request, exchange
from tests.differential.module_pools import MODULES
from tests.differential.module_sites import random_site, write_documents
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import MODULES as COMMON
from tests.differential.site import GeneratedSite, ServerProcess

EXCEPTIONS: Final = Path(__file__).with_name("DIFFERENCES.tsv")
LOADS: Final = "".join(
    f"LoadModule {name}_module %MODULES%/mod_{name}.so\n" for name in MODULES if name not in COMMON
)
ACCESS_LOG: Final = 'CustomLog %LOGS%/access_log "%r|%>s|%s|%b|%u|%m|%q|%{Content-Type}o|%{set}e|%X"\n'
CODE: Final = re.compile(r"\b(AH\d{5})\b")
RANDOM_VALUES: Final = (
    (re.compile(r"(UNIQUE_ID|REMOTE_PORT|SERVER_SOFTWARE|DATE_LOCAL|DATE_GMT)=.*"), r"\1=@"),
    (re.compile(r"Apache=[\d.a-f]+|tracked=[\d.a-f]+"), "@COOKIE@"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "@UUID@"),
)
FRAMING: Final = frozenset(("content-length", "transfer-encoding", "connection", "accept-ranges"))
UNSTABLE: Final = re.compile(
    r"Server (Status|Information)|Apache Status|ServerUptime|Scoreboard|\A\.+\Z"
)  # pages about the process itself; other tests compare them
PROCESS_PAGES: Final = re.compile(r"(?m)^(\w+ [^ ]*(?:inner\.shtml|status)[^|]*\|\d+\|\d+)\|\d+")
MOST_STEPS: Final = 60  # of one reduction


@dataclass(frozen=True)
class Difference:
    """The first difference of one site: *where* is start, response, access or error."""

    seed: int
    where: str
    conf: str
    htaccess: dict[str, str]
    requests: tuple[Request, ...]
    apache: Any
    whimbrel: Any

    def record(self) -> str:
        """Return one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


class _Server(ServerProcess):
    def __init__(self, program: Program, site: GeneratedSite, root: Path) -> None:
        super().__init__(program, site, root)
        text = (
            self.conf.read_text().replace("%LOGS%", str(self.logs)).replace("%MODULES%", program.module_dir)
        )
        self.conf.write_text(text)

    def access_lines(self) -> list[str]:
        """Return the lines of the access log, without port and random values."""
        path = self.logs / "access_log"
        text = path.read_text("latin-1") if path.exists() else ""
        return PROCESS_PAGES.sub(r"\1|@", _masked(text.replace(str(self.port), "%PORT%"))).splitlines()

    def error_codes(self) -> dict[str, int]:
        """Return the codes of the error log and their numbers."""
        path = self.logs / "error_log"
        return dict(sorted(Counter(CODE.findall(path.read_text("latin-1"))).items())) if path.exists() else {}


def _masked(text: str) -> str:
    for pattern, mask in RANDOM_VALUES:
        text = pattern.sub(mask, text)
    return text


def first_difference(seed: int, site: GeneratedSite, requests: list[Request]) -> Difference | None:
    """Serve *site* with both programs and compare start, responses, access lines and error codes."""

    def difference(where: str, apache: Any, whimbrel: Any, asked: list[Request]) -> Difference:
        return Difference(seed, where, site.conf, site.htaccess, tuple(asked), apache, whimbrel)

    with tempfile.TemporaryDirectory(prefix="whimbrel-random-") as folder, ExitStack() as stack:
        os.chmod(folder, 0o755)
        root = Path(folder, "site")
        write_documents(root, site.htaccess)
        whole = replace(site, conf=LOADS + ACCESS_LOG + site.conf)
        servers = [_Server(program, whole, root) for program in (APACHE, WHIMBREL)]
        with ThreadPoolExecutor(2) as pool:
            one, other = pool.map(stack.enter_context, servers)
        if one.started != other.started or (not one.started and one.output != other.output):
            return difference("start", one.output, other.output, [])
        for at, request in enumerate(requests if one.started else ()):
            want, got = (_answer(server.port, request) for server in (one, other))
            if want != got:
                return difference("response", want, got, requests[: at + 1])
        time.sleep(0.1)
        lines = one.access_lines(), other.access_lines()
        if lines[0] != lines[1]:
            at = next((i for i, pair in enumerate(zip(*lines, strict=False)) if pair[0] != pair[1]), -1)
            return difference("access", lines[0][at:][:1], lines[1][at:][:1], requests[: at + 1])
        codes = one.error_codes(), other.error_codes()
        if codes[0] != codes[1]:
            changed = {c: (codes[0].get(c, 0), codes[1].get(c, 0)) for c in codes[0] | codes[1]}
            changed = {c: pair for c, pair in changed.items() if pair[0] != pair[1]}
            return difference(
                "error",
                {c: pair[0] for c, pair in changed.items()},
                {c: p[1] for c, p in changed.items()},
                requests,
            )
    return None


def _answer(port: int, request: Request) -> Any:
    try:
        answer = exchange(port, request)
    except Exception as failure:  # a response that http.client cannot read is compared by its error
        return repr(failure)
    headers = {name: _masked(value) for name, value in answer.headers}
    body = _masked(answer.body)
    if ".cgi" in request.path or request.path.startswith("/status"):
        # whether a program ends before its output is read is a matter of time
        headers = {name: value for name, value in headers.items() if name not in FRAMING}
    if UNSTABLE.search(body):
        headers.pop("content-length", None)
        headers.pop("content-range", None)
        body = ""
    return {"status": answer.status, "reason": answer.reason, "headers": headers, "body": body}


def reduced(found: Difference) -> Difference:
    """Return *found* with few requests and few lines that still differ in the same place."""
    steps = 0

    def attempt(conf: str, htaccess: dict[str, str], requests: list[Request]) -> Difference | None:
        nonlocal steps
        steps += 1
        other = (
            first_difference(found.seed, GeneratedSite(conf, htaccess), requests)
            if steps < MOST_STEPS
            else None
        )
        return other if other is not None and other.where == found.where else None

    best = attempt(found.conf, found.htaccess, list(found.requests[-1:])) or found
    if len(best.requests) > 4:
        for request in best.requests:
            best = attempt(best.conf, best.htaccess, [request]) or best
            if len(best.requests) == 1:
                break
    for name in list(best.htaccess):
        rest = {n: text for n, text in best.htaccess.items() if n != name}
        best = attempt(best.conf, rest, list(best.requests)) or best
    for at in reversed(range(len(blocks(best.conf)))):
        parts = blocks(best.conf)
        best = attempt("".join(parts[:at] + parts[at + 1 :]), best.htaccess, list(best.requests)) or best
    for at in reversed(range(best.conf.count("\n"))):
        lines = best.conf.splitlines(keepends=True)
        if at < len(lines) and not lines[at].startswith("<"):
            best = attempt("".join(lines[:at] + lines[at + 1 :]), best.htaccess, list(best.requests)) or best
    for name in best.htaccess:
        for at in reversed(range(best.htaccess[name].count("\n"))):
            lines = best.htaccess[name].splitlines(keepends=True)
            if at < len(lines):
                shorter = best.htaccess | {name: "".join(lines[:at] + lines[at + 1 :])}
                best = attempt(best.conf, shorter, list(best.requests)) or best
    return best


def blocks(conf: str) -> list[str]:
    """Return the lines of a text, a section being one."""
    parts: list[str] = []
    depth = 0
    for line in conf.splitlines(keepends=True):
        if depth:
            parts[-1] += line
        else:
            parts.append(line)
        depth += line.startswith("<") and not line.startswith("</")
        depth -= line.startswith("</")
    return parts


def run_seed(seed: int) -> Difference | None:
    """Return the reduced difference of one seed; None if there is none."""
    site, requests = random_site(seed)
    found = first_difference(seed, site, requests)
    return None if found is None else reduced(found)


def known_reason(record: str, exceptions: Path = EXCEPTIONS) -> str | None:
    """Return the reason why the difference of *record* stays; None if it is not listed."""
    for line in exceptions.read_text().splitlines():
        pattern, _, reason = line.partition("\t")
        if reason and not line.startswith("#") and re.search(pattern, record):
            return reason
    return None


def _seeds(first: int, seconds: float) -> Iterator[int]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield first
        first += 1


def main(argv: list[str] | None = None) -> int:
    """Run seeds until the time is over; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=1800, help="how long (default 1800)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="sites at a time (default: processors)"
    )
    parser.add_argument("--details", type=Path, help="file of the reduced differences, a line of JSON each")
    options = parser.parse_args(argv)
    if not APACHE.present:
        print("no apache2 on this machine: nothing to compare with", file=sys.stderr)
        return 2
    sites = unlisted = 0
    listed: Counter[str] = Counter()
    details = options.details.open("w") if options.details else None
    with ProcessPoolExecutor(options.jobs, max_tasks_per_child=50) as pool:
        seeds = _seeds(options.seed, options.seconds)
        running = {pool.submit(run_seed, seed) for _, seed in zip(range(options.jobs), seeds, strict=False)}
        while running:
            done = next(iter(running), None)
            assert done is not None
            running.discard(done)
            found = done.result()
            sites += 1
            if (seed := next(seeds, None)) is not None:
                running.add(pool.submit(run_seed, seed))
            if found is None:
                continue
            reason = known_reason(found.record())
            if reason is None:
                unlisted += 1
                print(f"seed {found.seed}: {found.where} differs", flush=True)
            else:
                listed[reason] += 1
            if details:
                details.write(found.record() + "\n")
                details.flush()
    print(f"{sites} sites, {unlisted} unlisted differences, {sum(listed.values())} listed ones")
    for reason, count in listed.most_common():
        print(f"{count:5} {reason}")
    return 1 if unlisted else 0


if __name__ == "__main__":
    sys.exit(main())
