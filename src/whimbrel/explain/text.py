"""Explanations as text: the answer, its cause, and the steps that led there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.terminal_text import UNBOUNDED, columns_of, padded, paint, shown, wrapped
from whimbrel.config.origins import Origin
from whimbrel.engine.explain.deciding_rules import is_negated
from whimbrel.engine.explain.decisions import DECLINES, GRANTED, OTHER_METHODS
from whimbrel.explain.cause import (
    admitting_lines,
    cause_of,
    choosing_lines,
    deciding_block,
    handler_lines,
    lines_of_other_methods,
)
from whimbrel.explain.changes import ChangedStep, deciding, innermost
from whimbrel.explain.response_differences import part_texts
from whimbrel.explain.rewriting import negotiations, refused_paths, rewritten_paths
from whimbrel.explain.source_lines import SourceLines
from whimbrel.explain.step import CONTENT_TYPE, ExplanationStep, RequestExplanation, is_reason
from whimbrel.explain.void_lines import UNREAD, VOID
from whimbrel.http.semantics.status import reason
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.verify.difference import FieldDifference

LABEL_WIDTH: Final = 15
CAUSE_WIDTH: Final = 9
SIGN_WIDTH: Final = 2
SIGNS: Final = ("-", "+")
"""Marks of the first side of a comparison and of the second one."""
TEXT_WIDTH: Final = 56
"""Columns of a text before its place stands on a line for itself."""
NARROW: Final = 48
"""Columns below which labels stand on lines for themselves."""
MAX_NOTICE: Final = 1200
"""Characters of a notice above the answer."""
MAX_ROWS: Final = 12
"""Rows of one label."""
_BOLD: Final = "1"
_RED: Final = "31;1"
_GREEN: Final = "32;1"
_YELLOW: Final = "33;1"
_LABEL: Final = "36"
_PLACE: Final = "35"


@dataclass(frozen=True, slots=True)
class TextRow:
    """One line of a short explanation: a label, a text, and the place in a file that it stands at."""

    label: str
    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class OutputStyle:
    """How text is printed.

    Attributes:
        root: the server root; paths below it are shown relative to it.
        width: columns of the terminal.
        configuration: the main file in words, "" for none.
        overlays: of each side, the texts that it has in the place of files.
        upgrade_hint: the option that compares a text that no 2.2 loads with one of 2.2; "" for another text.
    """

    root: str = ""
    width: int = UNBOUNDED
    is_colored: bool = False
    configuration: str = ""
    overlays: tuple[Mapping[str, bytes], ...] = ()
    upgrade_hint: str = ""

    def sources(self, number: int = 0) -> SourceLines:
        """Return the lines of the files of side *number*."""
        return SourceLines(self.overlays[number] if number < len(self.overlays) else None)


def place_of(line: Origin, root: str = "") -> str:
    """Return file and line, relative to *root* if the file is below it."""
    path = relative(line.place.path, root)
    return f"{path}:{line.place.line}" if line.place.line else path


def relative(path: str, root: str) -> str:
    """Return *path* relative to *root* if it is below it."""
    return os.path.relpath(path, root) if root and path.startswith(root.rstrip("/") + "/") else path


def answer_of(explanation: RequestExplanation) -> str:
    """Return the status with its reason phrase, and the target of a redirect."""
    if explanation.errors:
        return "the configuration does not load"
    if explanation.status is None:
        return "not decided here"
    words = [str(explanation.status), reason(explanation.status)]
    return " ".join(filter(None, words)) + (f" to {explanation.location}" if explanation.location else "")


def short_lines(
    explanation: RequestExplanation,
    scope: KnowledgeScope,
    style: OutputStyle,
    last_rows: Iterable[TextRow] = (),
) -> Iterator[str]:
    """Yield the answer, its cause, the main steps, *last_rows*, and what is not known about them."""
    sources = style.sources()
    yield from _head(explanation, style)
    yield from row_lines(_cause_rows("because", explanation, sources, style.root), style, CAUSE_WIDTH)
    yield from _doubt(scope, style)
    rows = [TextRow("configuration", style.configuration)] if style.configuration else []
    rows += [*main_rows(explanation, sources, style.root), *last_rows]
    rows += _unknown_rows(scope, style.root)
    if rows:
        yield ""
        yield from row_lines(rows, style)
    other = "2.4" if explanation.dialect == "2.2" else "2.2"
    hint = f"-v shows every step; --diff {other} compares"
    if style.upgrade_hint:
        hint = style.upgrade_hint if explanation.errors else f"-v shows every step; {style.upgrade_hint}"
    elif explanation.errors:
        hint = f"--dialect {other} reads the text as {other}"
        if other == "2.2":  # a file of another kind loads under no version
            named = f"-d {shown(style.root)} " if style.root else ""
            upgrade = f"`whimbrel upgrade {named}--out NEW`"
            hint += f"; of a text of 2.2 {upgrade} writes a copy for 2.4: -d NEW explains it"
    yield from _hint(hint, style)


def notice_lines(notice: str, style: OutputStyle) -> list[str]:
    """Return the lines of a notice above the answer; none for ""."""
    lines = wrapped(shown(notice, MAX_NOTICE), style.width) if notice else []
    return [paint(line, _YELLOW, style.is_colored) for line in lines]


def _doubt(scope: KnowledgeScope, style: OutputStyle) -> Iterator[str]:
    """Yield that the answer is not certain, if it may depend on what is not known."""
    if scope.deciding:
        text = "not certain: the answer may depend on what is not known here, see below"
        read = next((item for item in scope.deciding if item.kind is UnknownKind.STAND_IN), None)
        if read is not None:
            text = shown(f"not yet: {read.subject} was read: {read.consequence}; {read.advice}", MAX_NOTICE)
        yield from (paint(line, _YELLOW, style.is_colored) for line in wrapped(text, style.width))


def _hint(text: str, style: OutputStyle) -> Iterator[str]:
    return (paint(line, "2", style.is_colored) for line in wrapped(text, style.width))


def _head(explanation: RequestExplanation, style: OutputStyle) -> Iterator[str]:
    status = explanation.status
    color = _RED if explanation.errors or (status or 0) >= 400 else _GREEN
    color = _YELLOW if status is None and not explanation.errors else color
    answer = shown(answer_of(explanation))
    about = [shown(explanation.request), f"httpd {explanation.dialect}"]
    line = "   ".join((answer, *about))
    if columns_of(line) <= style.width:
        yield "   ".join((paint(answer, color, style.is_colored), *about))
        return
    yield from (paint(part, color, style.is_colored) for part in wrapped(answer, style.width))
    for text in about:
        yield from wrapped(text, style.width)


def _cause_rows(
    label: str, explanation: RequestExplanation, sources: SourceLines, root: str
) -> Iterator[TextRow]:
    cause = cause_of(explanation)
    granted = "granted" if cause.lines or cause.sentence else label
    rows = list(_granting_rows(granted, explanation, sources, root))
    is_missing = explanation.status == 404
    if is_missing:  # who may ask is decided before what is not there is found
        yield from rows
    for line in cause.lines:
        yield _row(label, line, sources, root)
        label = ""
    if cause.sentence:
        yield TextRow(label, without_root(cause.sentence, root))
    if not is_missing:
        yield from rows


def _granting_rows(
    label: str, explanation: RequestExplanation, sources: SourceLines, root: str
) -> Iterator[TextRow]:
    """Yield the lines that let the client in; of none those that are about other methods alone."""
    granting = cause_of(explanation).granting
    for line in granting:
        yield _row(label, line, sources, root)
        label = ""
    top = next((step for step in deciding_block(explanation) if step.kind == "access"), None)
    if granting or top is None or top.result != GRANTED:
        return
    for line in lines_of_other_methods(top):
        row = _row(label, line, sources, root)
        yield TextRow(row.label, f"{row.text}: {OTHER_METHODS}", row.place)
        label = ""


def without_root(text: str, root: str) -> str:
    """Return *text* with the paths below the server root relative to it."""
    return text.replace(root.rstrip("/") + "/", "") if root.strip("/") else text


def main_rows(explanation: RequestExplanation, sources: SourceLines, root: str) -> Iterator[TextRow]:
    """Yield the virtual host, the mapping, the file, the sections and the access of the last request."""
    for step in explanation.steps:
        if step.kind == "virtual host":
            place = place_of(step.lines[-1], root) if step.lines else ""
            name = step.result if step.what != "main server" else f"main server ({step.detail})"
            yield TextRow("virtual host", name, place)
    block = deciding_block(explanation)
    yield from _rewriting_rows(explanation, sources, root)
    for step in block:
        is_line = step.kind == "mapping" and step.what != "core" and step.lines
        if is_line and step.result != "declined" and not (rewritten_paths(step) or refused_paths(step)):
            yield _row("mapping", step.lines[0], sources, root)
            applied = (rule for rule in step.children if rule.kind == "rule" and rule.result == "applied")
            for rule in applied:
                yield from _condition_rows(rule, sources, root)
    yield from (row for step in block for row in _file_row(step, root))
    for step, path in negotiations(block):
        place = place_of(step.lines[0], root) if step.lines else ""
        yield TextRow("negotiated", relative(path, root), place)
    yield from _limited("sections", _section_rows(block, sources, root))
    for step in block:
        if step.result in (VOID, UNREAD):
            place = place_of(step.lines[0], root) if step.lines else ""
            yield TextRow(
                step.result, f"{without_root(step.what, root)}: {without_root(step.detail, root)}", place
            )
    yield from _limited("access", _access_rows(block, sources, root))
    for step in block:
        if step.kind == "handler" and step.what != "core":
            found = choosing_lines(block, explanation) or handler_lines(step)
            yield TextRow("handler", step.what, place_of(found[0], root) if found else "")
    for step in explanation.all():
        is_type = step.kind == "header" and step.what == CONTENT_TYPE and step.lines
        if is_type and not step.lines[0].text.lower().startswith("typesconfig"):
            yield TextRow("type", step.result, place_of(step.lines[0], root))
    counts = Counter(step.kind for step in explanation.all())
    if counts["sub-request"]:
        yield TextRow("sub-requests", f"{counts['sub-request']:,}")
    yield from _log_rows(explanation)


def _row(label: str, line: Origin, sources: SourceLines, root: str) -> TextRow:
    """Return a row of a line; the place alone, once, if the line has no text."""
    text = sources.text(line) or line.text
    place = place_of(line, root)
    return TextRow(label, text, place) if text else TextRow(label, place)


def error_page_line(explanation: RequestExplanation, redirect: ExplanationStep) -> Origin | None:
    """Return the ErrorDocument line that names the target of an internal redirect, None for other ones."""
    target = redirect.what.partition(" ")[2]
    for step in explanation.steps:
        for line in step.lines[:1] if step.kind == "response" else ():
            words = line.text.split(None, 2)
            if words[0].lower() == "errordocument" and words[-1].strip('"').partition("?")[0] == target:
                return line
    return None


def _rewriting_rows(explanation: RequestExplanation, sources: SourceLines, root: str) -> Iterator[TextRow]:
    """Yield the rules that gave the request another path, and the internal redirects, each once, in their
    order.
    """
    rows = []
    for step in explanation.steps:
        if step.kind == "redirect":
            page = error_page_line(explanation, step)
            rows.append(
                TextRow("redirected to", step.what)
                if page is None
                else TextRow("error page", step.what, place_of(page, root))
            )
        for inner in step.children if step.kind == "redirect" else (step,):
            for rule in inner.children:
                rows += _rule_rows(rule, sources, root)
    shown_rows = list(dict.fromkeys(rows))[: MAX_ROWS if len(rows) <= MAX_ROWS else MAX_ROWS // 2]
    label = ""
    for row in shown_rows:
        yield TextRow(row.label if row.label != label else "", row.text, row.place)
        label = row.label
    if len(shown_rows) < len(rows):
        count = sum(row.label == "redirected to" for row in rows)
        total = f"{count} internal redirects" if count else f"{len(rows)} times"
        yield TextRow("", f"and so on: {total} in all")


def _rule_rows(rule: ExplanationStep, sources: SourceLines, root: str) -> Iterator[TextRow]:
    """Yield what a rule gave the request, or would have given it, and what its conditions compared."""
    of_rule = ExplanationStep(rule.kind, "", children=(rule,))
    for line, path in rewritten_paths(of_rule):
        by = f"{relative(path, root)}  by {sources.text(line) or line.text}"
        yield TextRow("rewritten to", by, place_of(line, root))
    for line, path in refused_paths(of_rule):
        yield TextRow(
            "not rewritten", f"to {path}  by {sources.text(line) or line.text}", place_of(line, root)
        )
    if rewritten_paths(of_rule) or refused_paths(of_rule):
        yield from _condition_rows(rule, sources, root)


def _condition_rows(rule: ExplanationStep, sources: SourceLines, root: str) -> Iterator[TextRow]:
    """Yield the RewriteCond lines of *rule* that were tried, each with what it compared."""
    label = "if"
    for step in rule.children:
        if step.kind == "condition":
            line = step.lines[0] if step.lines else None
            text = (sources.text(line) if line is not None else "") or step.what
            place = place_of(line, root) if line is not None else ""
            yield TextRow(label, f"{text}: {step.result} {step.detail}", place)
            label = ""


def _log_rows(explanation: RequestExplanation) -> Iterator[TextRow]:
    """Yield the lines of the error log that may be a reason, and the count of the others."""
    lines = explanation.log_lines()
    label = "error log"
    texts = [line.what for line in lines if is_reason(line.detail)][:MAX_ROWS]
    for text in dict.fromkeys(texts):
        yield TextRow(label, text)
        label = ""
    others = len(lines) - len(texts)
    if others:
        yield TextRow(label, f"{count_noun(others, 'line')} of level info and below (-v)")


def _file_row(step: ExplanationStep, root: str) -> Iterator[TextRow]:
    if step.kind == "file":
        details = ", ".join(filter(None, (step.result if step.result != "file" else "", step.detail)))
        yield TextRow("file", relative(step.what, root) + (f" ({details})" if details else ""))


def _section_rows(block: Iterable[ExplanationStep], sources: SourceLines, root: str) -> Iterator[TextRow]:
    for step in block:
        if step.result == "refused":
            yield TextRow("", f"{step.kind}: refused", place_of(step.lines[0], root) if step.lines else "")
        elif step.kind in ("sections", ".htaccess") and step.result == "applies":
            line = step.lines[0] if step.lines else None
            text = ".htaccess" if step.kind == ".htaccess" else step.what
            if line is None:
                yield TextRow("", text)
            else:
                yield TextRow("", sources.text(line) or text, place_of(line, root))


def _access_rows(block: Iterable[ExplanationStep], sources: SourceLines, root: str) -> Iterator[TextRow]:
    """Yield the lines of the decision that decided something, each once with its result.

    Of several clients in one line, one that matches is its result.
    """
    seen: dict[TextRow, str] = {}
    for top in (step for step in block if step.kind == "access"):
        if top.result == "granted" and not top.children and top.detail:
            yield TextRow("", f"granted: {top.detail}")
        negated = {id(inner) for step in top.all() if is_negated(step) for inner in step.children}
        for step in top.all():
            has_result = step.result != "applies" or step.what.startswith("Require")
            negated |= {id(inner) for inner in step.children if id(step) in negated}
            decides = step.result not in ("not asked", DECLINES)  # a hook that declines does nothing
            if step.children or step is top or not decides or not has_result:
                continue
            for line in step.lines[:1]:
                row = _row("", line, sources, root)
                is_inside = id(step) in negated or (is_negated(step) and row.text.split()[1:2] != ["not"])
                if seen.get(row) != "matches":
                    seen[row] = _result_of(step) + (" (in <RequireNone>)" if is_inside else "")
        if not seen and top.children:
            yield from (_row("", line, sources, root) for line in admitting_lines(top))
    yield from (TextRow("", f"{row.text}: {result}", row.place) for row, result in seen.items())


def _result_of(step: ExplanationStep) -> str:
    """Return what a line of access control came to: a provider of users knows the password, and no more."""
    is_accepted = step.what.startswith("provider ") and step.result == GRANTED and not step.detail
    return "password accepted" if is_accepted else step.detail or step.result


def _limited(label: str, rows: Iterable[TextRow]) -> Iterator[TextRow]:
    """Yield the rows below one label, and the count of those that are too many."""
    found = list(rows)
    for row in found[:MAX_ROWS]:
        yield TextRow(label, row.text, row.place)
        label = ""
    if len(found) > MAX_ROWS:
        yield TextRow(label, f"and {len(found) - MAX_ROWS} more")


def _unknown_rows(scope: KnowledgeScope, root: str) -> Iterator[TextRow]:
    """Yield what the answer may depend on and nobody knows here, then the count of all other items."""
    label = "not known"
    for item in scope.deciding[:MAX_ROWS]:
        text = unknown_text(item)
        yield TextRow(label, text, _place(item, root))
        label = ""
    more = max(len(scope.deciding) - MAX_ROWS, 0)
    if more:
        yield TextRow(label, f"and {more} more that may matter")
    others = len(scope.items) - len(scope.deciding)
    if others:
        facts = count_noun(others, "fact")
        yield TextRow(label, f"{facts} that this answer does not depend on")


def unknown_text(item: UnknownItem) -> str:
    """Return what is not known, what follows from it, and what helps."""
    return "; ".join(filter(None, (item.subject, item.consequence, item.advice)))


def _place(item: UnknownItem, root: str) -> str:
    if item.place is None or not item.place.path:
        return ""
    path = relative(item.place.path, root)
    return f"{path}:{item.place.line}" if item.place.line else path


def row_lines(rows: Iterable[TextRow], style: OutputStyle, label_width: int = LABEL_WIDTH) -> Iterator[str]:
    """Yield the rows in columns: labels, texts, places; on a narrow terminal below each other."""
    cleaned = [TextRow(row.label, shown(row.text), shown(row.place)) for row in rows]
    label_width = label_width if style.width >= NARROW else 2
    fitting = [columns_of(row.text) for row in cleaned if row.place]
    space = min(TEXT_WIDTH, max(style.width - label_width, 1))
    text_width = max((width for width in fitting if width <= space), default=0)
    for row in cleaned:
        label = paint(padded(row.label, label_width), _LABEL, style.is_colored)
        if row.label and columns_of(row.label) >= label_width:
            yield paint(row.label, _LABEL, style.is_colored)
            label = " " * label_width
        lines = wrapped(row.text, style.width - label_width)
        place = paint(row.place, _PLACE, style.is_colored)
        for number, line in enumerate(lines):
            start = label if not number else " " * label_width
            is_last = number == len(lines) - 1
            used = label_width + max(text_width, columns_of(line)) + 2 + columns_of(row.place)
            if not (place and is_last):
                yield f"{start}{line}".rstrip()
            elif used <= style.width:
                yield f"{start}{padded(line, text_width)}  {place}"
            else:
                yield f"{start}{line}".rstrip()
                yield f"{' ' * label_width}{place}"


def difference_lines(
    sides: tuple[RequestExplanation, RequestExplanation],
    changes: list[ChangedStep],
    parts: Sequence[FieldDifference],
    names: tuple[str, str],
    scope: KnowledgeScope,
    style: OutputStyle,
) -> Iterator[str]:
    """Yield whether both sides answer alike, the cause on each side, and the steps that make a difference;
    *parts*: what differs in the responses themselves.
    """
    old, new = sides
    causes = [
        list(_cause_rows("because", side, style.sources(number), style.root))
        for number, side in enumerate(sides)
    ]
    if have_equal_answers(old, new, changes) and not parts:
        yield from _equal_head(old, names, changes, style)
        yield from _doubt(scope, style)
        for name, cause in zip(names, causes, strict=True):
            if causes[0] != causes[1]:
                yield f"in {shown(name)}"
            yield from row_lines(cause, style, CAUSE_WIDTH)
            if causes[0] == causes[1]:
                break
    else:
        answers = [f"{answer_of(side)} in {name}" for name, side in zip(names, sides, strict=True)]
        for text in wrapped(shown(", ".join(answers)), style.width):
            yield paint(text, _YELLOW, style.is_colored)
        yield from wrapped(shown(new.request), style.width)
        fields = (*_part_rows(parts), *_field_rows(changes, parts, style.root))
        yield from row_lines(fields, style, SIGN_WIDTH)
        yield from _doubt(scope, style)
        for name, sign, cause in zip(names, SIGNS, causes, strict=True):
            yield paint(f"{sign} {shown(name)}", _BOLD, style.is_colored)
            yield from row_lines(cause, style, CAUSE_WIDTH)
        if not (old.errors or new.errors):
            yield ""
            yield from _step_lines(changes, sides, style)
    unknown = list(_unknown_rows(scope, style.root))
    if unknown:
        yield ""
        yield from row_lines(unknown, style)
    yield from _hint(style.upgrade_hint or "-v shows the steps of both sides", style)


def _part_rows(parts: Iterable[FieldDifference]) -> Iterator[TextRow]:
    """Yield the fields and the body that differ, however they came about."""
    for part in parts:
        for sign, text in zip(SIGNS, part_texts(part), strict=True):
            yield TextRow(sign, text)


def _field_rows(
    changes: Iterable[ChangedStep], parts: Sequence[FieldDifference], root: str
) -> Iterator[TextRow]:
    """Yield the fields of the response that differ, with the lines that set them; *parts* are the fields that
    differ in the end.
    """
    fields = {part.name for part in parts}
    for change in changes:
        for sign, step, other in zip(SIGNS, (change.old, change.new), (change.new, change.old), strict=True):
            if step is not None and step.kind == "header":
                place = place_of(step.lines[0], root) if step.lines else ""
                detail = f" ({step.detail})" if step.detail else ""
                if parts and not step.result and not fields & set(step.what.lower().split()):
                    detail += " (without effect on this answer)"
                yield TextRow(sign, f"{step.what}{f': {step.result}' if step.result else ''}{detail}", place)
            # a refusal or a redirect has a type too, which no line of the text sets
            elif step is None and other is not None and other.kind == "header" and other.what != CONTENT_TYPE:
                yield TextRow(sign, f"no {other.what}" if other.result else "no such line")


def have_equal_answers(
    old: RequestExplanation, new: RequestExplanation, changes: Iterable[ChangedStep]
) -> bool:
    """Return True if status, target, type and configured header fields are alike.

    A line about a field of which no value is known counts only where no response is: `response_differences`
    compares the fields of responses themselves.
    """
    if (old.status, old.location, old.errors) != (new.status, new.location, new.errors) or old.errors:
        return False
    steps = [step for change in changes for step in (change.old, change.new) if step is not None]
    return not any(
        step.kind == "response" or (step.kind == "header" and (step.result or old.status is None))
        for step in steps
    )


def _equal_head(
    side: RequestExplanation, names: tuple[str, str], changes: list[ChangedStep], style: OutputStyle
) -> Iterator[str]:
    color = _GREEN
    same = f"same answer: {shown(answer_of(side))}"
    if side.status is None:
        color = _YELLOW
        same = "no answer to compare: it is decided here on neither side; all that was compared is alike"
    yield from (paint(text, color, style.is_colored) for text in wrapped(same, style.width))
    about = f"{shown(side.request)}   in {shown(names[0])} and {shown(names[1])}"
    if changes:
        count = len(changes)
        about += f"; {count_noun(count, 'step differs', 'steps differ')} on the way"
    yield from wrapped(about, style.width)


def _step_lines(
    changes: Sequence[ChangedStep], sides: tuple[RequestExplanation, RequestExplanation], style: OutputStyle
) -> Iterator[str]:
    """Yield the innermost steps that differ and can decide: those around them differ for this reason."""
    inner = innermost(changes)
    found = deciding(changes, sides) or inner
    others = f", {len(found)} that can decide" if len(found) < len(inner) else ""
    yield paint(f"steps that differ: {len(inner)}{others}", _BOLD, style.is_colored)
    rows = []
    for change in found:
        for sign, step in zip(SIGNS, (change.old, change.new), strict=True):
            if step is not None:
                kind = "" if step.kind == step.what else f"{step.kind}: "
                result = f": {step.result}" if step.result else ""
                result += f" ({step.detail})" if step.kind == "response" and step.detail else ""
                place = place_of(step.lines[0], style.root) if step.lines else ""
                rows.append(TextRow(sign, f"{kind}{step.what}{result}", place))
    yield from row_lines(
        list(dict.fromkeys(rows)), style, SIGN_WIDTH
    )  # each sub-request repeats its sections
