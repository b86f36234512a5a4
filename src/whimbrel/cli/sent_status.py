"""The status that a client got, of the statuses that httpd logs."""

from __future__ import annotations

from typing import Final

_ERRORS: Final = ("4", "5")
"""First digits of the statuses of errors."""


def sent_status(statuses: str) -> str:
    """Return the status that the client got, of `%s %>s %{local}p`.

    If the page of an ErrorDocument fails, httpd sends the first error and logs the second one as the last
    status (ap_die); the page itself may set another status than that of an error.
    """
    first, *others = statuses.split(" ")
    last = others[0] if others else ""
    return first if first[:1] in _ERRORS and last[:1] in _ERRORS else last or first
