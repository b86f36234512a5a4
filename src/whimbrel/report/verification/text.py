"""Text of a verification for people at a terminal, by rich."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, Final

from whimbrel.base.counts import count_noun
from whimbrel.base.printable import printable_line
from whimbrel.report.questions import question_lines
from whimbrel.report.readiness import readiness_of_comparison
from whimbrel.report.verification.access_lines import access_lines
from whimbrel.report.verification.cause_lines import cause_lines, places_of_examples
from whimbrel.report.verification.entries import (
    KINDS,
    missing_modules,
    names_of,
    no_start,
    risk_of,
    summary,
    unknown,
)
from whimbrel.upgrade.model import DIFFERENCE, Risk
from whimbrel.verify.coverage.coverage import NUMBER_ENDED, TIME_ENDED, UNREACHED
from whimbrel.verify.recorded_decisions import has_recordable_decisions, is_without_lines
from whimbrel.verify.verification import (
    DifferenceGroup,
    NotDecided,
    Verdict,
    VerifyResult,
    access_differences,
    access_sentence,
    rule_of_reason,
)

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: Final = {Risk.OPENS: "bold red", Risk.CLOSES: "red", Risk.CHANGES: "yellow", Risk.COSMETIC: "dim"}
_VERDICTS: Final = {
    Verdict.SAME: "bold green",
    Verdict.DIFFERENT: "bold red",
    Verdict.DOES_NOT_LOAD: "bold red",
    Verdict.NOT_DECIDED: "bold yellow",
}

MAX_PARTS: Final = 4
"""Parts of an answer that an example names."""
SCREEN: Final = 24
"""Lines of a text that a person sees at once."""
_RECORD: Final = (
    f"# whimbrel: ignore[{DIFFERENCE}] above each of their lines records that, if nobody gains access by it"
)
_REMEDIES: Final = {
    UNREACHED: "whimbrel explain URL --diff CONF compares a URL that you know",
    TIME_ENDED: "--limit asks more requests",
    NUMBER_ENDED: "a larger --limit asks more requests",
}
"""Why no request met a line, and what helps."""


def render(verification: VerifyResult, *, colored: bool = False) -> str:
    """Return the verdict and the questions, the groups of differences, what was not decided, and the counts;
    behind more than a screen who gains or loses access, and the sentence about going live again.
    """
    from whimbrel.base.rich_console import file_console

    out = StringIO()
    console = file_console(out, is_colored=colored)
    first, *rest = summary(verification)
    ready = readiness_of_comparison(verification)
    access = access_sentence(verification)
    to_decide = verification.to_decide if verification.to_decide not in ready else ""
    question_part = list(question_lines(verification.questions, to_decide))
    if verification.documents:
        console.print(printable_line(verification.documents))
    stop = no_start(verification)
    if stop:
        console.print(printable_line(stop), style="bold red")
    is_long = bool(verification.groups or verification.not_decided)
    if is_long:
        console.print(first, style=_VERDICTS[verification.verdict])
        for line in filter(
            None, (ready, *verification.failures, missing_modules(verification), *question_part, access)
        ):
            console.print(printable_line(line))
    for name, errors in zip(verification.names, verification.errors, strict=True):
        for error in errors:
            console.print(f"{name} does not load:", style="bold red")
            console.print(_indented(error.text.splitlines()))
    for number, group in enumerate(verification.groups, 1):
        _print_group(console, number, group, verification.names)
    if has_recordable_decisions(verification):
        console.print(f"answers of {verification.names[1]} that are wanted: {_RECORD}")
    of_versions = {
        rule_of_reason(one.reason) for one in verification.causes_to_review if is_without_lines(one)
    }
    for rule in sorted(of_versions):
        console.print(f"{rule} lies in the versions alone: # whimbrel: ignore[{rule}] in the text records it")
    for title, lines in _undecided(verification.not_decided):
        console.print(printable_line(f"not decided: {title}"), style="yellow")
        for line in lines:
            console.print(printable_line(f"    {line}"))
    counts = [line for line in rest if line != access]
    if is_long:
        for line in (*counts, *unknown(verification)):
            console.print(printable_line(line))
        is_over_screen = out.getvalue().count("\n") > SCREEN
        for line in access_lines(list(access_differences(verification.groups))):
            console.print(line)
        if is_over_screen:
            for line in filter(None, (access, stop.partition("; ")[0])):
                console.print(printable_line(line))
        if ready and is_over_screen:
            console.print(printable_line(ready), style="bold")
            for line in _in_short(verification):
                console.print(printable_line(line))
        return out.getvalue()
    console.print(first, style=_VERDICTS[verification.verdict])
    for line in filter(None, (missing_modules(verification), *rest, *unknown(verification))):
        console.print(printable_line(f"  {line}"))
    for line in filter(None, (ready, *question_part)):
        console.print(printable_line(line), style="bold" if line is ready else None)
    return out.getvalue()


def _in_short(verification: VerifyResult) -> Iterator[str]:
    """Yield how much is to decide, if the sentence about going live does not say it, and the questions."""
    rows = [f"  {rule}  {place}".rstrip() for rule, place, *_ in verification.questions if rule]
    if not rows:
        return
    if verification.to_decide not in readiness_of_comparison(verification):
        yield f"{verification.to_decide} (the choices of each: above the differences)"
    yield from rows


def _undecided(found: Iterable[NotDecided]) -> Iterator[tuple[str, list[str]]]:
    """Yield what was not decided, with the lines below it: those without a request under their reason, and
    what helps.
    """
    by_reason: dict[str, list[str]] = {}
    for one in found:
        reason = next((reason for reason in _REMEDIES if one.reason.endswith(f": {reason}")), "")
        if reason:
            by_reason.setdefault(reason, []).append(one.reason.removesuffix(f": {reason}"))
        else:
            yield one.reason, [f"at {one.probe}"] if one.probe is not None else []
    for reason, lines in by_reason.items():
        yield f"{count_noun(len(lines), 'line')}: {reason} ({_REMEDIES[reason]})", lines


def _print_group(console: Console, number: int, group: DifferenceGroup, names: tuple[str, str]) -> None:
    risk = risk_of(group)
    names = names_of(group, names)
    count = count_noun(group.count, "difference")
    console.print(f"{number}. {KINDS[group.kind]}: {count}, {risk.value}", style=_STYLES[risk])
    for example in group.examples:
        console.print(printable_line(f"    {example.probe}"))
        if example.clients:
            console.print(printable_line(f"        clients: {example.clients}"))
        parts = example.difference.parts
        for part in parts[:MAX_PARTS]:
            console.print(
                f"        {part.name}: {names[0]} {part.old or 'none'}, {names[1]} {part.new or 'none'}"
            )
        if len(parts) > MAX_PARTS:
            console.print(f"        and {len(parts) - MAX_PARTS} more (--format json has all)")
    if group.is_assumed:
        console.print("    no file of the configuration has this user at present")
    cause = group.joint_cause
    for line in cause_lines(names, (cause.old, cause.new), places_of_examples(group)):
        console.print(f"    {line}")
    if group.reason:
        console.print(f"    {group.reason}")
    if group.decided:
        console.print(printable_line(f"    decided in the text: {', '.join(group.decided)}"))
    elif group.comments():
        console.print("    this records in the main file that the answers of 2.4 are wanted:")
        for comment in group.comments():
            console.print(printable_line(f"        {comment}"))
    if group.is_of_versions:
        console.print("    the versions differ in what these lines do")


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
