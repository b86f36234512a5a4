"""The report of a replay as data: what changes, how often, for whom, by which lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.replay.tally import (
    MAX_CAUSE_LINES,
    NOT_RUN,
    PROGRAM,
    SOURCE_SENT,
    CausingLine,
    Change,
    ChangeKey,
    Tally,
)
from whimbrel.report.knowledge import as_json
from whimbrel.report.readiness import readiness_of_replay
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.model import AccessDifference, Finding, Risk
from whimbrel.verify.named_requests import comments_of, decided_requests
from whimbrel.verify.recorded_decisions import (
    by_place,
    by_rule,
    decided_by_comments,
    decided_items,
    decisions,
)
from whimbrel.verify.verification import rule_of_reason

STATUS: Final = re.compile(rf"status (\d{{3}}|{PROGRAM}) -> (\d{{3}}(?!\d)|{PROGRAM})")
NO_HOST: Final = "-"
"""The host of a logged line that names none."""
ADMITTED: Final = 200
"""The status that a program or back end stands for."""
TOP: Final = 5  # clients, users, hosts and paths that are listed of a change


@dataclass(frozen=True, slots=True)
class Summary:
    """A tally with the names of both sides.

    Attributes:
        old, new: names of the configurations with their dialects; *old* is "" without an old one.
        dialects: names of the dialects. `roots`: server roots, which the text shows paths relative to.
        sides: what was read of both sides, and what is unknown there.
        logs: names of the logs. `errors`: why a side does not load; the tally is then empty.
        to_decide, questions, has_stop, no_start, unwritten, documents, by_comments: see `VerifyResult`.
        ports: those of the Listen lines of the new side.
        decided: the comments of the new text that decide about a change: ``R01 at FILE:LINE``.
        decided_facts: see `VerifyResult`.
    """

    old: str
    new: str
    logs: tuple[str, ...]
    tally: Tally
    errors: tuple[str, ...] = ()
    sides: KnowledgeScope = KnowledgeScope()
    dialects: tuple[str, str] = ("", "")
    roots: tuple[str, ...] = ()
    to_decide: str = ""
    questions: tuple[tuple[str, str, str, str], ...] = ()
    has_stop: bool = False
    no_start: str = ""
    unwritten: str = ""
    documents: str = ""
    by_comments: tuple[Finding, ...] = ()
    ports: tuple[int, ...] = ()
    decided: Mapping[ChangeKey, tuple[str, ...]] = field(default_factory=dict)
    decided_facts: tuple[str, ...] = ()

    def with_decisions(self, recorded: Iterable[Finding]) -> Summary:
        """Return the summary with what comments decide; *recorded*: the findings about the new text that a
        comment with their rule exempts.
        """
        found = list(recorded)
        places = by_place(found)
        decided = {}
        for key in self.tally.changes if found else ():
            # a cause with more lines is cut: what the others do is not decided by the comments at these
            if comments_of_change(key, self.tally.changes[key]):
                decided[key] = decided_requests(self.tally.changes[key].named_requests, found)
            elif is_of_defaults(key):
                decided[key] = by_rule(rule_of_reason(key.reason), found)
            elif not key.rule and len(key.new) < MAX_CAUSE_LINES:
                risk = risk_of(key)
                wanted = [risk] if risk in (Risk.OPENS, Risk.CLOSES) else []
                lines = [(line.file, line.line) for line in key.new]
                decided[key] = decisions(lines, key.reason, wanted, places)
        decided = {key: comments for key, comments in decided.items() if comments}
        sides, facts = decided_items(self.sides, places)
        named = [comment for comments in decided.values() for comment in comments]
        return replace(
            self,
            decided=decided,
            sides=sides,
            decided_facts=tuple(facts),
            by_comments=decided_by_comments(found, named),
        )

    def is_excepted(self, key: ChangeKey) -> bool:
        """Return True if a rule calls the change cosmetic, or a comment of the new text decides about it."""
        return bool(key.rule) or key in self.decided

    @property
    def excepted_note(self) -> str:
        """What the changes are that nobody has to review; "" for none."""
        comments = dict.fromkeys(comment for row in self.decided.values() for comment in row)
        decided = f"decided in the text ({', '.join(comments)})" if comments else ""
        is_cosmetic = any(key.rule for key in self.tally.changes)
        return " and ".join(filter(None, ("cosmetic" if is_cosmetic else "", decided)))

    @property
    def is_known(self) -> bool:
        """Return True if requests were run, and nothing is open or unknown that may matter."""
        open_work = self.to_decide or self.no_start or self.unwritten
        return self.tally.requests > self.not_compared and self.scope.is_complete and not open_work

    @property
    def is_against_log(self) -> bool:
        """Return True without an old configuration: the statuses are compared with the logged ones alone."""
        return not self.old

    @property
    def changes(self) -> list[tuple[ChangeKey, Change]]:
        """The changes, those that open access first, the most frequent before others, cosmetic ones last."""

        def order_of(item: tuple[ChangeKey, Change]) -> tuple[bool, bool, int, ChangeKey]:
            key, change = item
            return bool(key.rule), risk_of(key) is not Risk.OPENS, -change.requests, key

        return sorted(self.tally.changes.items(), key=order_of)

    @property
    def has_changes_to_review(self) -> bool:
        """Return True if a request changes, no rule calls that cosmetic, and no comment decides about it."""
        return any(not self.is_excepted(key) for key in self.tally.changes)

    @property
    def sources_sent(self) -> int:
        """The number of requests that get the text of a program in the place of its output."""
        changes = self.tally.changes.items()
        return sum(
            change.requests for key, change in changes if key.what == SOURCE_SENT and key not in self.decided
        )

    @property
    def status_changes(self) -> int:
        """The number of requests whose status changes, without changes that comments decide about."""
        found = sum(number for (_, old, new), number in self.tally.statuses.items() if old != new)
        decided = (key for key in self.decided if STATUS.search(key.what))
        return found - sum(self.tally.changes[key].requests for key in decided)

    @property
    def access_changes(self) -> int:
        """The number of requests that gain or lose access, as `verify` counts them, without decided ones."""
        of_access = (Risk.OPENS, Risk.CLOSES)
        found = sum(
            number
            for (_, old, new), number in self.tally.statuses.items()
            if AccessDifference("", "", old or ADMITTED, new or ADMITTED).risk in of_access
        )
        decided = (key for key in self.decided if STATUS.search(key.what) and risk_of(key) in of_access)
        return found - sum(self.tally.changes[key].requests for key in decided)

    @property
    def statuses(self) -> list[tuple[tuple[int, int], int]]:
        """Numbers of requests by (logged status, new status) where these differ, the most frequent first."""
        found: Counter[tuple[int, int]] = Counter()
        for (logged, _old, new), number in self.tally.statuses.items():
            if logged and new != NOT_RUN and logged != new:
                found[logged, new] += number
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))

    def is_of_both(self, logged: int, new: int) -> bool:
        """Return True if the old configuration, too, answers with *new* where *logged* was logged."""
        found = (old for status, old, now in self.tally.statuses if (status, now) == (logged, new))
        return not self.is_against_log and set(found) == {new}

    @property
    def not_as_logged(self) -> int:
        """The number of requests whose status is known and another one than was logged."""
        return sum(number for _, number in self.statuses)

    @property
    def differs_from_log(self) -> bool:
        """Return True without an old configuration if a request differs from the log whose file is here."""
        return self.is_against_log and self.not_as_logged > self.tally.missing

    @property
    def as_logged(self) -> int:
        """The number of requests whose status is the logged one."""
        return sum(number for (logged, _old, new), number in self.tally.statuses.items() if logged == new)

    @property
    def not_compared(self) -> int:
        """The number of requests whose answers are not known, as a program or back end gives them."""
        return self.not_run if self.is_against_log else self.tally.not_compared

    @property
    def compared(self) -> str:
        """The number of requests that were compared, in words; `left_out` has the others."""
        number = self.tally.requests - self.not_compared
        return count_noun(number, "request") + (" that were run" if self.not_compared else "")

    @property
    def left_out(self) -> str:
        """The number of requests that were not compared, behind a semicolon; "" for none."""
        number = self.not_compared
        return f"; {number:,} {word_for(number, 'was', 'were')} not run" if number else ""

    @property
    def comparable(self) -> int:
        """The number of requests that were run and whose line has a status."""
        counts = self.tally.statuses.items()
        return self.with_status - sum(n for (status, _, new), n in counts if status and new == NOT_RUN)

    @property
    def with_status(self) -> int:
        """The number of requests whose line has a status."""
        none = sum(number for (logged, _old, _new), number in self.tally.statuses.items() if not logged)
        return self.tally.requests - none

    @property
    def not_run(self) -> int:
        """The number of requests that a program or back end answers under the new configuration."""
        return sum(number for (_, _, new), number in self.tally.statuses.items() if new == NOT_RUN)

    @property
    def not_run_example(self) -> str:
        """A request that a program or back end answers, "" if none is known."""
        examples = self.tally.status_examples.items()
        return next((example for (_logged, new), example in examples if new == NOT_RUN), "")

    @property
    def scope(self) -> KnowledgeScope:
        """What was read of both sides and of the logs, and what is unknown."""
        tally = self.tally
        items = list[UnknownItem]()
        # that the same program answers both sides is known, and that another one does is a change
        is_unknown = self.is_against_log
        program = "a program or back end answers"
        for number, kind, text, consequence, matters in (
            (tally.missing, UnknownKind.MISSING, "the files are not here", "both sides answered 404", True),
            (self.not_run, UnknownKind.PROGRAM_NOT_RUN, program, "it was not run", is_unknown),
        ):
            if number:
                subject = f"{number:,} of {count_noun(tally.requests, 'request')}: {text}"
                if kind is UnknownKind.PROGRAM_NOT_RUN and self.not_run_example:
                    subject += f", such as for {self.not_run_example}"
                items.append(UnknownItem(kind, None, subject, consequence, matters=matters))
        for lines, number in sorted(tally.hostless.items()):
            subject = (
                f"{number:,} of {count_noun(tally.requests, 'request')}: the lines name no host, "
                f"and {lines.number:,} virtual hosts {lines.what}"
            )
            names = ", ".join(lines.names) + (", ..." if lines.number > len(lines.names) else "")
            advice = f"--host NAME names the one that logged them: {names}"
            consequence = f"taken as requests for {lines.taken}"
            items.append(UnknownItem(UnknownKind.ASSUMED, None, subject, consequence, advice))
        unread = tally.malformed + tally.huge
        if unread:
            subject = (
                f"{unread:,} of {count_noun(tally.lines, 'line')}: they have another format or are too long"
            )
            advice = "--log-format names the format"
            items.append(UnknownItem(UnknownKind.NOT_READ, None, subject, "not replayed", advice))
        return self.sides.with_items(items)

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        tally = self.tally
        return {
            "old": self.old,
            "new": self.new,
            "logs": list(self.logs),
            "errors": list(self.errors),
            "lines": tally.lines,
            "requests": tally.requests,
            "compared": tally.requests - self.not_compared,
            "changed": tally.changed,
            "ready": readiness_of_replay(self),
            "knowledge": as_json(self.scope),
            "not_run": self.not_run,
            "missing_files": tally.missing,
            "skipped": {
                "malformed": tally.malformed,
                "huge": tally.huge,
                "without_request": tally.without_request,
                "examples": tally.malformed_examples,
            },
            "changes": [_change(key, change, self.decided.get(key, ())) for key, change in self.changes],
            "log": {
                "as_logged": self.as_logged,
                "differences": [
                    {
                        "logged": logged,
                        "now": now,
                        "requests": number,
                        "example": tally.status_examples.get((logged, now), ""),
                    }
                    for (logged, now), number in self.statuses
                ],
            },
        }


def _change(key: ChangeKey, change: Change, decided: tuple[str, ...]) -> dict[str, Any]:
    return {
        "what": key.what,
        "reason": key.reason,
        "rule": key.rule,
        "decided": list(decided),
        "requests": change.requests,
        "old_lines": list(map(_line, key.old)),
        "new_lines": list(map(_line, key.new)),
        "clients": top(change.clients),
        "users": top(change.users),
        "hosts": top(change.hosts),
        "paths": top(change.paths),
        "numbers": {
            "clients": len(change.clients),
            "users": len(change.users),
            "hosts": len(change.hosts),
            "paths": len(change.paths),
        },
        "examples": change.examples,
    }


def _line(line: CausingLine) -> dict[str, Any]:
    return {"file": line.file, "line": line.line, "text": line.text}


def risk_of(key: ChangeKey) -> Risk:
    """Return what a change does, by its statuses, as `verify` counts them: a client loses access where it is
    refused, whatever line refuses it; a program or back end stands for an answer that admits it.
    """
    if key.rule:
        return Risk.COSMETIC
    if key.what == SOURCE_SENT:
        return Risk.OPENS
    found = STATUS.search(key.what)
    if found is None:
        return Risk.CHANGES
    before, after = (ADMITTED if word == PROGRAM else int(word) for word in found.groups())
    return AccessDifference("", "", before, after).risk


def comments_of_change(key: ChangeKey, change: Change) -> list[str]:
    """Return the comments that decide about a change without lines; [] for none."""
    is_open = bool(key.new or key.rule) or is_of_defaults(key) or risk_of(key) is Risk.OPENS
    return [] if is_open else comments_of(change.named_requests)


def is_of_defaults(key: ChangeKey) -> bool:
    """Return True for a change that lies in the versions, as a rule says, and that no line decides."""
    return not (key.new or key.is_of_access) and bool(rule_of_reason(key.reason))


def top(names: Counter[str]) -> list[dict[str, Any]]:
    """Return the most frequent names, ties in alphabetical order."""
    ordered = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    return [{"name": name, "requests": number} for name, number in ordered[:TOP]]
