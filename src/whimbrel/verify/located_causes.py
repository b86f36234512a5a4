"""The causes of differences between two answers: lines that decide them, or the reason why none is named.

Between versions a line is named if the difference vanishes without it; under one version, if the texts differ
in it.
"""

from __future__ import annotations

import filecmp
from typing import Final

from whimbrel.base.dialect import V22
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.engine.plan.plan import Plan
from whimbrel.verify.answer import DECIDES, REFUSED, Answer, DecidingLine
from whimbrel.verify.causes import Cause, Causes, ServerKey
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.deciding_lines import deciding_lines, deciding_module
from whimbrel.verify.default_reasons import default_reason
from whimbrel.verify.difference import Difference, compare
from whimbrel.verify.exact_causes import AnswerOf, ExactCauses
from whimbrel.verify.known_changes import REASONS, compresses, is_of_small_body, known_change
from whimbrel.verify.probe import Probe
from whimbrel.verify.probe_engine import AccessCheck, refuses
from whimbrel.verify.side import Side
from whimbrel.verify.text_differences import MAX_LINES
from whimbrel.verify.type_reasons import TypeReasons, dotted_name, is_about_names
from whimbrel.verify.unsafe_urls import REASON as UNSAFE_URL
from whimbrel.verify.unsafe_urls import unsafe_url_cause

NOT_FOUND: Final = "the lines that decide it were not found"
OTHER_CONTENTS: Final = "no line decides it: both sides send the file as it is, and its contents differ"
_OF_FILES: Final = frozenset(("body", "etag", "last-modified"))
UNCHECKED: Final = (
    "whether these lines decide it was not checked: too many lines are to be loaded without them"
)


@dataclass(frozen=True, slots=True)
class LocatedCause:
    """The lines that a difference of responses comes from, or the reason why none is named; *rule*: the one
    that calls it cosmetic.
    """

    lines: Cause
    reason: str = ""
    rule: str = ""


class LocatedCauses:
    """Finds the causes of differences between the sides of *lines*, whose answers *answer* returns.

    Attributes:
        own_texts: the .htaccess files that both sides send, whose bodies are not compared.
    """

    def __init__(self, lines: tuple[SideLines, SideLines], answer: AnswerOf = Side.answer) -> None:
        self.lines = lines
        self.answer = answer
        self.old = lines[0].side
        self.new = lines[1].side
        self.causes = Causes(*lines)
        self.types = TypeReasons(self.causes)
        self.exact_causes = ExactCauses(self.causes, self.difference, self.answer)
        self.own_texts: set[str] = set()

    def reset(self) -> None:
        """Forget what was found out, with what it took of the budgets."""
        self.exact_causes = ExactCauses(self.causes, self.difference, self.answer)

    def forget(self) -> None:
        """Drop what belongs to plans that are about to be dropped."""
        self.causes.forget()
        self.types.forget()

    @property
    def note_of_own_texts(self) -> str:
        """The .htaccess files that are sent and whose bodies were not compared, in words; "" for none."""
        names = ", ".join(sorted(self.own_texts)[:MAX_LINES])
        return f"the bodies of {names} (sent as they are; their lines are compared)" if names else ""

    @property
    def is_of_versions(self) -> bool:
        """Return True if the sides answer under different versions."""
        return self.old.dialect is not self.new.dialect

    def is_of_access(
        self, answers: tuple[Answer, Answer], checks: tuple[tuple[AccessCheck, ...], tuple[AccessCheck, ...]]
    ) -> bool:
        """Return True if the access phases gave one of *answers* its status, which the other one has not, or
        a refused line of a .htaccess file did.
        """
        if answers[0].status == answers[1].status:
            return False
        pairs = zip(checks, answers, strict=True)
        is_refusal = any(refuses(own, answer.status) for own, answer in pairs)
        return is_refusal or self.causes.refused_cause(answers) is not None

    def host_cause(self, old: Answer, new: Answer) -> Cause | None:
        """Return the virtual hosts as the cause if both sides choose others, else None."""
        return self.causes.host_cause((old.server, new.server))

    def difference(self, old: Answer, new: Answer) -> Difference | None:
        """Return the difference of two answers, paths below the server roots relative to these."""
        pair = old, new
        if old.file != new.file:
            pair = self._relocated(old, self.old), self._relocated(new, self.new)
        found = compare(*pair)
        return self._without_own_text(found, (old, new)) if found is not None else None

    def located(
        self,
        probe: Probe,
        difference: Difference,
        answers: tuple[Answer, Answer],
        plans: tuple[Plan | None, Plan | None],
        *,
        has_equal_access: bool,
    ) -> tuple[object, LocatedCause]:
        """Return the key of the group of a difference, and its cause."""
        reason, line = self.types.reason(probe, difference, answers, plans)
        if reason:
            of_22 = () if line is None else (line,)
            is_old = self.old.dialect is V22
            cause = Cause(of_22 if is_old else (), () if is_old else of_22)
            return (reason, cause), LocatedCause(cause, reason)
        default = default_reason(self.causes, answers, plans)
        if default:
            return default, LocatedCause(self.causes.refused_cause(answers) or Cause((), ()), default)
        unsafe = unsafe_url_cause(self.lines, probe, answers) if self.is_of_versions else None
        if unsafe is not None:
            return ("unsafe URL", unsafe), LocatedCause(unsafe, UNSAFE_URL)
        host_cause = self.host_cause(*answers)
        if host_cause is not None:
            return ("root", host_cause.roots) if host_cause.roots else ("host", host_cause), LocatedCause(
                host_cause
            )
        refused = self.causes.refused_cause(answers)
        found = (
            LocatedCause(refused)
            if refused is not None
            else self._cause(
                probe,
                difference,
                answers,
                plans,
                servers=(answers[0].server, answers[1].server),
                has_equal_access=has_equal_access and None not in plans,
            )
        )
        cause = found.lines
        if cause.roots:
            return ("root", cause.roots), found
        rule = known_change(difference, answers, cause)
        if rule:
            return rule, LocatedCause(cause, REASONS[rule], rule)
        has_other_dots = self.old.dialect.leading_dot_is_name != self.new.dialect.leading_dot_is_name
        lines = (*cause.old, *cause.new)
        dotted = dotted_name(probe, difference, answers, lines) if has_other_dots else ""
        if cause.old or cause.new:
            return ("response", cause, dotted), replace(found, reason=dotted or found.reason)
        is_of_access = self.decided_by_access(probe, answers)
        old, new = (
            _about(difference, deciding_lines(lines.side, probe), is_of_access=is_of_access)
            for lines in self.lines
        )
        if self.is_of_versions:
            if old or new:  # no line alone: a status of access control, with all that took part
                cause = Cause(old[:MAX_LINES], new[:MAX_LINES])
                return ("response", _of_versions(difference), cause), LocatedCause(cause)
            if dotted:
                return dotted, LocatedCause(cause, dotted)
            if self._send_other_contents(difference, answers):
                return OTHER_CONTENTS, LocatedCause(cause, OTHER_CONTENTS)
            reason = found.reason or "no line decides it"
            modules = ("", "") if is_of_access else self._deciding_modules(probe, difference, answers)
            reason += f": the versions differ in {_of_versions(difference, modules)}"
            return reason, LocatedCause(cause, reason)
        cause = Cause(old or _of_server(self.lines[0]), new or _of_server(self.lines[1]))
        return ("response", difference.names, str(difference)), LocatedCause(cause)

    def decided_by_access(self, probe: Probe, answers: tuple[Answer, Answer]) -> bool:
        """Return True if *answers* to *probe* are as in `is_of_access`."""
        if answers[0].status == answers[1].status:
            return False
        _, old = self.old.checked(probe)
        _, new = self.new.checked(probe)
        return self.is_of_access(answers, (old, new))

    def _without_own_text(self, difference: Difference, answers: tuple[Answer, Answer]) -> Difference | None:
        """Return *difference* without what follows from the contents of a .htaccess file that both sides read
        and send: its lines are what is compared. None if nothing else differs.
        """
        if not self.is_of_versions or "body" not in difference.names or not self._send_own_text(answers):
            return difference
        self.own_texts.add(answers[0].file)
        parts = tuple(part for part in difference.parts if part.name not in _OF_FILES)
        return Difference(parts) if parts else None

    def _send_own_text(self, answers: tuple[Answer, Answer]) -> bool:
        """Return True if each side sends a .htaccess file as it is, and reads its lines."""
        return all(
            answer.sends_file and lines.at(lines.side.loaded.disk.openable(answer.file), 0) is not None
            for lines, answer in zip(self.lines, answers, strict=True)
        )

    def _send_other_contents(self, difference: Difference, answers: tuple[Answer, Answer]) -> bool:
        """Return True if the bodies alone differ, and the files that are sent as they are do."""
        if "body" not in difference.names or not _OF_FILES.issuperset(difference.names):
            return False
        if not all(answer.sends_file for answer in answers):
            return False
        old, new = (
            to_bytes(side.loaded.disk.openable(answer.file))
            for side, answer in zip((self.old, self.new), answers, strict=True)
        )
        try:
            return not filecmp.cmp(old, new, shallow=False)
        except OSError:
            return False

    def _deciding_modules(
        self, probe: Probe, difference: Difference, answers: tuple[Answer, Answer]
    ) -> tuple[str, str]:
        """Return the modules that gave *answers* their statuses, if these differ, "" for none."""
        if difference.names[0] != "status":
            return "", ""
        old, new = answers
        return deciding_module(self.old, probe, old.status), deciding_module(self.new, probe, new.status)

    def _cause(
        self,
        probe: Probe,
        difference: Difference,
        answers: tuple[Answer, Answer],
        plans: tuple[Plan | None, Plan | None],
        *,
        servers: tuple[ServerKey, ServerKey],
        has_equal_access: bool,
    ) -> LocatedCause:
        """Return the cause of a difference: between versions the lines that it rests on; else those that the
        texts and the directives show.
        """
        if self.is_of_versions:
            exact = self.exact_causes.cause(
                probe, difference, plans, servers=servers, has_equal_access=has_equal_access
            )
            if exact is not None:
                return LocatedCause(self.causes.with_files(exact, difference, plans, servers))
        likely = self.causes.cause(difference, plans, servers=servers, has_equal_access=has_equal_access)
        if not self.is_of_versions:
            return LocatedCause(likely)
        is_compressed = is_of_small_body(difference, answers)
        foreseen = (lambda line: compresses(line.text)) if is_compressed else is_about_names
        for cause in (likely, self.causes.lines_where(plans, servers, foreseen)):
            decides = self.exact_causes.decides(probe, difference, cause)
            if decides is None:
                return LocatedCause(likely, UNCHECKED)
            if decides:
                return LocatedCause(cause)
        return LocatedCause(Cause((), ()), NOT_FOUND)

    @staticmethod
    def _relocated(answer: Answer, side: Side) -> Answer:
        """Return *answer* with paths below the server root relative to it."""
        root = side.loaded.root.rstrip("/") + "/"
        if len(root) < 2 or root not in answer.file:
            return answer
        return replace(answer, file=answer.file.replace(root, ""))


def separate(difference: Difference) -> list[Difference]:
    """Return the parts of *difference* one by one, a body with the encoding that it follows from."""
    encoding = [part for part in difference.parts if part.name == "content-encoding"]
    following = [part for part in difference.parts if part.name == "body"] if encoding else []
    others = [Difference((part,)) for part in difference.parts if part not in (*encoding, *following)]
    return [*others, Difference((*encoding, *following))] if encoding else others


def _of_versions(difference: Difference, modules: tuple[str, str] = ("", "")) -> str:
    """Return what differs, in words: a status with both values and the *modules* that gave them, other parts
    by name.
    """
    old, new = (f" by {module}" if module else "" for module in modules)
    return " and ".join(
        f"the status ({part.old}{old}, {part.new}{new})" if part.name == "status" else part.name
        for part in difference.parts[:2]
    )


def _about(
    difference: Difference, lines: tuple[DecidingLine, ...], *, is_of_access: bool
) -> tuple[DecidingLine, ...]:
    """Return those of *lines* that decide the parts of *difference*: none but for users and the statuses of
    access control."""
    if {"user", "www-authenticate"}.isdisjoint(difference.names) and not is_of_access:
        return ()
    deciding = tuple(line for line in lines if line.role in (DECIDES, REFUSED))
    return deciding or tuple(line for line in lines if line.role == "access")


def _of_server(lines: SideLines) -> tuple[DecidingLine, ...]:
    """Return the first lines of the main server, for differences on which no line has any influence."""
    return tuple(DecidingLine(line.path, line.line, line.text, "directive") for line in lines.main.lines[:1])
