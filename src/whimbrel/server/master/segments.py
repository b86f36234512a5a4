"""Memory that workers share: made by the master before it forks, kept across graceful restarts."""

from __future__ import annotations

from mmap import mmap

from whimbrel.config.configuration import Configuration
from whimbrel.registry.module import Segment


class SegmentStore:
    """The segments of the modules of one configuration after another."""

    def __init__(self) -> None:
        self._segments: dict[Segment, mmap] = {}

    def open(self, configuration: Configuration) -> dict[str, mmap]:
        """Return *configuration*'s segments by name; those its predecessor has keep their contents."""
        wanted = [
            segment
            for module in configuration.modules.modules
            for segments in module.shared
            for segment in segments(configuration)
        ]
        return {segment.name: memory for segment, memory in self._adopt(wanted).items()}

    def _adopt(self, wanted: list[Segment]) -> dict[Segment, mmap]:
        """Make the segments *wanted* the present ones."""
        old, self._segments = self._segments, {}
        for segment, memory in old.items():
            if segment.save is not None and segment not in wanted:
                segment.save(memory)
        for segment in wanted:
            former = old.get(segment)
            memory = former or mmap(-1, segment.size)
            self._segments[segment] = memory
            if former is None and segment.fill is not None:
                segment.fill(memory)
        return self._segments

    def forget(self) -> None:
        """Drop all contents: a restart that is not graceful, or the end."""
        self._adopt([])
