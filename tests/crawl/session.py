"""The crawl of one application: both servers, its pages, and the comparison of each variant."""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from tests.crawl.applications import Application
from tests.crawl.compare import Comparison, Difference
from tests.crawl.logs import NO_AGENT, LogFile, by_agent, compare_access, error_codes
from tests.crawl.pages import Page, crawl
from tests.crawl.replies import Framing, Reply, receive, split
from tests.crawl.variants import Variant, request, variants
from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents

_CRAWLER_ADDRESS = "127.0.0.1"
NO_REPLY = Reply("", (), b"", Framing.BROKEN, 0)
RETRY, RETRIES = "retry", 4


@dataclass(frozen=True)
class Options:
    """What is sent: up to *limit* targets of each application, chosen with *seed*, by *jobs* clients, each
    variant *rounds* times.
    """

    limit: int = 30
    seed: int = 1
    jobs: int = 4
    rounds: int = 1


@dataclass(frozen=True)
class Outcome:
    """One answer of both servers, compared.

    Attributes:
        status: that of apache2, then that of Whimbrel.
        differences: of the answers.
        is_unstable: True if apache2 itself varies, and gives Whimbrel's answer too.
        logs: of the access log lines and the codes in the error log.
    """

    application: str
    target: str
    variant: str
    request: Variant
    status: tuple[int, int]
    differences: list[Difference]
    is_unstable: bool
    logs: list[Difference] = field(default_factory=list)


class StartError(Exception):
    """A server that does not start with the configuration of an application."""


class _Client:
    """One client address on both servers."""

    def __init__(self, session: Session, number: int) -> None:
        self._session, self.address = session, f"127.0.0.{number + 2}"

    def _replies(self, server: StockServer, variant: Variant) -> list[Reply]:
        return split(receive(server.port, variant.data, self.address), variant.methods)

    def compare(self, page: Page, rounds: int) -> list[Outcome]:
        """Send the variants of *page* to both servers; return the outcomes."""
        outcomes: list[Outcome] = []
        pairs: list[tuple[Reply, Reply]] = []
        for variant in [*variants(page)] * rounds:
            answers = [self._replies(server, variant) for server in self._session.servers]
            for number, (one, two) in enumerate(zip_longest(*answers, fillvalue=NO_REPLY)):
                differences = self._session.comparison.compare(one, two)
                outcome = Outcome(
                    application=self._session.application.package,
                    target=page.target,
                    variant=f"{variant.name} {number + 1}" if len(variant.methods) > 1 else variant.name,
                    request=variant,
                    status=(one.status, two.status),
                    differences=differences,
                    is_unstable=bool(differences) and self._is_unstable(variant, number, one, two),
                )
                outcomes.append(outcome)
                pairs.append((one, two))
        self._compare_logs(outcomes, pairs)
        return outcomes

    def _is_unstable(self, variant: Variant, number: int, one: Reply, two: Reply) -> bool:
        """Return True if apache2 itself varies: another answer to the same octets differs from its first one
        and is equal to that of Whimbrel.
        """
        apache, compare = self._session.servers[0], self._session.comparison.compare
        again = variant.renamed(RETRY)
        for _ in range(RETRIES):
            replies = self._replies(apache, again)
            other = replies[number] if number < len(replies) else NO_REPLY
            if not compare(other, two):
                return True
        return False

    def _compare_logs(self, outcomes: list[Outcome], pairs: list[tuple[Reply, Reply]]) -> None:
        """Add the differences of the logs: access lines one by one, error codes of the page as a whole."""
        access, errors = self._session.access_logs, self._session.error_logs
        lines = [by_agent(log.take(self.address, len(outcomes))) for log in access]
        for outcome, sizes in zip(outcomes, pairs, strict=True):
            logged = [found[f"crawl/{outcome.request.agent}"] or found[NO_AGENT] for found in lines]
            ours = [found.popleft() if found else "(none)" for found in logged]
            if not outcome.is_unstable:
                outcome.logs.extend(compare_access((ours[0], ours[1]), (sizes[0].size, sizes[1].size)))
        codes = [set(error_codes(log.take(self.address))) for log in errors]
        for code in sorted(codes[0] ^ codes[1]):
            one, two = ("logged" if code in found else "(none)" for found in codes)
            outcomes[0].logs.append(Difference(f"error {code}", one, two))


class Session:
    """Both servers with the configuration of *application*; a context manager."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._stack = ExitStack()
        self._clients: list[_Client] = []
        self._lock = threading.Lock()

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
            self.comparison = Comparison((self.servers[0].port, self.servers[1].port), self.application.masks)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _fetch(self, target: str) -> Reply:
        """Return apache2's response to a plain GET."""
        data = receive(self.servers[0].port, request(target, "Connection: close"), _CRAWLER_ADDRESS)
        return (split(data, ("GET",)) or [NO_REPLY])[0]

    def _compare(self, page: Page, rounds: int) -> list[Outcome]:
        """Compare *page* as a client that no other thread uses."""
        with self._lock:
            client = self._clients.pop()
        try:
            return client.compare(page, rounds)
        finally:
            self._clients.append(client)

    def run(self, options: Options, progress: Callable[[int, int], None]) -> Iterator[Outcome]:
        """Crawl; yield all outcomes. *progress* is called with the pages that are done, and all pages."""
        self._clients = [_Client(self, number) for number in range(options.jobs)]
        chance, wanted = random.Random(options.seed), self.application.is_wanted
        pages = list(crawl(self.application.entries, wanted, self._fetch, options.limit, chance))
        with ThreadPoolExecutor(options.jobs) as pool:
            futures = [pool.submit(self._compare, page, options.rounds) for page in pages]
            for done, future in enumerate(as_completed(futures), 1):
                progress(done, len(pages))
                yield from future.result()
