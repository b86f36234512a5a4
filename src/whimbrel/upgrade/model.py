"""Findings of an upgrade: place, risk, message, advice and, if the text can be fixed, the edits.

Edits are byte ranges of the files as they were read; edits that are right only together form one group
(`syntax.edits`).
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.syntax.edits import Edit

READ_ERROR: Final = "READ"
"""The number of findings about text that could not be read; no rule has it."""
NO_FIXPOINT: Final = "PASS"
"""The number of the finding about rules whose edits undo each other; no rule has it."""
DIFFERENCE: Final = "DIFF"
"""The number of findings about access that differs after the upgrade; no rule has it."""

LOAD_ERROR: Final = "LOAD"
"""The number of findings about lines with which 2.4 does not start after the upgrade; no rule has it."""


class Risk(Enum):
    """The effect on 2.4 if the text stays as it is; the worst comes first."""

    @property
    def rank(self) -> int:
        """The position in the order of severity, 0 for the worst."""
        return list(Risk).index(self)

    BREAKS = "breaks start-up"
    OPENS = "opens access"
    CLOSES = "closes access"
    CHANGES = "changes answers"
    COSMETIC = "cosmetic"


class Safety(Enum):
    """The degree to which an edit is safe without review. The verifier can only lower it."""

    SAFE = "same answers, applied by default"
    REVIEW = "answers may differ: applied, marked `needs review`"
    MANUAL = "explained, never applied"


class InputContext(Enum):
    """The kind of the input: it decides what follows from a missing directive."""

    SERVER = "whole server"
    FRAGMENT = "fragment"
    HTACCESS = ".htaccess"


class FileEdit(NamedTuple):
    """One edit of one file; *path* is the key of `ConfigTree.files`."""

    path: str
    edit: Edit


@dataclass(frozen=True, slots=True)
class TextFix:
    """One edit as a range of lines and columns of the file as it was read; both count from 1.

    Columns count bytes, which are characters of the text here; the end is the first position that stays.
    """

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str


class OtherLines(NamedTuple):
    """The lines of another file than that of the finding which its edits remove and write.

    Attributes:
        line: the first line of the original that an edit touches, 0 for none that is known.
    """

    path: str
    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One change that the upgrade causes or makes.

    Attributes:
        rule: the number of the row (``C17``).
        place: the file and line, with the Include lines that lead there.
        message: the change; one sentence of text.
        advice: what to do; one sentence of text.
        risk: the effect if the text stays as it is.
        safety: MANUAL if there are no edits, or if none may be applied without review.
        edits: the edits that fix it, all or none.
        evidence: further text: a counterexample, recorded answers.
        old: the lines of its file that applied edits removed, with their numbers in the original.
        new: the lines that applied edits wrote, in all files.
        elsewhere: those of other files than its own, and what was removed there.
        decision: a question to the user, with a question mark: yes is what the result of `upgrade` does. It
            leaves a finding open whose answers are equal.
        unless: what takes the effect away, where it is not known: ``mod_access_compat is loaded``; "" for
            nothing.
        answers: what each answer leads to, such as ``no: whimbrel upgrade --exact``; empty for the usual ones
            (`report.questions`).
        remark: a fact that explains a startling edit with equal answers, which `upgrade` prints.
        fixes: the applied edits as ranges of the original files; empty if one of them changes a line that an
            earlier edit has written.
        in_htaccess: the place is in a .htaccess file, which never stops the start.
        fails_requests: 2.4 starts and answers requests with 500.
        is_part: the line at its place is one that an edit wrote, and the text as it was read does not need
            this: the edits belong to that edit.
        waits_for: the line to correct before `upgrade` makes the change, None for none.
        is_proven: a file that was read shows that 2.4 stops here: no comment exempts the line.
        accepted: what a comment that exempts the line takes for a fact that no file shows; "" for nothing.
            `shown_by`: what makes it known; "" for the file of the module.
        stays: the effect that a comparison has found with the edits; None for none that is known.
        was_error: its example is a request that 2.2 answers with an error too, such as 404 -> 403.
        access_line: of a finding about the lines of a whole .htaccess file the first one about access, which
            reports show where none goes; 0 for none.
        is_bidirectional: its question shows a client who gains access, and one who loses it.
    """

    rule: str
    place: SourceLocation
    message: str
    advice: str = ""
    risk: Risk = Risk.CHANGES
    safety: Safety = Safety.MANUAL
    edits: tuple[FileEdit, ...] = ()
    evidence: str = ""
    new: tuple[str, ...] = ()
    decision: str = ""
    remark: str = ""
    old: tuple[tuple[int, str], ...] = ()
    fixes: tuple[TextFix, ...] = ()
    in_htaccess: bool = False
    fails_requests: bool = False
    is_part: bool = False
    waits_for: SourceLocation | None = None
    is_proven: bool = False
    accepted: str = ""
    shown_by: str = ""
    answers: tuple[str, ...] = ()
    unless: str = ""
    elsewhere: tuple[OtherLines, ...] = ()
    stays: Risk | None = None
    was_error: bool = False
    access_line: int = 0
    is_bidirectional: bool = False

    @property
    def is_per_request(self) -> bool:
        """Return True if 2.4 starts with the text as it is, and answers requests with 500."""
        return self.risk is Risk.BREAKS and (self.in_htaccess or self.fails_requests)

    @property
    def needs_review(self) -> bool:
        """Return True if the user must review the finding; the output marks it, and `whimbrel upgrade` exits
        with 3."""
        return self.safety is Safety.REVIEW or (
            self.safety is Safety.MANUAL and self.risk is not Risk.COSMETIC and self.waits_for is None
        )


AS_IT_STANDS: Final = "as the text stands: "
"""The begin of an example about lines that stay as they are."""
ONCE_STARTED: Final = "once 2.4 starts with these lines: "
"""The same where another line of the text ends the start: no request is answered before it is corrected."""


def with_start(findings: list[Finding]) -> list[Finding]:
    """Return the findings about one text; if 2.4 may not start with it, no example says what 2.4 answers with
    the text as it stands.
    """
    if not any(finding.risk is Risk.BREAKS and not finding.is_per_request for finding in findings):
        return findings
    return [
        replace(finding, evidence=finding.evidence.replace(AS_IT_STANDS, ONCE_STARTED))
        if AS_IT_STANDS in finding.evidence
        else finding
        for finding in findings
    ]


@dataclass(frozen=True, slots=True)
class AccessDifference:
    """A request that one side admits and the other refuses, as text; *before* and *after* are statuses, 200
    for granted. *is_source*: after the change the text of a program is sent, which ran before. *answers*: the
    statuses of the answers; None where only access was decided. *place*: the line that decides after the
    change, of the new text; with *is_of_old* of the old text, which alone has the cause.
    """

    client: str
    request: str
    before: int
    after: int
    place: SourceLocation | None = None
    is_source: bool = False
    answers: tuple[int, int] | None = None
    is_of_old: bool = False

    @property
    def words(self) -> tuple[str, str]:
        """What the request gets before and after; of granted access with the status of an answer that is not
        200, such as 405 of a file for PUT.
        """
        if self.is_source:
            return "run", "source"
        before, after = self.answers or (self.before, self.after)
        return _words(self.before, before), _words(self.after, after)

    @property
    def risk(self) -> Risk:
        """The effect of the difference."""
        if self.is_source or (self.before in (401, 403) and self.after < 400):
            return Risk.OPENS
        is_closed = self.after in (401, 403, 500) and self.before < 400
        return Risk.CLOSES if is_closed else Risk.CHANGES


def _words(access: int, answer: int) -> str:
    """Return what a request gets: *access* is the result of access control as a status, 200 for granted."""
    if access != 200:
        return str(access)
    return "granted" if answer == 200 else f"granted ({answer})"


ACCESS_RULES: Final = frozenset(("C16", "C17", "C18", "C19", "C20", "C21", "C22", "C23"))
"""Rules about access control: sections are merged with each other, so their changes belong together."""


class Style(Enum):
    """The style of access control."""

    NATIVE = "native"
    COMPAT = "compat"


class TargetBuild(Enum):
    """The build of the target 2.4: which modules are compiled in."""

    DEBIAN = "debian"
    SHARED = "shared"
    SUSE = "suse"
    UPSTREAM = "upstream"


LOADED_BUILDS: Final = frozenset({TargetBuild.DEBIAN, TargetBuild.SUSE, TargetBuild.UPSTREAM})
"""Builds with modules compiled in that the text must not load: it is read as one of them reads it."""
NEWEST: Final = 71
"""The N of the newest release 2.4.N that the rules support."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeOptions:
    """The options of an upgrade.

    Attributes:
        style: native Require lines, or mod_access_compat.
        also_22: the result works with 2.2 as well.
        exact: keep the behaviour of 2.2 where the upgrade guide and the servers disagree.
        target: the N of 2.4.N, the release that must accept the result.
        target_build: the build of that release; None to detect it by the layout and the module files.
        no_outer_password: no section around a file without its server asks for a password.
        unsafe_flags: give rewrite rules the Unsafe flags of 2.4.60, which restore the answers of 2.2.
    """

    style: Style = Style.NATIVE
    also_22: bool = False
    exact: bool = False
    target: int = NEWEST
    unsafe_flags: bool = False
    no_outer_password: bool = False
    target_build: TargetBuild | None = None
