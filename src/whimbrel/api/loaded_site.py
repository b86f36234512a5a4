"""LoadedSite: one configuration that answers probes and explains them, in process and without programs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.knowledge import RequestKnowledge
from whimbrel.explain.step import RequestExplanation
from whimbrel.upgrade.knowledge.scope import KnowledgeScope
from whimbrel.verify.dry_engine import DryAnswer, DryEngine
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

MAX_BODY: Final = 16 << 20
"""Bytes of a body that an answer has."""
T = TypeVar("T")


class LoadedSite:
    """A loaded side with what is known about it; one thread at a time asks it.

    Each thread has an engine, since the greenlets of one belong to its thread.
    """

    def __init__(self, side: Side) -> None:
        self.side = side
        self.knowledge = RequestKnowledge(side)  # assumes the directories that are not here
        self._engines = threading.local()
        self._helper: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def explain(self, probe: Probe) -> tuple[RequestExplanation, KnowledgeScope]:
        """Return the explanation of the answer to *probe*, and what is not known about it."""

        def explained() -> tuple[RequestExplanation, KnowledgeScope]:
            if self.side.is_loaded:
                self.side.probing.forget_files()
            explanation = explain_probe(self.side, probe)
            return explanation, self.knowledge.of(probe, explanation)

        return self._run(explained)

    def answer(self, probe: Probe) -> DryAnswer:
        """Return the answer to *probe* of a side that is loaded."""

        def answered() -> DryAnswer:
            engine = self._engine()
            engine.forget_files()
            return engine.answer_with_body(probe, MAX_BODY)

        return self._run(answered)

    def _engine(self) -> DryEngine:
        """Return the engine of this thread."""
        engine: DryEngine | None = getattr(self._engines, "engine", None)
        if engine is None:
            engine = DryEngine(self.side.loaded, self.side.runtime)
            engine.assume_as(self.side.probing)
            self._engines.engine = engine
        return engine

    def _run(self, work: Callable[[], T]) -> T:
        """Run *work* at the present time, in a second thread where this one runs an event loop already."""
        with self._lock:
            self.side.runtime.time = time.time()
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                return work()
            if self._helper is None:
                self._helper = ThreadPoolExecutor(1, "whimbrel-site")
            return self._helper.submit(work).result()
