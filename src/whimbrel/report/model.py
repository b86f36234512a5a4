"""Model of a report: entries with locations, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from whimbrel.base.counts import count_noun
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.upgrade.check.start_faults import StartFault
from whimbrel.upgrade.edits.frame_lines import FrameLine
from whimbrel.upgrade.knowledge.scope import KnowledgeScope
from whimbrel.upgrade.model import ACCESS_RULES, READ_ERROR, Finding, OtherLines, Risk, TextFix

OLD_TEXT: Final = " (2.2 text)"
"""Mark behind the number of a line that the text at the path lacks: an upgrade has replaced it."""
LONE_FILES: Final = "files that no Include reads"


class EffectClass(NamedTuple):
    """A class of effects: a risk, its part that fails requests below a directory, or what could not be read;
    sorts by severity.
    """

    risk: Risk
    is_per_request: bool = False
    is_unread: bool = False

    @property
    def rank(self) -> tuple[int, bool, bool]:
        """The position in the order of severity."""
        return self.risk.rank, self.is_per_request, self.is_unread

    @property
    def name(self) -> str:
        """The words of the class."""
        if self.is_unread:
            return "could not be read"
        return "500 per request" if self.is_per_request else self.risk.value


UNREAD: Final = EffectClass(Risk.CHANGES, is_unread=True)
"""The class of findings about text that could not be read, whatever stands in it."""
EFFECT_CLASSES: Final = tuple(
    sorted((*map(EffectClass, Risk), EffectClass(Risk.BREAKS, True), UNREAD), key=lambda one: one.rank)
)
"""All classes of effects, the worst first."""


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One finding of a report. Texts and paths have one character per byte.

    Attributes:
        path: relative to the directory of the command line if it lies in there
        line: from 1; 0 for a whole file
        via: the Include line that led there, or ""
        text: the source line without white space around it
        is_fixable: True if `whimbrel upgrade` has an edit for it
        old: the lines that the edit removes, with their numbers
        new: the lines that the edit writes
        fixes: the edit as ranges of the files, if it has any; paths as *path*
        in_htaccess: the place is in a .htaccess file
        fails_requests: 2.4 starts and answers requests with 500
        lines: the lines of its frame, where the edit is known as ranges
        is_lone: no Include of the server reads its file
        waits_for: the place to correct before `upgrade` makes the change, "" for none
        decision, answers, unless, elsewhere, stays, was_error: see `Finding`
        is_old: the line is one of the text of 2.2, which is not at its path
    """

    rule: str
    path: str
    line: int
    message: str
    advice: str = ""
    risk: Risk = Risk.CHANGES
    needs_review: bool = False
    is_fixable: bool = False
    via: str = ""
    evidence: str = ""
    text: str = ""
    new: tuple[str, ...] = ()
    decision: str = ""
    old: tuple[tuple[int, str], ...] = ()
    fixes: tuple[TextFix, ...] = ()
    in_htaccess: bool = False
    fails_requests: bool = False
    lines: tuple[FrameLine, ...] = ()
    is_lone: bool = False
    waits_for: str = ""
    answers: tuple[str, ...] = ()
    unless: str = ""
    elsewhere: tuple[OtherLines, ...] = ()
    is_old: bool = False
    stays: Risk | None = None
    was_error: bool = False

    @property
    def question_order(self) -> tuple[bool, int]:
        """The order of its question: by the effect that the answer decides about, those behind the others
        whose example 2.2 answers with an error too.
        """
        effect = self.stays or self.risk
        return self.was_error and effect is not Risk.OPENS, effect.rank

    @property
    def own_new(self) -> tuple[str, ...]:
        """The lines that are written into the file of the finding."""
        others = Counter(text for one in self.elsewhere for text in one.new)
        own: list[str] = []
        for text in reversed(self.new):  # of equal lines, those of the file itself were written first
            if others[text]:
                others[text] -= 1
            else:
                own.insert(0, text)
        return tuple(own)

    @property
    def effect_class(self) -> EffectClass:
        """The class of its effect: a .htaccess file that 2.4 refuses stops requests, not the start."""
        if self.rule == READ_ERROR and self.risk is not Risk.BREAKS:
            return UNREAD
        return EffectClass(self.risk, self.risk is Risk.BREAKS and (self.in_htaccess or self.fails_requests))

    @property
    def effect(self) -> str:
        """Return the effect on 2.4 in words, with the directory if requests below it fail."""
        name = self.effect_class.name
        if self.effect_class.is_per_request and self.in_htaccess:
            name = f"500 for each request below {self.path.rpartition('/')[0] or 'its directory'}"
        return f"{name} unless {self.unless}" if self.unless else name

    @property
    def is_note(self) -> bool:
        """Return True if there is nothing to do; a note does not change the exit code."""
        if self.is_fixable or self.waits_for:
            return False
        return self.risk is Risk.COSMETIC or (self.risk is Risk.CLOSES and not self.needs_review)

    @property
    def is_to_compare(self) -> bool:
        """Return True if answers depend on the change that `upgrade` makes: it asks a person where its
        comparison of both texts finds others than those of 2.2."""
        is_of_answers = self.rule in ACCESS_RULES or self.risk in (Risk.OPENS, Risk.CLOSES, Risk.CHANGES)
        return self.is_fixable and not self.needs_review and is_of_answers

    @property
    def sort_key(self) -> tuple[str, int, str]:
        return self.path, self.line, self.rule

    @property
    def mark(self) -> str:
        """Return what is left to do: one phrase for an applied change and a required review."""
        if self.is_fixable:
            if self.needs_review:
                return "changed by upgrade, needs review"
            return "changed by upgrade" if self.is_to_compare else "fixed by upgrade"
        if self.waits_for:
            return f"waits for the correction of {self.waits_for}"
        return "needs review" if self.needs_review else ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}{OLD_TEXT if self.is_old else ''}" if self.line else self.path


@dataclass(slots=True)
class Report:
    """Result of a check.

    Attributes:
        inputs: what the input was taken for
        files: paths of all files that were read
        lone: those of them that no Include of the server reads, with their numbers of lines
        lines: the number of lines of the other files
        titles: titles of the rules, by number
        names: short names of the rules, by number
        documents: Markdown documents of the rules, by number, for formats that hold them
        scope: what was read, and what is unknown
        directory: the directory that paths are shown relative to
        next_command: what to run after reading, "" for nothing
        is_complete: each file of the server was read
        is_of_24: the text loads modules that only 2.4 has
        stop: the line at which 2.4 ends its start, with the reason, as a sentence; "" if it starts, or if
            nothing was loaded
        fault: the place at which no version of httpd starts, "" for none
        start_fault: the line at which every version of httpd ends its start, None for none
        exempted: the findings about access whose lines a comment exempts: `entries` lacks them
        recorded: the findings whose lines a comment exempts that names their rule; `entries` lacks them too
        is_part: files were read without their server
        written_in: the directory whose upgrades a journal records
    """

    files: list[str] = field(default_factory=list)
    entries: list[ReportEntry] = field(default_factory=list)
    lines: int = 0
    titles: dict[str, str] = field(default_factory=dict)
    baselined: int = 0  # entries that a baseline has removed
    inputs: list[str] = field(default_factory=list)
    scope: KnowledgeScope = KnowledgeScope()
    directory: str = ""
    names: dict[str, str] = field(default_factory=dict)
    next_command: str = ""
    documents: dict[str, str] = field(default_factory=dict)
    lone: dict[str, int] = field(default_factory=dict)
    is_complete: bool = True
    is_of_24: bool = False
    stop: str = ""
    fault: str = ""
    start_fault: StartFault | None = None
    exempted: list[ReportEntry] = field(default_factory=list)
    recorded: list[Finding] = field(default_factory=list)
    is_part: bool = False
    written_in: str = ""

    def add(self, other: Report) -> None:
        """Add the entries of *other*, each finding once."""
        seen = set(self.entries)
        self.files += [path for path in dict.fromkeys(other.files) if path not in set(self.files)]
        self.entries += [entry for entry in other.entries if entry not in seen]
        self.exempted += [entry for entry in other.exempted if entry not in self.exempted]
        self.recorded += other.recorded
        self.is_part = self.is_part or other.is_part
        self.lines += other.lines
        self.lone.update(other.lone)
        self.is_complete = self.is_complete and other.is_complete
        self.is_of_24 = self.is_of_24 or other.is_of_24
        self.stop = self.stop or other.stop
        self.fault = self.fault or other.fault
        self.start_fault = self.start_fault or other.start_fault
        self.scope = self.scope.merge(other.scope)
        self.directory = self.directory or other.directory
        self.written_in = self.written_in or other.written_in
        self.baselined += other.baselined
        self.titles.update(other.titles)
        self.names.update(other.names)
        self.inputs += [line for line in other.inputs if line not in self.inputs]

    @property
    def findings(self) -> list[ReportEntry]:
        """Return the entries that require action."""
        return [entry for entry in self.entries if not entry.is_note]

    @property
    def counted(self) -> list[ReportEntry]:
        """Return the entries about files that the server reads, which the counts are about."""
        return [entry for entry in self.entries if not entry.is_lone]

    @property
    def counted_files(self) -> int:
        """Return the number of files that the server reads."""
        return len(self.files) - len(self.lone)

    @property
    def lone_counts(self) -> str:
        """Return the counts of the files that no Include reads in one sentence, "" for none."""
        if not self.lone:
            return ""
        entries = [entry for entry in self.entries if entry.is_lone]
        review = sum(entry.needs_review for entry in entries)
        fixed = sum(entry.is_fixable and not entry.needs_review for entry in entries)
        notes = sum(entry.is_note for entry in entries)
        return (
            f"{LONE_FILES}, not counted above: {count_noun(len(self.lone), 'file')}, "
            f"{count_noun(sum(self.lone.values()), 'line')}: {count_noun(len(entries) - notes, 'finding')} "
            f"({fixed:,} fixed by upgrade, {review:,} to review), {count_noun(notes, 'note')}"
        )

    def by_risk(self) -> dict[Risk, int]:
        """Count the entries by risk, the worst first, without zero counts."""
        counts = Counter(entry.risk for entry in self.counted)
        return {risk: counts[risk] for risk in Risk if counts[risk]}

    def by_effect(self) -> dict[EffectClass, int]:
        """Count the entries by class of effect, the worst first, without zero counts."""
        counts = Counter(entry.effect_class for entry in self.counted)
        return {effect_class: counts[effect_class] for effect_class in EFFECT_CLASSES if counts[effect_class]}

    def by_rule(self) -> dict[str, int]:
        return dict(sorted(Counter(entry.rule for entry in self.counted).items()))


def title_of(report: Report, number: str) -> str:
    """Return the title of the rule *number*."""
    return "What could not be read" if number == READ_ERROR else report.titles.get(number, number)


def read_errors(entries: Iterable[ReportEntry]) -> set[str]:
    """Return the messages of the findings about text that could not be read."""
    return {entry.message for entry in entries if entry.rule == READ_ERROR}


def groups(entries: Iterable[ReportEntry]) -> list[list[ReportEntry]]:
    """Group the entries that differ by their location only; by risk, then in the order of *entries*."""
    found: dict[tuple[object, ...], list[ReportEntry]] = {}
    for entry in entries:
        found.setdefault(
            (
                entry.rule,
                entry.message,
                entry.advice,
                entry.effect,
                entry.mark,
                entry.evidence,
                entry.new,
                entry.decision,
                entry.answers,
            ),
            [],
        ).append(entry)
    return sorted(found.values(), key=lambda group: group[0].effect_class.rank)


MAX_NEW_LINES: Final = 8
MAX_NEW_WIDTH: Final = 400


def new_lines(entry: ReportEntry) -> Iterator[str]:
    """Return the text that an upgrade writes, shortened for a report."""
    for number, line in enumerate(entry.new[:MAX_NEW_LINES]):
        shown = line if len(line) <= MAX_NEW_WIDTH else f"{line[:MAX_NEW_WIDTH]} ... ({len(line)} characters)"
        yield f"{'new:' if not number else '    '} {shown}"
    if len(entry.new) > MAX_NEW_LINES:
        yield f"     ... {len(entry.new) - MAX_NEW_LINES} more lines"


def sorted_entries(entries: Iterable[ReportEntry]) -> list[ReportEntry]:
    """Sort by path, line and rule."""
    return sorted(entries, key=lambda entry: entry.sort_key)
