"""Renewals in a worker: one thread of one worker runs the jobs while requests are served."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.log.error_log_line import LogLine, enabled
from whimbrel.engine.request import RequestEngine
from whimbrel.modules.md.mod_md.authority import CertificateAuthority
from whimbrel.modules.md.mod_md.domains import ManagedDomain
from whimbrel.modules.md.mod_md.driver import Ended, JobDriver, JobRuntime
from whimbrel.modules.md.mod_md.manager import Manager, manager_of

TICK: Final = 1.0  # seconds between two looks at the clock
NAME: Final = "md_renew"


class RenewalThread:
    """The jobs of this worker's generation.

    Attributes:
        ended: set when the worker ends.
    """

    def __init__(self, engine: RequestEngine, manager: Manager) -> None:
        self.ended = threading.Event()
        self._engine = engine
        self._manager = manager
        self._loop = asyncio.get_running_loop()
        runtime = JobRuntime(self._connect, time.time, random.random, self._sleep, self._log)
        self._driver = JobDriver(manager, runtime)
        self._next_run = time.time() + manager.conf.initial_delay

    async def tick(self) -> None:
        """Run the jobs if they are due, unless another process does."""
        if time.time() < self._next_run or self.ended.is_set():
            return
        done = self._loop.create_future()

        def finish(next_run: float, problem: BaseException | None) -> None:
            if done.cancelled():
                return
            if problem is None:
                done.set_result(next_run)
            else:
                done.set_exception(problem)

        # a daemon: the end of a worker does not wait for the network
        threading.Thread(target=self._work, args=(finish,), name=NAME, daemon=True).start()
        try:
            self._next_run = await done
        except asyncio.CancelledError:
            self.ended.set()
            raise
        except BaseException:
            self._next_run = time.time() + self._manager.conf.retry_delay
            raise

    def _work(self, finish: Callable[[float, BaseException | None], None]) -> None:
        next_run = time.time() + TICK
        problem = None
        try:
            with self._manager.store.renewal() as is_ours:
                if is_ours:
                    next_run = self._driver.run()
        except Ended:
            pass
        except BaseException as error:
            problem = error
        self._call(finish, next_run, problem)

    def _call(self, function: Callable[..., Any], *arguments: object) -> None:
        """Call *function* in the event loop, unless that has ended."""
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            self.ended.set()

    def _connect(self, domain: ManagedDomain, url: str) -> CertificateAuthority:
        from whimbrel.modules.md.mod_md.acme_client import AcmeAuthority  # its libraries are large

        if self.ended.is_set():
            raise Ended
        settings = domain.settings
        return AcmeAuthority(url, ca_file=settings.ca_file, proxy=settings.proxy)

    def _sleep(self, seconds: float) -> None:
        if self.ended.wait(seconds):
            raise Ended

    def _log(self, level: str, code: str, text: str, cause: str) -> None:
        self._call(self._write, LogLine(level, text, code, "md", cause))

    def _write(self, line: LogLine) -> None:
        main = self._engine.main
        if line.level == "notice" or enabled(main.config(CoreServerConfig).log_level, "md", line.level):
            self._engine.error_log.about_server(main, line)


async def begin(engine: RequestEngine) -> None:
    """Watch the domains from one worker."""
    manager = manager_of(engine.configuration)
    if manager is None:
        return
    manager.log_connection = engine.log_connection
    if not any(domain.is_watched for domain in manager.domains):
        return
    thread = RenewalThread(engine, manager)
    engine.worker_state[NAME] = thread
    engine.runtime.every(NAME, TICK, thread.tick)


async def end(engine: RequestEngine) -> None:
    """Let the thread end."""
    thread: RenewalThread | None = engine.worker_state.get(NAME)
    if thread is not None:
        thread.ended.set()
