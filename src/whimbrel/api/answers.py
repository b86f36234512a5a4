"""Answer and Explanation: what a configuration answers to a request, and why."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.api.findings import Unknown


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the configuration: *line* counts from 1, 0 stands for the whole file."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.text}" if self.text else place


@dataclass(frozen=True, slots=True)
class Answer:
    """A response.

    Attributes:
        status: None where a program or a back end decides it, which no answer in process runs.
        headers: the header fields in the order of sending, names as sent, one pair for each line.
        body: at most MAX_BODY bytes (`is_cut`: there are more).
        location: the target of a redirect, "" without one.
        file: the path of the file that the URL was mapped to, "" for none.
        user: the authenticated user, "" for none.
        log: the lines of the error log about the request, with their codes.
        not_run: the module whose handler was not run ("mod_cgi"), "" for none.
    """

    status: int | None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    location: str = ""
    file: str = ""
    user: str = ""
    log: tuple[str, ...] = ()
    not_run: str = ""
    is_cut: bool = False

    def header(self, name: str) -> str | None:
        """Return the values of a header field, joined by ", "; None without one. *name* in any case."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way of a request.

    Attributes:
        kind: virtual host, mapping, file, sections, .htaccess, access, type, handler, response ...
        what: the module, directive or file that acts; `result`: what came of it.
        detail: the reason in words.
        lines: the lines of the configuration that decided it, () for a default.
        steps: the steps within this one.
    """

    kind: str
    what: str
    result: str = ""
    detail: str = ""
    lines: tuple[Line, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The way of a request; `str()` is the short text that `whimbrel explain` prints.

    Attributes:
        request: the request in words.
        dialect: "2.4", "2.2" or "guide".
        lines: the lines that decided the status; () if a default or a file did.
        sentence: what these lines did with this request, "" if they say it.
        unknown: what is not known here and may matter to this request.
    """

    request: str
    dialect: str
    answer: Answer
    lines: tuple[Line, ...]
    sentence: str
    steps: tuple[Step, ...]
    unknown: tuple[Unknown, ...]
    text: str

    def __str__(self) -> str:
        return self.text
