"""The result of a job, which its steps and its commands change, and the statuses of APR that it may have.

httpd: md_result.c.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.modules.md.mod_md.timing import date_text

# statuses of APR beside those of errno
GENERAL = 20014
INCOMPLETE_PATH = 20022
BAD_ARGUMENT = 70013
NOT_IMPLEMENTED = 70023
_TEXTS: Final = {
    GENERAL: "Internal error (specific information not available)",
    INCOMPLETE_PATH: "The given path is incomplete",
    NOT_IMPLEMENTED: "This function has not been implemented on this platform",
    BAD_ARGUMENT: "Missing parameter for the specified command line option",
}
AH10108 = "urn:org:apache:httpd:log:AH10108:"
AH10109 = "urn:org:apache:httpd:log:AH10109:"


def status_text(status: int) -> str:
    """Return the text of a status (apr_strerror)."""
    return _TEXTS.get(status) or os.strerror(status)


def cause_of(status: int) -> str:
    """Return a status in APR's wording, "" for success."""
    return f"({status}){status_text(status)}" if status else ""


def cause_of_error(problem: Exception) -> str:
    """Return the status of an error of the system, that of invalid input for other errors."""
    number = problem.errno if isinstance(problem, OSError) else errno.EINVAL
    return cause_of(number or errno.EIO)


@dataclass(slots=True)
class JobResult:
    """The last result of a job: *status* is an errno or one of APR, 0 for success; texts are httpd's.

    Attributes:
        activity: the present step.
        observer: is called after each change, None without one.
    """

    status: int = 0
    problem: str = ""
    detail: str = ""
    activity: str = ""
    valid_from: float = 0.0
    observer: Callable[[], None] | None = field(default=None, repr=False, compare=False)
    _seen: tuple[int, str, str, str] = field(default=(0, "", "", ""), repr=False, compare=False)

    def observe(self, observer: Callable[[], None] | None) -> None:
        """Call *observer* after each change from now on."""
        self.observer = observer
        self._seen = self._facts()

    def _facts(self) -> tuple[int, str, str, str]:
        return (self.status, self.problem, self.detail, self.activity)

    def _changed(self) -> None:
        if self.observer is not None and self._seen != self._facts():
            self._seen = self._facts()
            self.observer()

    def begin(self, activity: str) -> None:
        """Begin a step."""
        self.activity = activity
        self.problem = ""
        self.detail = ""
        self._changed()

    def set(self, status: int, detail: str = "", problem: str = "") -> None:
        """Replace status, detail and problem."""
        self.status = status
        self.detail = detail
        self.problem = problem
        self._changed()

    def describe(self, status: int, detail: str) -> None:
        """Replace status and detail; the problem stays."""
        self.set(status, detail, self.problem)

    def progress(self) -> str:
        """Return the entry in the log of a job for the present state."""
        text = ": ".join(filter(None, (self.activity, self.detail)))
        if self.problem:
            text += f"{', ' if self.detail else ': '}problem: {self.problem}" if text else self.problem
        return text

    def line(self, name: str) -> str:
        """Return the line of the error log about the domain *name*."""
        parts = (("while", self.activity), ("problem", self.problem), ("detail", self.detail))
        return " ".join([f"md[{name}]", *(f"{word}[{text}]" for word, text in parts if text)])

    def to_json(self) -> dict[str, Any]:
        """Return the object ``last`` of job.json."""
        record: dict[str, Any] = {"status": self.status}
        if self.status:
            record["status-description"] = status_text(self.status)
        for key, value in (("problem", self.problem), ("detail", self.detail), ("activity", self.activity)):
            if value:
                record[key] = value
        if self.valid_from:
            record["valid-from"] = date_text(self.valid_from)
        return record
