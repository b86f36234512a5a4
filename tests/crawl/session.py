"""The crawl of one application: both servers, its pages, and the comparison of each variant."""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from pathlib import Path

from tests.crawl.applications import Application
from tests.crawl.compare import Comparison, Difference
from tests.crawl.logs import NO_AGENT, RETRY, AgentLines, LogFile, by_agent, compare_access, error_codes
from tests.crawl.pages import Page, crawl
from tests.crawl.replies import Framing, Reply, receive, split
from tests.crawl.variants import Variant, request, variants
from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents

_CRAWLER_ADDRESS = "127.0.0.1"
NO_REPLY = Reply("", (), b"", Framing.BROKEN, 0)
RETRIES = 4
UNREAD_CODES = frozenset(("AH00574", "AH02651"))  # a program leaves the request body unread: a matter of time


@dataclass(frozen=True)
class Options:
    """What is sent: up to *limit* targets of each application, chosen with *seed*, by *jobs* clients, each
    variant *rounds* times.
    """

    limit: int = 30
    seed: int = 1
    jobs: int = 4
    rounds: int = 1


class Excuse(Enum):
    """Reasons of differences that do not count against Whimbrel.

    Attributes:
        VARIES: apache2 answers the same octets in several ways, and one of them is Whimbrel's.
        LOST: mod_cgid loses the end of a response, or all of it, if the program leaves the request body
            unread (AH00574, `Connection reset by peer`); Whimbrel's response is complete.
    """

    NONE = "none"
    VARIES = "apache2 varies"
    LOST = "apache2 loses the response"


@dataclass
class Outcome:
    """One answer of both servers, compared.

    Attributes:
        status: that of apache2, then that of Whimbrel.
        differences: of the answers.
        logs: of the access log lines and the codes in the error log.
    """

    application: str
    target: str
    variant: str
    request: Variant
    status: tuple[int, int]
    differences: list[Difference] = field(default_factory=list)
    excuse: Excuse = Excuse.NONE
    logs: list[Difference] = field(default_factory=list)


class StartError(Exception):
    """A server that does not start with the configuration of an application."""


class _Client:
    """One client address on both servers."""

    def __init__(self, session: Session, number: int) -> None:
        self._session, self.address = session, f"127.0.0.{number + 2}"

    def _replies(self, server: StockServer, variant: Variant) -> list[Reply]:
        return split(receive(server.port, variant.data, self.address), variant.methods)

    def compare(self, page: Page, options: Options) -> list[Outcome]:
        """Send the variants of *page* to both servers; return the outcomes."""
        outcomes: list[Outcome] = []
        pairs: list[tuple[Reply, Reply]] = []
        application = self._session.application
        requests = [0, 0]
        self._is_program = application.is_program(page.target)
        for variant in [*variants(page, options.seed)] * options.rounds:
            if self._session.has_ended:
                break
            answers = [self._replies(server, variant) for server in self._session.servers]
            requests = [n + max(len(replies), 1) for n, replies in zip(requests, answers, strict=True)]
            if self._is_program and b"HTTP/1.0" in variant.data:
                answers = [replies[:1] for replies in answers]  # the framing decides about a second one
            for number, (one, two) in enumerate(zip_longest(*answers, fillvalue=NO_REPLY)):
                name = f"{variant.name} {number + 1}" if len(variant.methods) > 1 else variant.name
                outcome = Outcome(application.package, page.target, name, variant, (one.status, two.status))
                outcome.differences = self._differences(one, two)
                if outcome.differences:
                    outcome.excuse = self._excuse(variant, number, one, two)
                outcomes.append(outcome)
                pairs.append((one, two))
        access = self._session.access_logs
        lines = [by_agent(log.take(self.address, n)) for log, n in zip(access, requests, strict=True)]
        self._compare_logs(outcomes, pairs, lines)
        return outcomes

    def _differences(self, one: Reply, two: Reply) -> list[Difference]:
        return self._session.comparison.compare(one, two, is_program=self._is_program)

    def _excuse(self, variant: Variant, number: int, one: Reply, two: Reply) -> Excuse:
        """Return the reason why differences do not count against Whimbrel, if there is one."""
        has_body = not variant.data.endswith(b"\r\n\r\n") or b"chunked" in variant.data
        if self._is_program and has_body and self._session.comparison.is_cut(one, two):
            return Excuse.LOST
        again = variant.renamed(RETRY)
        for _ in range(RETRIES):
            replies = self._replies(self._session.servers[0], again)
            other = replies[number] if number < len(replies) else NO_REPLY
            if not self._differences(other, two):
                return Excuse.VARIES
        return Excuse.NONE

    def _compare_logs(
        self, outcomes: list[Outcome], pairs: list[tuple[Reply, Reply]], lines: list[AgentLines]
    ) -> None:
        """Add the differences of the logs: access lines one by one, error codes of the page as a whole."""
        for outcome, sizes in zip(outcomes, pairs, strict=True):
            logged = [found[f"crawl/{outcome.request.agent}"] or found[NO_AGENT] for found in lines]
            ours = [found.popleft() if found else "(none)" for found in logged]
            if outcome.excuse is Excuse.NONE:
                outcome.logs.extend(compare_access((ours[0], ours[1]), (sizes[0].size, sizes[1].size)))
        codes = [set(error_codes(log.take(self.address))) for log in self._session.error_logs]
        for code in sorted((codes[0] ^ codes[1]) - (UNREAD_CODES if self._is_program else set())):
            one, two = ("logged" if code in found else "(none)" for found in codes)
            outcomes[0].logs.append(Difference(f"error {code}", one, two))


class Session:
    """Both servers with the configuration of *application*; a context manager."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._stack = ExitStack()
        self._clients: list[_Client] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def __enter__(self) -> Session:
        with self._stack as stack:
            base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crawl-")))
            write_documents(base)
            prepared = self.application.prepare(base)
            conf = Path(f"/etc/apache2/conf-available/{self.application.package}.conf").read_text()
            for old, new in prepared.changes.items():
                conf = conf.replace(old, new)
            self.servers = [
                StockServer(program, base, conf + prepared.conf, modules=self.application.modules)
                for program in (APACHE, WHIMBREL)
            ]
            for server in self.servers:
                stack.enter_context(server)
                if not server.started:
                    raise StartError(f"{server.program.name} does not start: {server.output}")
            self.access_logs = [LogFile(server.run / "access.log", is_access=True) for server in self.servers]
            self.error_logs = [LogFile(server.run / "error.log", is_access=False) for server in self.servers]
            ports = self.servers[0].port, self.servers[1].port
            self.comparison = Comparison(ports, self.application.masks, self.application.varying)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def has_ended(self) -> bool:
        """Return True if the crawl was interrupted: clients stop sending."""
        return self._ended.is_set()

    def _fetch(self, target: str) -> Reply:
        """Return apache2's response to a plain GET."""
        data = receive(self.servers[0].port, request(target, "Connection: close"), _CRAWLER_ADDRESS)
        return (split(data, ("GET",)) or [NO_REPLY])[0]

    def _compare(self, page: Page, options: Options) -> list[Outcome]:
        """Compare *page* as a client that no other thread uses."""
        with self._lock:
            client = self._clients.pop()
        try:
            return client.compare(page, options)
        finally:
            self._clients.append(client)

    def run(self, options: Options, progress: Callable[[int, int], None]) -> Iterator[Outcome]:
        """Crawl; yield all outcomes. *progress* is called with the pages that are done, and all pages."""
        self._clients = [_Client(self, number) for number in range(options.jobs)]
        chance, wanted = random.Random(options.seed), self.application.is_wanted
        pages = list(crawl(self.application.entries, wanted, self._fetch, options.limit, chance))
        with ThreadPoolExecutor(options.jobs) as pool:
            futures = [pool.submit(self._compare, page, options) for page in pages]
            try:
                for done, future in enumerate(as_completed(futures), 1):
                    progress(done, len(pages))
                    yield from future.result()
            except BaseException:
                self._ended.set()
                pool.shutdown(cancel_futures=True)
                raise
