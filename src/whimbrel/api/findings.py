"""Finding and Edit: what an upgrade from 2.2 to 2.4 changes, and how `upgrade` rewrites it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that is not known here, such as a directory of another machine.

    Attributes:
        file, line: the line that names it; "" and 0 if no line does.
        subject: the fact; `consequence`: what follows for the result; `advice`: how to make it known.
        matters: the result may depend on it.
    """

    kind: str
    file: str
    line: int
    subject: str
    consequence: str = ""
    advice: str = ""
    matters: bool = True


@dataclass(frozen=True, slots=True)
class Edit:
    """The lines that an upgrade replaces.

    Attributes:
        old: the removed lines with their numbers in the file; `new`: the written ones.
    """

    file: str
    old: tuple[tuple[int, str], ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One change of an upgrade from 2.2 to 2.4.

    Attributes:
        rule: the number of the rule ("C17"), which `whimbrel explain C17` explains.
        file, line: its place; line 0 for the whole file. `included_from`: the Include line that led there.
        message: the change; `advice`: what to do about it.
        risk: "breaks start-up", "opens access", "closes access", "changes answers" or "cosmetic".
        effect: the risk in words; of a .htaccess file that 2.4 refuses, 500 for each request below it.
        needs_review: a person has to look at it.
        is_note: there is nothing to do.
        edit: what `upgrade` writes, None for nothing.
        decision: a question to the user about the finding, "" for none.
        evidence: further text, such as a client that gets another answer.
    """

    rule: str
    file: str
    line: int
    message: str
    advice: str
    risk: str
    needs_review: bool
    is_note: bool = False
    edit: Edit | None = None
    decision: str = ""
    evidence: str = ""
    included_from: str = ""
    effect: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The findings about a configuration.

    Attributes:
        files: the files that were read.
        lines: their number of lines.
        notes: findings that need nothing to be done.
        unknown: what is not known here.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    files: tuple[str, ...]
    lines: int
    unknown: tuple[Unknown, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that an upgrade changes: its content before and after, and the unified diff."""

    file: str
    old: bytes
    new: bytes
    diff: bytes


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """An upgrade that is not written.

    Attributes:
        changes: the files that change.
        findings: those that are applied (`Finding.edit`), and those that remain.
        verified: a sentence about the comparison of both versions, "" if they were not compared.
        unknown: what is not known here.
    """

    changes: tuple[FileChange, ...]
    findings: tuple[Finding, ...]
    verified: str
    unknown: tuple[Unknown, ...]

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits of all findings."""
        return tuple(finding.edit for finding in self.findings if finding.edit is not None)

    @property
    def needs_review(self) -> bool:
        """Return True if a person has to look at a finding."""
        return any(finding.needs_review for finding in self.findings)
