"""Explanations of logged requests: the user as the log has it, and whether the answer is the logged one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.engine.log.error_log_line import LEVELS
from whimbrel.explain.error_lines import LoggedError
from whimbrel.explain.step import RequestExplanation
from whimbrel.explain.text import answer_of
from whimbrel.verify.probe import Probe, ProbeUser

_UNLOGGED: Final = {
    206: "the client asked for a part (Range)",
    304: "the client had a copy and asked whether it is still valid",
    400: "the request had a fault that the line does not show",
    408: "the client was too slow",
    412: "the client had a condition (If-Match or If-Unmodified-Since)",
    416: "the client asked for a part that the file does not have (Range)",
    417: "the client sent Expect",
}
"""Statuses that fields decide which lines of a log do not have."""
_CHANGED: Final = (
    "the configuration or a file was another one then, or the line does not show all of the request"
)
_WRONG: Final = "then the password was wrong, or the configuration was another one"


@dataclass(frozen=True, slots=True)
class LoggedOutcome:
    """The answer that a log has: the status of an access line, the message of an error line.

    Attributes:
        status: 0 for an error line.
        code: of the message; "" for an access line and for 2.2.
        level: of the message.
        file: that of the message, if no configuration shows its URL.
        taken_for: whose request a line without a host is, and why; "" where it is not known.
    """

    status: int = 0
    code: str = ""
    level: str = ""
    file: str = ""
    taken_for: str = ""

    def named(self, explanation: RequestExplanation, client: str) -> RequestExplanation:
        """Return *explanation* with the file of the message in the place of a URL that is not known."""
        request = f"a request for the file {self.file} from {client}"
        return replace(explanation, request=request) if self.file else explanation

    def agrees(self, explanation: RequestExplanation) -> bool:
        """Return True if *explanation* gives the logged answer, or does not decide."""
        if explanation.status is None:
            return True
        if self.status:
            return explanation.status == self.status
        if not self.code or LEVELS.get(self.level, LEVELS["debug"]) > LEVELS["error"]:
            return True
        return any(line.what.startswith(self.code) for line in explanation.log_lines())


def of_error_line(logged: LoggedError, *, is_located: bool) -> LoggedOutcome:
    """Return the answer of a line of the error log; *is_located*: a configuration gives its path a URL."""
    file = logged.path if logged.is_file and not is_located else ""
    return LoggedOutcome(code=logged.code, level=logged.level, file=file)


def probes_of(probe: Probe, answer: LoggedOutcome, has_user: Callable[[str], bool | None]) -> list[Probe]:
    """Return what the client may have sent: *probe* first, whose user has the right password.

    A 401 with a user may be that of a wrong password, or of a user whom no file has.
    """
    user = probe.user
    if user is None or answer.status != 401:
        return [probe]
    wrong = replace(probe, user=replace(user, is_password_valid=False))
    unknown = replace(probe, user=ProbeUser(user.name))
    return [unknown, probe] if has_user(user.name) is False else [probe, wrong]


def notice_of(
    answer: LoggedOutcome, shown: Probe, first: RequestExplanation, last: RequestExplanation
) -> str:
    """Return a sentence for above *last*, the explanation of *shown*; "" where the log has that answer and
    leaves nothing open.  *first* is the explanation with the right password.
    """
    user = shown.user
    if answer.agrees(last):
        if answer.status != 401 or user is None:
            return ""
        if not user.is_password_valid:
            return f"the log has 401; with the right password the answer is {answer_of(first)}: {_WRONG}"
        if not user.is_assumed:
            return ""
        return "a wrong password has the same status; the error log has AH01617 for it"
    if answer.status:
        reason = _UNLOGGED.get(answer.status, _CHANGED)
        logged = f"the log has {answer.status}"
    else:
        reason = _CHANGED
        logged = f"the message of the line ({answer.code}) does not come here"
    return f"{logged}, the configuration as it stands answers {answer_of(last)}: {reason}"
