"""What a rule is and what it says: findings with place, risk, remedy and, where an edit can mend it, the edit.

A rule looks at an `Estate` (one configuration with everything that it reads) and yields findings.  It never writes: edits are byte ranges of the
files as they were read, and edits that make sense only together form one group (`syntax.edits`).
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.syntax.edits import Edit

READ_ERROR: Final = "READ"
"""The number of findings about text that could not be read; no rule has it."""
NO_FIXPOINT: Final = "PASS"
"""The number of the finding about rules whose edits undo each other; no rule has it."""


class Risk(Enum):
    """What happens on 2.4 when nobody does anything; the worst comes first."""

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
    """How far an edit may go without a person.  The verifier can only lower it."""

    SAFE = "same answers, applied by default"
    REVIEW = "answers may differ: applied, marked `needs review`"
    MANUAL = "explained, never applied"


class InputContext(Enum):
    """What the input is: it decides what may be concluded from a directive that is absent."""

    SERVER = "whole server"
    FRAGMENT = "fragment"
    HTACCESS = ".htaccess"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """One edit of one file; *path* is the key of `Estate.files`."""

    path: str
    edit: Edit


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an upgrade changes.

    *rule* is the number of the row (``C17``), *place* the file and line (with the Include lines that led
    there); *message* says what changes, *remedy* what to do; both are one sentence in plain text.  *edits*
    mend it, all or none.  *evidence* is further text for people: a counterexample, the recorded answers;
    *new* are the lines that applied edits have written; *decision* is a decision for people that the same
    answers leave open.  *safety* is MANUAL exactly where there are no edits or where none may be applied
    unseen.
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

    @property
    def needs_review(self) -> bool:
        """Return True if a person has to look: the words stand in the output, and `whimbrel upgrade` ends
        with 3."""
        return self.safety is Safety.REVIEW or (
            self.safety is Safety.MANUAL and self.risk is not Risk.COSMETIC
        )


class Style(Enum):
    """How access control is written."""

    NATIVE = "native"
    COMPAT = "compat"


NEWEST: Final = 71
"""The N of the newest release 2.4.N that the rules know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeOptions:
    """What the user asked of an upgrade.

    *also_22* keeps the result fit for 2.2 as well, *exact* writes what 2.2 did where the upgrade guide and
    the servers disagree.  *target* is the N of 2.4.N, the release that must understand the result.
    *unsafe_flags* gives rewrite rules the Unsafe flags of 2.4.60 that bring 2.2's answers back.
    """

    style: Style = Style.NATIVE
    also_22: bool = False
    exact: bool = False
    target: int = NEWEST
    unsafe_flags: bool = False
