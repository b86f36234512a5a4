"""The job of a managed domain: the progress of its renewal, kept in job.json."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.modules.md.mod_md.result import JobResult
from whimbrel.modules.md.mod_md.store import STAGING, FileStore, MdStoreError
from whimbrel.modules.md.mod_md.timing import date_from, date_text

JOB_FILE: Final = "job.json"
MAX_LOG: Final = 128  # entries of a job's log (httpd: MD_JOB_LOG_MAX)
HOUR = 3600.0
DAY = 86_400.0
# seconds between two notifications of one kind
INTERVALS: Final = {
    "renewing": HOUR,
    "renewed": DAY,
    "installed": DAY,
    "expiring": DAY,
    "errored": HOUR,
    "ocsp-renewed": DAY,
    "ocsp-errored": HOUR,
}


@dataclass(slots=True)
class Job:
    """One job; times are seconds since the epoch, 0 for none.

    Attributes:
        is_finished: new certificates are staged; `valid_from`: when they may be used.
        is_notified: a notification of a step has succeeded; `is_announced`: that of ``renewed`` did.
        errors: failures in a row, of renewals and of notifications.
        entries: the log, newest first.
    """

    name: str
    is_finished: bool = False
    is_notified: bool = False
    is_announced: bool = False
    next_run: float = 0.0
    last_run: float = 0.0
    valid_from: float = 0.0
    errors: int = 0
    last: JobResult | None = None
    entries: list[dict[str, Any]] = field(default_factory=list)

    def result(self) -> JobResult:
        """Return the last result, which the job goes on with."""
        if self.last is None:
            self.last = JobResult()
        return self.last

    def log(self, now: float, kind: str, status: str = "", detail: str = "") -> None:
        """Add an entry."""
        entry = {"when": date_text(now), "type": kind}
        if status:
            entry["status"] = status
        if detail:
            entry["detail"] = detail
        self.entries.insert(0, entry)
        del self.entries[MAX_LOG:]

    def may_notify(self, reason: str, now: float) -> bool:
        """Return True unless there was a notification of this kind a short time ago."""
        interval = INTERVALS.get(reason, 0.0)
        for entry in self.entries if interval else ():
            if entry.get("type") == f"message-{reason}":
                return now - date_from(entry.get("when")) >= interval
        return True

    def to_json(self) -> dict[str, Any]:
        """Return job.json."""
        record: dict[str, Any] = {
            "name": self.name,
            "finished": self.is_finished,
            "notified": self.is_notified,
            "notified-renewed": self.is_announced,
        }
        for key, value in (
            ("next-run", self.next_run),
            ("last-run", self.last_run),
            ("valid-from", self.valid_from),
        ):
            if value:
                record[key] = date_text(value)
        record["errors"] = self.errors
        if self.last is not None:
            record["last"] = self.last.to_json()
        if self.entries:
            record["log"] = {"entries": self.entries}
        return record


def from_json(name: str, record: dict[str, Any]) -> Job:
    """Return the job in job.json; malformed values are left out."""
    log = record.get("log")
    last = record.get("last")
    entries = log.get("entries") if isinstance(log, dict) else None
    errors = record.get("errors")
    return Job(
        name,
        record.get("finished") is True,
        record.get("notified") is True,
        record.get("notified-renewed") is True,
        date_from(record.get("next-run")),
        date_from(record.get("last-run")),
        date_from(record.get("valid-from")),
        errors if isinstance(errors, int) and errors > 0 else 0,
        _result(last) if isinstance(last, dict) else None,
        [entry for entry in entries if isinstance(entry, dict)][:MAX_LOG]
        if isinstance(entries, list)
        else [],
    )


def _result(record: dict[str, Any]) -> JobResult:
    def text(key: str) -> str:
        value = record.get(key)
        return value if isinstance(value, str) else ""

    status = record.get("status")
    return JobResult(
        status if isinstance(status, int) else 0,
        text("problem"),
        text("detail"),
        text("activity"),
        date_from(record.get("valid-from")),
    )


def load(store: FileStore, name: str) -> Job:
    """Return the job of a domain; a new one if there is none, or a malformed one."""
    with suppress(OSError, ValueError, MdStoreError):
        return from_json(name, store.load_json(STAGING, name, JOB_FILE))
    return Job(name)


def save(store: FileStore, job: Job) -> None:
    """Write job.json; raises OSError."""
    store.save_json(STAGING, job.name, JOB_FILE, job.to_json())
