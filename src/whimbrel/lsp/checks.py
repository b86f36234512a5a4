"""Checks after a pause of typing, one at a time, in a thread; a newer text cancels the running one.

Requests that need the thread wait for the running check alone: the next one begins behind them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from lsprotocol.types import Diagnostic

from whimbrel.lsp.analysis import STACK_SIZE, Cancelled, FileAnalysis, analyze
from whimbrel.lsp.diagnostics import diagnostics
from whimbrel.lsp.documents import DocumentStore, TextDocument
from whimbrel.lsp.main_files import MainFiles, Unit

PAUSE: Final = 0.25
"""Seconds without a change before a check begins."""
MAX_ANALYSES: Final = 32
"""Results that are kept; each has the trees of all files of a server."""

LOGGER: Final = logging.getLogger(__name__)
T = TypeVar("T")
Publish = Callable[[TextDocument, list[Diagnostic]], None]
"""Called on the loop with each open document that was checked."""


class Checks:
    """The checks of all units.

    Key of the results: a unit. Value: its last check. Valid until the next one; the oldest of MAX_ANALYSES
    goes.
    """

    def __init__(
        self, documents: DocumentStore, main_files: MainFiles, publish: Publish, *, pause: float = PAUSE
    ) -> None:
        self.documents = documents
        self.main_files = main_files
        self.pause = pause
        self._publish = publish
        self._results: dict[Unit, FileAnalysis] = {}
        self._waiting: dict[Unit, asyncio.Task[None]] = {}
        self._running: dict[Unit, threading.Event] = {}
        self._worker: ThreadPoolExecutor | None = None
        self._lock = asyncio.Lock()

    def result_for(self, path: str) -> FileAnalysis | None:
        """Return the last check that covers *path*: that of its server, or of the file alone."""
        unit = self.main_files.unit_of(path)
        result = self._results.get(unit)
        if result is not None and result.file_of(path) is not None:
            return result
        return self._results.get(Unit(path, False), result)

    def schedule(self, path: str) -> None:
        """Check the unit of *path* after the pause; a check of older texts stops."""
        unit = self.main_files.unit_of(path)
        task = self._waiting.pop(unit, None)
        if task is not None:
            task.cancel()
        self._cancel(unit)
        self._waiting[unit] = asyncio.get_running_loop().create_task(self._after_pause(unit))

    def forget(self, path: str) -> None:
        """Drop the check of a file that was closed, if it was one of the file alone."""
        self._results.pop(Unit(path, False), None)

    async def run(self, work: Callable[[], T]) -> T:
        """Return the result of *work* of the thread of checks, which has one task at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._thread(), work)

    def submit(self, work: Callable[[], None]) -> None:
        """Run *work* in the thread of checks, for its effect."""
        self._thread().submit(work)

    def stop(self) -> None:
        """Cancel everything."""
        for task in self._waiting.values():
            task.cancel()
        for event in self._running.values():
            event.set()
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)

    def _thread(self) -> ThreadPoolExecutor:
        if self._worker is None:
            before = threading.stack_size(STACK_SIZE)
            self._worker = ThreadPoolExecutor(1, "check")
            self._worker.submit(bool).result()  # the thread starts while its stack size is set
            threading.stack_size(before)
        return self._worker

    def _cancel(self, unit: Unit) -> None:
        event = self._running.pop(unit, None)
        if event is not None:
            event.set()

    async def _after_pause(self, unit: Unit) -> None:
        """Check *unit* after the pause, and after the checks that wait already."""
        await asyncio.sleep(self.pause)
        async with self._lock:
            self._waiting.pop(unit, None)
            await self._check(unit)

    async def _check(self, unit: Unit) -> None:
        """Check *unit* with each open document that belongs to it; publish what is still current."""
        cancelled = threading.Event()
        self._running[unit] = cancelled
        texts = self.documents.overlay()
        members = [one for one in self.documents.all() if self.main_files.unit_of(one.path) == unit]
        try:
            checked = await self.run(partial(self._checked, unit, members, texts, cancelled))
        except Cancelled:
            return
        finally:
            if self._running.get(unit) is cancelled:
                del self._running[unit]
        for document, found in checked:
            if self.documents.find(document.uri) is document:
                self._publish(document, found)

    def _checked(
        self, unit: Unit, members: list[TextDocument], texts: dict[str, bytes], cancelled: threading.Event
    ) -> list[tuple[TextDocument, list[Diagnostic]]]:
        """Return the diagnostics of *members*, in the thread: those that a server does not read are checked
        alone."""
        result = self._analyzed(unit, texts, cancelled)
        found = []
        for document in members:
            covering = result
            if unit.is_server and result.file_of(document.path) is None:
                unit_of_file = Unit(document.path, False)
                known = self._results.get(unit_of_file)
                is_same = known is not None and known.texts.get(document.path) == document.data
                covering = known if known and is_same else self._analyzed(unit_of_file, texts, cancelled)
            found.append((document, diagnostics(document, covering)))
        return found

    def _analyzed(self, unit: Unit, texts: dict[str, bytes], cancelled: threading.Event) -> FileAnalysis:
        """Check *unit* and keep the result; a defect is logged, and is the problem of the result."""
        try:
            result = analyze(unit, texts, cancelled)
        except Cancelled:
            raise
        except Exception as problem:  # the server goes on for all other files
            LOGGER.exception("the check of %s failed", unit.path)
            result = FileAnalysis(unit, None, None, {}, texts, f"{type(problem).__name__}: {problem}")
        self._keep(result)
        return result

    def _keep(self, result: FileAnalysis) -> None:
        self._results.pop(result.unit, None)
        self._results[result.unit] = result
        if len(self._results) > MAX_ANALYSES:
            del self._results[next(iter(self._results))]
