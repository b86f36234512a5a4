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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TypeVar

from tests.differential.exchange import Answer, Request, exchange_all
from tests.differential.module_pools import MODULES
from tests.differential.module_sites import random_site, write_documents
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import MODULES as COMMON
from tests.differential.site import GeneratedSite, ServerProcess

EXCEPTIONS: Final = Path(__file__).with_name("DIFFERENCES.tsv")
LOADS: Final = "".join(
    f"LoadModule {name}_module %MODULES%/mod_{name}.so\n" for name in MODULES if name not in COMMON
)
ACCESS_LOG: Final = (
    'CustomLog %LOGS%/access_log "%r|%>s|%s|%b|%u|%m|%U|%q|%f|%R|%{Content-Type}o|%{set}e|%X"\n'
)
CODE: Final = re.compile(r"\b(?!AH02651)(AH\d{5})\b")  # AH02651: a document that cannot be run
RANDOM_VALUES: Final = (
    (re.compile(r"(UNIQUE_ID|REMOTE_PORT|SERVER_SOFTWARE|DATE_LOCAL|DATE_GMT)=.*"), r"\1=@"),
    (re.compile(r"expiry=\d{10,}"), "expiry=@"),
    (re.compile(r"Apache=[\d.a-f]+|tracked=[\d.a-f]+"), "@COOKIE@"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "@UUID@"),
)
FRAMING: Final = frozenset(("content-length", "transfer-encoding", "connection", "accept-ranges"))
UNSTABLE: Final = re.compile(
    r"Server (Status|Information)|Apache Status|ServerUptime|Scoreboard|\A\.+\Z"
)  # pages about the process itself; other tests compare them
PROGRAM_PAGES: Final = re.compile(r"ErrorDocument \d+ \S*\.cgi")
PROCESS_PAGES: Final = re.compile(r"(?m)^(\w+ [^ ]*(?:inner\.shtml|status)[^|]*\|\d+\|\d+)\|\d+")
RANGES: Final = re.compile(
    r"(?m)^(.*\|206\|206\|)\d+(\|.*multipart/byteranges)"
)  # a boundary has 13 to 16 digits
MOST_STEPS: Final = 40  # of one reduction


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


Item = TypeVar("Item")
Probe = Callable[[int, GeneratedSite, list[Request]], Difference | None]


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
        text = PROCESS_PAGES.sub(r"\1|@", _masked(text.replace(str(self.port), "%PORT%")))
        return RANGES.sub(r"\1@\2", text).splitlines()

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
        has_pages = PROGRAM_PAGES.search(site.conf + "".join(site.htaccess.values())) is not None
        for at, request in enumerate(requests if one.started else ()):
            want, got = (_answer(server.port, request, has_pages) for server in (one, other))
            if want != got:
                return difference("response", want, got, requests[: at + 1])
        time.sleep(0.1)
        lines = one.access_lines(), other.access_lines()
        if lines[0] != lines[1]:
            at = next((i for i, pair in enumerate(zip(*lines, strict=False)) if pair[0] != pair[1]), -1)
            counts = accumulate(1 + len(request.then) for request in requests)
            asked = next((i for i, count in enumerate(counts) if count > at), len(requests) - 1)
            return difference("access", lines[0][at:][:1], lines[1][at:][:1], requests[: asked + 1])
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


def _answer(port: int, request: Request, has_pages: bool) -> Any:
    """Return what is compared of the responses; *has_pages*: a program writes error pages."""
    try:
        answers = exchange_all(port, request)
    except Exception as failure:  # a response that http.client cannot read is compared by its error
        return repr(failure)
    asked = (request, *request.then)
    parts = [_comparable(one, answer, has_pages) for one, answer in zip(asked, answers, strict=False)]
    return parts if request.then else parts[0]


def _comparable(request: Request, answer: Answer, has_pages: bool) -> dict[str, Any]:
    headers = {name: _masked(value) for name, value in answer.headers}
    body = _masked(answer.body)
    is_page = has_pages and answer.status >= 400
    if ".cgi" in request.path or request.path.startswith("/status") or is_page:
        # whether a program ends before its output is read is a matter of time
        headers = {name: value for name, value in headers.items() if name not in FRAMING}
    if UNSTABLE.search(body):
        headers.pop("content-length", None)
        headers.pop("content-range", None)
        body = ""
    return {"status": answer.status, "reason": answer.reason, "headers": headers, "body": body}


def reduced(found: Difference, probe: Probe = first_difference) -> Difference:
    """Return *found* with few requests and few lines that still differ in the same place.

    *probe* is `first_difference`, which serves a site with both programs.
    """
    best, steps = found, 0

    def still(conf: str, htaccess: dict[str, str], requests: Sequence[Request]) -> bool:
        nonlocal best, steps
        steps += 1
        if steps > MOST_STEPS:
            return False
        other = probe(found.seed, GeneratedSite(conf, htaccess), list(requests))
        if other is None or other.where != found.where:
            return False
        best = other
        return True

    def has_less(parts: Sequence[str]) -> bool:
        return still("".join(parts), best.htaccess, best.requests)

    if not still(best.conf, best.htaccess, best.requests[-1:]):
        shrunk(best.requests, lambda rest: still(best.conf, best.htaccess, rest))
    if len(best.requests) == 1 and best.requests[0].then:
        first, *behind = (best.requests[0], *best.requests[0].then)
        for one in (replace(first, then=()), *behind):
            if still(best.conf, best.htaccess, (one,)):
                break
    if not (best.htaccess and still(best.conf, {}, best.requests)):
        for name in list(best.htaccess):
            still(best.conf, {n: text for n, text in best.htaccess.items() if n != name}, best.requests)
    shrunk(blocks(best.conf), has_less)
    lines = best.conf.splitlines(keepends=True)
    shrunk([line for line in lines if not line.startswith("<")], lambda rest: has_less(_subset(lines, rest)))
    for name, text in list(best.htaccess.items()):
        shrunk(
            text.splitlines(keepends=True),
            lambda rest, name=name: still(  # type: ignore[misc]
                best.conf, best.htaccess | {name: "".join(rest)}, best.requests
            ),
        )
    return best


def shrunk(items: Sequence[Item], test: Callable[[Sequence[Item]], bool]) -> Sequence[Item]:
    """Return what is left of *items* when every run of them that *test* does without is dropped."""
    size = len(items) - 1
    while size > 0:
        at = 0
        while at < len(items):
            rest = [*items[:at], *items[at + size :]]
            if test(rest):
                items = rest
            else:
                at += size
        size //= 2
    return items


def _subset(lines: Sequence[str], rest: Sequence[str]) -> list[str]:
    """Return the lines of sections in *lines*, with the *rest* of the others, in their order."""
    left = list(reversed(rest))
    out = []
    for line in lines:
        if line.startswith("<"):
            out.append(line)
        elif left and left[-1] == line:
            out.append(left.pop())
    return out


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
