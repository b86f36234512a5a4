"""Answers to one request for the page: the cause first, then the steps; one configuration or two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.options import LoadOptions
from whimbrel.config.origins import Origin
from whimbrel.explain.cause import cause_of
from whimbrel.explain.changes import ChangedStep, changed_steps, innermost
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.knowledge import RequestKnowledge
from whimbrel.explain.request_description import BadRequest, RequestDescription, probe_of
from whimbrel.explain.response_differences import part_texts, response_differences
from whimbrel.explain.source_lines import SourceLines
from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.explain.text import (
    answer_of,
    have_equal_answers,
    main_rows,
    unknown_text,
    without_root,
)
from whimbrel.report.start_failures import reason_of
from whimbrel.studio.documents import Refused
from whimbrel.studio.sides import Edits, LoadedSides
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.knowledge.scope import UnknownItem
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

DIALECTS: Final = ("2.2", "2.4", "guide")
MAX_STEPS: Final = 2000
"""Steps of one explanation that are sent."""
MAX_CHANGES: Final = 200
"""Steps that differ of which two explanations are sent."""
MAX_UNKNOWN: Final = 20
"""Unknown items that are sent."""
MAX_TEXT: Final = 2000
"""Characters of one text of a step."""
MANY_HOSTS: Final = 200
"""Virtual hosts above which the scope of knowledge is that of the slice."""
Json = dict[str, object]


def description_of(request: Json) -> RequestDescription:
    """Return the request of the page's form; it names no file. Raises Refused."""
    fields = request.get("fields", [])
    if not isinstance(fields, list) or len(fields) > 100:
        raise Refused("the header fields are no list of at most 100")
    pairs = []
    for line in fields:
        name, colon, value = str(line).partition(":")
        if not colon or not name.strip() or any(ord(char) < 33 or ord(char) == 127 for char in name.strip()):
            raise Refused(f"{str(line)[:80]!r} is not of the form 'Name: value'")
        if "\n" in value or "\r" in value or "\0" in value:
            raise Refused(f"the field {name.strip()[:80]} has more than one line")
        pairs.append((name.strip(), value.strip()))
    texts = {
        name: str(request.get(name, "")).strip()
        for name in ("url", "host", "client", "address", "user", "method")
    }
    if not texts["url"]:
        raise Refused("write a URL, such as http://www.example.com/shop/")
    if not texts["method"].replace("-", "").isalnum() and texts["method"]:
        raise Refused(f"{texts['method'][:80]!r} is no method")
    for name in ("host", "client", "address", "user"):
        if any(ord(char) < 32 or ord(char) == 127 for char in texts[name]):
            raise Refused(f"the {name} has control characters")
    method = texts.pop("method") or "GET"
    return RequestDescription(**texts, method=method, fields=tuple(pairs), tls=request.get("tls") is True)


def host_of(described: RequestDescription) -> str:
    """Return the host that the request names, "" without one."""
    if described.host:
        return described.host
    return (
        described.url.partition("://")[2].partition("/")[0].rpartition("@")[2]
        if "://" in described.url
        else ""
    )


@dataclass(frozen=True, slots=True)
class _Answered:
    """One side with its explanation."""

    side: Side
    probe: Probe
    explanation: RequestExplanation
    is_complete: bool


class Answers:
    """Explains requests under the texts of one configuration."""

    def __init__(self, options: LoadOptions) -> None:
        self.root = options.image or options.server_root
        self.sides = LoadedSides(options)

    def answer(self, request: Json, edits: Edits, dialect: str, *, is_quick: bool) -> Json:
        """Return the answer with its cause, its rows and its steps."""
        answered = self._answered(description_of(request), edits, dialect, is_quick=is_quick)
        return self._document(answered, edits)

    def compare(
        self, request: Json, sides: tuple[tuple[Edits, str], tuple[Edits, str]], *, is_quick: bool
    ) -> Json:
        """Return the answers of two sides, and the innermost steps that differ."""
        described = description_of(request)
        old, new = (self._answered(described, edits, dialect, is_quick=is_quick) for edits, dialect in sides)
        changes = list(changed_steps(old.explanation, new.explanation))
        parts = response_differences(old.side, new.side, old.probe)
        is_equal = have_equal_answers(old.explanation, new.explanation, changes) and not parts
        pairs = [[ExplanationStep("header", text) for text in part_texts(part)] for part in parts]
        fields = [ChangedStep(*pair) for pair in pairs]
        steps = [
            {
                "old": None if change.old is None else self._step(change.old, []),
                "new": None if change.new is None else self._step(change.new, []),
            }
            for change in [*fields, *innermost(changes)][:MAX_CHANGES]
        ]
        return {
            "old": self._document(old, sides[0][0]),
            "new": self._document(new, sides[1][0]),
            "is_equal": is_equal,
            "changes": steps,
        }

    def probe_base(self, edits: Edits, dialect: str) -> Side:
        """Return a side that loads, for the formats of logs: one of the two versions; raises Refused."""
        for name in dict.fromkeys((dialect, "2.2", "2.4")):
            side = self.sides.complete(edits, name)
            if side.is_loaded:
                return side
        raise Refused("the configuration does not load, so the formats of its logs are not known")

    def stop(self, edits: Edits) -> Json | None:
        """Return the line at which 2.4 ends its start, and why; None if it starts."""
        side = self.sides.complete(edits, "2.4")
        if not side.errors:
            return None
        place = side.errors[0].place
        return {
            "reason": reason_of(side.errors[0].text),
            "place": None if place is None else self._place(place.path, place.line),
        }

    def _answered(
        self, described: RequestDescription, edits: Edits, dialect: str, *, is_quick: bool
    ) -> _Answered:
        if dialect not in DIALECTS:
            raise Refused(f"{dialect[:20]!r} is not one of {', '.join(DIALECTS)}")
        if is_quick:
            side, is_complete = self.sides.for_host(edits, dialect, host_of(described))
        else:
            side = self.sides.complete(edits, dialect)
            is_complete = True
        try:
            probe = probe_of(described, side.configuration)
        except BadRequest as problem:
            raise Refused(str(problem)) from None
        return _Answered(side, probe, explain_probe(side, probe), is_complete)

    def _document(self, answered: _Answered, edits: Edits) -> Json:
        explanation = answered.explanation
        sources = SourceLines(edits)
        cause = cause_of(explanation)
        place = answered.side.errors[0].place if answered.side.errors else None
        return {
            "answer": answer_of(explanation),
            "status": explanation.status,
            "request": explanation.request,
            "dialect": explanation.dialect,
            "is_complete": answered.is_complete,
            "errors": [error[:MAX_TEXT] for error in explanation.errors[:10]],
            "error_place": None if place is None else self._place(place.path, place.line),
            "because": [self._line(line, sources) for line in cause.all_lines],
            "sentence": self._relative(cause.sentence),
            "rows": [
                self._row(row.label, row.text, row.place)
                for row in main_rows(explanation, sources, self.root)
            ],
            "steps": list(self._steps(explanation.steps)),
            "unknown": self._unknown_items(answered),
        }

    def _unknown_items(self, answered: _Answered) -> list[Json] | None:
        """Return what may matter and is unknown; None where the slice that answered first has it."""
        side = answered.side
        if side.is_loaded and len(side.loaded.virtual_hosts) > MANY_HOSTS:
            return None
        scope = RequestKnowledge(side).of(answered.probe, answered.explanation)
        return [self._unknown(item) for item in scope.deciding[:MAX_UNKNOWN]]

    def _unknown(self, item: UnknownItem) -> Json:
        place = item.place if item.place is not None and item.place.path else None
        return {
            "text": unknown_text(item)[:MAX_TEXT],
            "place": None if place is None else self._place(place.path, place.line),
        }

    def _steps(self, steps: Iterable[ExplanationStep]) -> Iterator[Json]:
        left = [MAX_STEPS]
        for step in steps:
            yield self._bounded(step, left)

    def _bounded(self, step: ExplanationStep, left: list[int]) -> Json:
        left[0] -= 1
        children: list[Json] = []
        for child in step.children:
            if left[0] <= 0:
                children.append({"kind": "", "what": "further steps are left out", "steps": []})
                break
            children.append(self._bounded(child, left))
        return self._step(step, children)

    def _step(self, step: ExplanationStep, children: list[Json]) -> Json:
        lines = [
            {**self._place(line.place.path, line.place.line), "text": line.text[:MAX_TEXT]}
            for line in step.lines
        ]
        return {
            "kind": step.kind,
            "what": self._relative(step.what),
            "result": self._relative(step.result),
            "detail": self._relative(step.detail),
            "lines": lines,
            "steps": children,
        }

    def _row(self, label: str, text: str, place: str) -> Json:
        path, _colon, line = place.rpartition(":")
        known = {"file": path, "line": int(line)} if path and line.isdecimal() else None
        return {"label": label, "text": text[:MAX_TEXT], "place": known}

    def _line(self, line: Origin, sources: SourceLines) -> Json:
        text = sources.text(line) or line.text
        return {**self._place(line.place.path, line.place.line), "text": text[:MAX_TEXT]}

    def _place(self, path: str, line: int) -> Json:
        return {"file": display_path(path, self.root), "line": line}

    def _relative(self, text: str) -> str:
        return without_root(text, self.root)[:MAX_TEXT]
