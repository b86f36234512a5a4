"""Why the types of two answers differ where no line of either side decides it.

2.2 gives a response without a type the one of DefaultType, which is text/plain without such a line; 2.4 sends
none. A side that lacks the file of types (TypesConfig) has none for names that it lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from whimbrel.base.dialect import V22
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import Causes, PlanPair, ServerKey
from whimbrel.verify.config_lines import ConfigLine
from whimbrel.verify.deciding_lines import explain
from whimbrel.verify.difference import Difference
from whimbrel.verify.loading import misses_types
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

DEFAULT_TYPE: Final = "text/plain"
"""The type that 2.2 sends without a DefaultType line."""
OF_DEFAULT: Final = (
    "no DefaultType line: 2.2 sends text/plain by default for what has no type, 2.4 sends no type (C13)"
)
OF_LINE: Final = "2.2 gives what has no type the one of DefaultType, 2.4 sends no type (C13)"
OF_DOT: Final = (
    "the name of the file begins with a dot: for 2.2 what follows is an extension, for 2.4 the name itself"
)
_OF_EXTENSIONS: Final = frozenset(("content-type", "content-encoding", "content-language", "vary", "handler"))
"""What extensions give a response."""
_OF_NAMES: Final = frozenset(
    f"{verb}{what}"
    for verb in ("add", "remove")
    for what in ("handler", "type", "encoding", "language", "charset", "inputfilter", "outputfilter")
)
"""Directives that look at the extensions of a name alone."""
TypeReason = tuple[str, DecidingLine | None]
NO_REASON: Final[TypeReason] = ("", None)
_DIRECTORY: Final = "httpd/unix-directory"
"""What modules call a directory; it is never sent."""
_MAX_KNOWN: Final = 10_000
"""Answers about kinds of names that are kept."""


class TypeReasons:
    """Finds such reasons for the sides of *causes*."""

    def __init__(self, causes: Causes) -> None:
        self._causes = causes
        self._known: dict[object, tuple[PlanPair, TypeReason]] = {}

    def forget(self) -> None:
        """Drop what belongs to plans that are about to be dropped."""
        self._known.clear()

    def reason(
        self,
        probe: Probe,
        difference: Difference,
        answers: tuple[Answer, Answer],
        plans: PlanPair,
    ) -> TypeReason:
        """Return the reason for *difference* between *answers* that *plans* gave, "" for another one, and the
        DefaultType line that it rests on.
        """
        if difference.names != ("content-type",):
            return NO_REASON
        types = difference.parts[0]
        name = answers[0].file.rpartition("/")[2] or probe.target.rpartition("/")[2]
        key = (*map(id, plans), answers[0].server, name.partition(".")[2], probe.method, types.old, types.new)
        known = self._known.get(key)
        if known is None:
            known = (
                plans,
                self._reason(probe, (types.old, types.new), (answers[0].server, answers[1].server), plans),
            )
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = known
        return known[1]

    def _reason(
        self, probe: Probe, types: tuple[str, str], servers: tuple[ServerKey, ServerKey], plans: PlanPair
    ) -> TypeReason:
        sides = [lines.side for lines in self._causes.sides]
        lacking = [side for side in sides if misses_types(side)]
        typed = [_sets_type(side, probe) for side in sides]
        if len(lacking) == 1 and typed[sides.index(lacking[0])] is False and any(typed):
            return f"{lacking[0].name} has no file of types: the types of names are not known there", None
        of_22 = [number for number, side in enumerate(sides) if side.dialect is V22]
        if len(of_22) != 1 or any(typed):
            return NO_REASON
        number = of_22[0]
        kind = types[number].partition(";")[0].strip()
        if kind != DEFAULT_TYPE or types[1 - number]:
            return NO_REASON
        scopes = self._causes.scopes(self._causes.sides[number], plans[number], servers[number])
        lines = [line for scope in scopes for line in scope.lines if line.name == "defaulttype"]
        if not lines:
            return OF_DEFAULT, None
        deciding = [line for line in lines if line.args.lower() == DEFAULT_TYPE]
        if not deciding:
            return NO_REASON
        # without the line 2.2 does the same by its default: no comparison without it finds it
        last = deciding[-1]
        return OF_LINE, DecidingLine(last.path, last.line, last.text, "directive")


def dotted_name(
    probe: Probe, difference: Difference, answers: tuple[Answer, Answer], lines: Iterable[DecidingLine] = ()
) -> str:
    """Return the reason why 2.2 and 2.4, which ignores the dots before a name (mod_mime), differ in what the
    extensions of a file give; "" for another difference. *lines*: those that the difference rests on.
    """
    of_url = probe.target.partition("?")[0].rpartition("/")[2]
    # the file of an error is that of its ErrorDocument
    of_file = "" if answers[0].status >= HTTPStatus.BAD_REQUEST else answers[0].file.rpartition("/")[2]
    name = of_file or of_url
    if not (name.startswith(".") and name.strip(".")):
        return ""
    names = {line.text.partition(" ")[0].lower() for line in lines}
    is_of_extension = bool(names) and _OF_NAMES.issuperset(names)  # such as the status of a handler
    return OF_DOT if is_of_extension or _OF_EXTENSIONS.issuperset(difference.names) else ""


def is_about_names(line: ConfigLine) -> bool:
    """Return True for a line that looks at the extensions of a name alone."""
    return line.name in _OF_NAMES


def _sets_type(side: Side, probe: Probe) -> bool:
    """Return True if a module or a line gives the response to *probe* a type."""
    explained = explain(side, probe, is_dry=True)
    traces = explained.requests if explained is not None else ()
    types = {hook.changes.get("content_type", (None, None))[1] for one in traces for hook in one.hooks}
    return bool(types - {None, "", _DIRECTORY})
