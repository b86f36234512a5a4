"""What changes between two answers, and the lines of both configurations that explain it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_text
from whimbrel.config.origins import Origin
from whimbrel.explain.cause import cause_of
from whimbrel.explain.changes import changed_steps
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.source_lines import SourceLines
from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.replay.answers import FastAnswer
from whimbrel.replay.tally import (
    HANDLER_CHANGED,
    MAX_CAUSE_LINES,
    NOT_RUN,
    PROGRAM,
    SOURCE_SENT,
    CausingLine,
    ChangeKey,
    StatusReason,
)
from whimbrel.upgrade.access_control.effective import DECIDING
from whimbrel.verify.answer import DECIDES, REFUSED, Answer
from whimbrel.verify.causes import PlanPair
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.deciding_lines import deciding_lines
from whimbrel.verify.difference import Difference, words_of
from whimbrel.verify.located_causes import LocatedCauses, separate
from whimbrel.verify.probe import Probe
from whimbrel.verify.program_sources import is_php, is_source
from whimbrel.verify.side import Side

MAX_LINES: Final = MAX_CAUSE_LINES
"""Lines of one side that are named."""
MAX_EXPLAINED: Final = 200  # requests of a piece that are explained; later ones with a new cause are not
UNEXPLAINED: Final = " (not explained)"
_RULES_OF_CODES: Final = {"AH10508": "R01"}
"""The rules of `check` about what a side refuses with a message, which is the same for all requests."""
_OF_ACCESS: Final = frozenset((401, 403, 500))
HTTP_ERROR: Final = 400
_ERROR_PAGE: Final = "errordocument"
NO_CAUSE: Final = ("request", "response", "file")
"""Kinds of steps that show a change and do not cause it."""
SECTIONS: Final = ("sections", ".htaccess")
ORDER: Final = (
    (("virtual host",), ()),
    (("mapping", "rule"), ()),
    (("access",), SECTIONS),
)
"""Kinds of steps that decide, the earlier ones first; and kinds whose lines are shown with them."""


class Named(Enum):
    """Which lines of both sides explain a change."""

    ACCESS = "those of access control"
    STATUS = "those that gave the statuses"
    STEPS = "those of the steps that differ"


class ChangeCauses:
    """Finds the changes of one piece.

    Key: what changes, the settings under which access was checked on both sides, and the rules of rewriting
    that were applied. Value: `ChangeKey`. Validity: one piece, so that a report does not depend on which
    process replayed which piece. Bound: MAX_EXPLAINED.
    """

    def __init__(self, old: Side, new: Side) -> None:
        self._old = old
        self._new = new
        self._located: LocatedCauses | None = None
        self._known: dict[Any, ChangeKey] = {}
        self._explained = 0

    def next_piece(self) -> None:
        """Forget the causes."""
        if self._located is not None:
            self._located.reset()
        self._known.clear()
        self._explained = 0

    def change(self, probe: Probe, old: FastAnswer, new: FastAnswer) -> ChangeKey | None:
        """Return the change between the answers to *probe*; None if they differ in nothing that counts."""
        if NOT_RUN in (old.status, new.status):
            if old.status == new.status:
                if old.head[1] == new.head[1] and is_php(to_text(old.head[0]), to_text(new.head[0])):
                    return None
                what = HANDLER_CHANGED
            elif old.status == NOT_RUN and is_source(self._old.answer(probe), self._new.answer(probe)):
                what = SOURCE_SENT
            else:
                what = f"status {_status(old.status)} -> {_status(new.status)}"
            return self._key(probe, what, (what, old.head[0], new.head[0]))
        (before, old_checks) = self._old.checked(probe)
        (after, new_checks) = self._new.checked(probe)
        if self._located is None:
            self._located = LocatedCauses((SideLines(self._old), SideLines(self._new)))
        difference = self._located.difference(before, after)
        if difference is None:
            return None
        what = words_of(difference)
        pair = tuple(
            checks[0].plan if checks and checks[0].is_first else None for checks in (old_checks, new_checks)
        )
        plans = tuple(id(check.plan) for check in (*old_checks, *new_checks))
        steps = (*self._old.runtime.steps, *self._new.runtime.steps)
        rules = tuple(step.place for step in steps if step.applied)
        paths = () if plans or rules else (probe.target.partition("?")[0].split("/")[1:2],)
        cause = (what, plans, rules, str(paths), before.server, after.server)
        if difference.names[0] == "status":
            is_of_access = self._located.is_of_access((before, after), (old_checks, new_checks))
            # without a check of access one side ended the request before it, unless a .htaccess file did
            is_checked = all(any(check.is_first for check in one) for one in (old_checks, new_checks))
            is_checked |= 500 in (before.status, after.status)
            named = Named.ACCESS if is_of_access and is_checked else Named.STATUS
            if _OF_ACCESS.isdisjoint((before.status, after.status)):
                named = Named.STEPS
            return self._key(probe, what, (*cause, named, is_of_access), named, is_of_access=is_of_access)
        if not self._located.is_of_versions:
            return self._key(probe, what, cause)
        return self._of_versions(probe, difference, (before, after), (pair[0], pair[1]), cause)

    def _of_versions(
        self,
        probe: Probe,
        difference: Difference,
        answers: tuple[Answer, Answer],
        plans: PlanPair,
        key: object,
    ) -> ChangeKey:
        """Return the change of answers with one status: its first part that is not cosmetic, with the parts
        that have the same cause.
        """
        found = self._known.get(key)
        if found is not None:
            return found
        what = words_of(difference)
        if self._explained >= MAX_EXPLAINED or self._located is None:
            return ChangeKey(what + UNEXPLAINED)
        self._explained += 1
        located = [
            (part, *self._located.located(probe, part, answers, plans, has_equal_access=True))
            for part in separate(difference)
        ]
        _, first_key, cause = min(located, key=lambda one: bool(one[2].rule))
        same = [part for one, own_key, _ in located if own_key == first_key for part in one.parts]
        lines = [
            tuple(CausingLine(line.path, line.line, line.text) for line in row[:MAX_LINES])
            for row in (cause.lines.old, cause.lines.new)
        ]
        reason = cause.reason
        is_of_page = all(line.text.lower().startswith(_ERROR_PAGE) for row in lines for line in row)
        if is_of_page and not cause.rule and answers[0].status >= HTTP_ERROR:
            pages = error_pages((explain_probe(self._old, probe), explain_probe(self._new, probe)))
            if pages is not None:
                *lines, reason = pages
        found = ChangeKey(words_of(Difference(tuple(same))), lines[0], lines[1], reason, cause.rule)
        self._known[key] = found
        return found

    def _key(
        self,
        probe: Probe,
        what: str,
        cause: object,
        named: Named = Named.STEPS,
        *,
        is_of_access: bool = False,
    ) -> ChangeKey:
        found = self._known.get(cause)
        if found is None:
            if self._explained >= MAX_EXPLAINED:
                return ChangeKey(what + UNEXPLAINED, is_of_access=is_of_access)
            self._explained += 1
            old, new, reason = self._lines(probe, named)
            found = ChangeKey(what, old, new, reason, is_of_access=is_of_access)
            self._known[cause] = found
        return found

    def _lines(
        self, probe: Probe, named: Named
    ) -> tuple[tuple[CausingLine, ...], tuple[CausingLine, ...], str]:
        """Return the lines of the steps in which the explanations of both sides differ; of access, those of
        access that differ, and what else decided, or what a side refuses; and the rule about a refusal.
        """
        explanations = explain_probe(self._old, probe), explain_probe(self._new, probe)
        reason = refusal_of(explanations)
        if named is Named.STATUS:
            old, new = (_as_causing(cause_of(one).lines) for one in explanations)
            return old, new, reason
        changes = list(changed_steps(*explanations))
        sides = [change.old for change in changes], [change.new for change in changes]
        if named is Named.ACCESS:
            of_access = [_access_lines(steps) for steps in sides]
            common = {line.text for line in of_access[0]} & {line.text for line in of_access[1]}
            old = self._deciding(self._old, probe, [one for one in of_access[0] if one.text not in common])
            new = self._deciding(self._new, probe, [one for one in of_access[1] if one.text not in common])
            if old != new:
                return old, new, reason
        return causing_lines(sides[0]), causing_lines(sides[1]), reason

    @staticmethod
    def _deciding(side: Side, probe: Probe, changed: list[CausingLine]) -> tuple[CausingLine, ...]:
        sources = SourceLines(side.options.overlay)
        found = [line for line in deciding_lines(side, probe) if line.role in (DECIDES, REFUSED)]
        found.sort(key=lambda line: line.role != REFUSED)
        texts = {(line.file, line.line): line.text for line in changed}
        for line in found:
            texts.setdefault((line.path, line.line), line.text)
        return tuple(
            CausingLine(path, number, sources.text(Origin(SourceLocation(path, number), "")) or text)
            for (path, number), text in texts.items()
        )


def error_pages(
    explanations: tuple[RequestExplanation, RequestExplanation],
) -> tuple[tuple[CausingLine, ...], tuple[CausingLine, ...], str] | None:
    """Return the ErrorDocument lines of both sides if one side alone sends the page that its line names, and
    a sentence; None where neither or both do.
    """
    old, new = (_error_response(one) for one in explanations)
    if old is None or new is None or old.what == new.what:
        return None
    lines = [
        tuple(line for line in _lines_of([step]) if line.text.lower().startswith(_ERROR_PAGE))
        for step in (old, new)
    ]
    pages = [step.what.partition(" ")[2] for step in (old, new)]
    sent = [any(page in line.text.split() for line in row) for page, row in zip(pages, lines, strict=True)]
    if sent == [False, True]:
        return lines[0], lines[1], f"new sends the error page {pages[1]}, which old does not send"
    if sent == [True, False]:
        return lines[0], lines[1], f"old sends the error page {pages[0]}, which new does not send"
    return None


def _error_response(explanation: RequestExplanation) -> ExplanationStep | None:
    """Return the step of the response."""
    found = [step for step in explanation.all() if step.kind == "response"]
    return found[-1] if found else None


def refusal_of(explanations: tuple[RequestExplanation, RequestExplanation]) -> str:
    """Return the message with which one side alone refuses, and the rule of `check` about it; "" for none."""
    messages = [[line.what for line in one.log_lines()] for one in explanations]
    for word, own, other in (("new", messages[1], messages[0]), ("old", messages[0], messages[1])):
        for message in own:
            rule = _RULES_OF_CODES.get(message.partition(":")[0], "")
            if rule and message not in other:
                return f"the {word} side refuses it: {message} ({rule}: whimbrel explain {rule})"
    return ""


def status_reason(side: Side, probe: Probe, status: int) -> StatusReason | None:
    """Return the lines that give *probe* its *status*, or a sentence; None if the explained answer has
    another status, whose reasons are not those of this one.
    """
    explanation = explain_probe(side, probe)
    if explanation.status != status:
        return None
    cause = cause_of(explanation)
    return StatusReason(_as_causing(cause.lines)[:MAX_LINES], cause.sentence)


def causing_lines(steps: list[ExplanationStep | None]) -> tuple[CausingLine, ...]:
    """Return the lines of the earliest of the steps that differ, which later ones follow from: of the host,
    else of the mapping, else of sections and the access decision, else of any other.
    """
    causes = [step for step in _flat(steps) if step.lines and step.kind not in NO_CAUSE]
    of_redirects = _of_redirects(steps)
    own = [step for step in causes if id(step) not in of_redirects]
    causes = own or causes  # what an error page is mapped by decides nothing
    for kinds, all_kinds in ORDER:
        firsts = [step for step in causes if step.kind in kinds]
        if firsts:
            others = [step for step in causes if step.kind in all_kinds]
            has_order = firsts[0].what.startswith("Order ")  # what Order makes of Allow and Deny
            return _lines_of([*others, *(firsts if has_order else firsts[:1])])
    sections = [step for step in causes if step.kind in SECTIONS]
    return _lines_of(sections or causes[:1])


def _access_lines(steps: list[ExplanationStep | None]) -> tuple[CausingLine, ...]:
    """Return the Require, Order, Allow, Deny and Satisfy lines of the steps of access."""
    lines = _lines_of([step for step in _flat(steps) if step.kind == "access"])
    return tuple([line for line in lines if line.text.strip().partition(" ")[0].lower() in DECIDING])


def _of_redirects(steps: Iterable[ExplanationStep | None]) -> set[int]:
    """Return the identities of the steps of internal redirects, such as those to error pages."""
    redirects = (step for step in steps if step is not None and step.kind == "redirect")
    return {id(inner) for step in redirects for inner in step.all()}


def _flat(steps: Iterable[ExplanationStep | None]) -> Iterator[ExplanationStep]:
    """Iterate over *steps* and those inside them."""
    for step in steps:
        if step is not None:
            yield step
            yield from _flat(step.children)


def _lines_of(steps: list[ExplanationStep]) -> tuple[CausingLine, ...]:
    return _as_causing(line for step in steps for line in step.lines)


def _as_causing(lines: Iterable[Origin]) -> tuple[CausingLine, ...]:
    """Return *lines*, each once."""
    return tuple(
        dict.fromkeys(
            CausingLine(line.place.path, line.place.line, line.text if line.place.line else "")
            for line in lines
        )
    )


def _status(status: int) -> str:
    return PROGRAM if status == NOT_RUN else str(status)
