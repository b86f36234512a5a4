"""RequestExplanation: the steps of one request as a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.config.origins import Origin
from whimbrel.engine.log.error_log_line import LEVELS

REASON: Final = "reason"
"""The kind of the step that has the core's reason for a status."""
CONTENT_TYPE: Final = "Content-Type"
"""What the step about the type of a response is called."""
LEAST_REASON: Final = LEVELS["notice"]
"""The lowest level of log messages that may be the reason for an answer; lower ones follow every request."""


def is_reason(level: str) -> bool:
    """Return True if a message of *level* may be the reason for an answer."""
    return LEVELS[level] <= LEAST_REASON


def line_as_dict(line: Origin) -> dict[str, str | int]:
    """Return a line of the configuration for JSON."""
    return {"file": line.place.path, "line": line.place.line, "text": line.text}


def _in_copy(line: Origin, copies: Mapping[str, str]) -> Origin:
    copy = copies.get(line.place.path)
    return line if copy is None else line._replace(place=replace(line.place, path=copy))


@dataclass(frozen=True, slots=True)
class ExplanationStep:
    """One step on the way of a request.

    Attributes:
        kind: virtual host, mapping, sections, .htaccess, access, type, handler, response ...
        what: the module, directive or file that acts. `result`: what came of it.
        lines: the lines that decided it; () if nothing is configured, so that a default decided.
        detail: the reason in words.
    """

    kind: str
    what: str
    result: str = ""
    lines: tuple[Origin, ...] = ()
    detail: str = ""
    children: tuple[ExplanationStep, ...] = ()

    @property
    def verdict(self) -> str:
        """The result of a step of access control."""
        return self.result

    def all(self) -> Iterator[ExplanationStep]:
        """Iterate over the step and all below it, outer ones first."""
        yield self
        for child in self.children:
            yield from child.all()

    def without(self, secrets: re.Pattern[str], word: str) -> ExplanationStep:
        """Return the step with *word* in the place of each secret, also below it."""
        return replace(
            self,
            what=secrets.sub(word, self.what),
            result=secrets.sub(word, self.result),
            detail=secrets.sub(word, self.detail),
            children=tuple(child.without(secrets, word) for child in self.children),
        )

    def with_files(self, copies: Mapping[str, str]) -> ExplanationStep:
        """Return the step with the files that were read in the place of those that *copies* names."""
        return replace(
            self,
            what=copies.get(self.what, self.what),
            lines=tuple(_in_copy(line, copies) for line in self.lines),
            children=tuple(child.with_files(copies) for child in self.children),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the step for JSON; empty parts are left out."""
        parts: dict[str, Any] = {
            "kind": self.kind,
            "what": self.what,
            "result": self.result,
            "detail": self.detail,
            "lines": [line_as_dict(line) for line in self.lines],
            "steps": [child.as_dict() for child in self.children],
        }
        return {name: value for name, value in parts.items() if value}


@dataclass(frozen=True, slots=True)
class RequestExplanation:
    """The way of one request.

    Attributes:
        request: the request in words. `dialect`: 2.2, 2.4 or guide.
        status: of the response; None if a handler decides it that was not run.
        location: the target of a redirect, "" without one.
        errors: why the configuration does not load; the other attributes are then empty.
        circle: a sentence about redirects without end that the answer begins, "" without them.
        roots: the server root as the configuration has it, and as the files lie here.
        places: other directories of the text, and where a copy has them.
        copies: files that were read in the place of others, by the paths of those.
    """

    request: str
    dialect: str
    status: int | None = None
    location: str = ""
    steps: tuple[ExplanationStep, ...] = ()
    errors: tuple[str, ...] = ()
    circle: str = ""
    roots: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)

    def all(self) -> Iterator[ExplanationStep]:
        """Iterate over all steps."""
        for step in self.steps:
            yield from step.all()

    def without(self, secrets: re.Pattern[str], word: str) -> RequestExplanation:
        """Return the explanation with *word* in the place of each secret."""
        return replace(
            self,
            location=secrets.sub(word, self.location),
            circle=secrets.sub(word, self.circle),
            steps=tuple(step.without(secrets, word) for step in self.steps),
        )

    def log_lines(self) -> list[ExplanationStep]:
        """Return the lines of the error log, with their levels as details: the most severe ones first."""
        lines = [step for step in self.all() if step.kind == "log"]
        return sorted(lines, key=lambda line: LEVELS[line.detail])

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation for JSON."""
        return {
            "request": self.request,
            "dialect": self.dialect,
            "status": self.status,
            "location": self.location,
            "errors": list(self.errors),
            "steps": [step.as_dict() for step in self.steps],
        }
