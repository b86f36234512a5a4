"""Pages that a server makes anew at each request, of its state: their bodies are not compared."""

from __future__ import annotations

from typing import Final

from whimbrel.verify.answer import Answer

WORDED: Final = frozenset(
    ("balancer-manager", "http2-status", "ldap-status", "md-status", "server-info", "server-status")
)
"""Handlers of such pages; versions word them in their own ways."""
OF_EACH_SERVER: Final = frozenset(("balancer-manager", "server-info"))
"""Those whose pages differ between servers of one text: they have random bytes, or the names of its files."""


def is_of_state(old: Answer, new: Answer, handlers: frozenset[str] = WORDED) -> bool:
    """Return True if both answers are pages of one of *handlers*, whose modules both sides load."""
    is_sent = 200 <= old.status < 300 and old.status == new.status
    is_page = is_sent and old.is_built_in and new.is_built_in
    return is_page and old.handler == new.handler and new.handler in handlers


class StatePages:
    """The handlers of the pages whose bodies a comparison left out."""

    def __init__(self) -> None:
        self._handlers: set[str] = set()

    def note(self, old: Answer, new: Answer) -> None:
        """Note two answers whose bodies are not compared."""
        between_versions = old.dialect != new.dialect
        if is_of_state(old, new, WORDED if between_versions else OF_EACH_SERVER):
            self._handlers.add(new.handler)

    @property
    def note_of_bodies(self) -> str:
        """The bodies that were not compared, in words; "" if there is none."""
        names = ", ".join(sorted(self._handlers))
        return f"the bodies of {names} (made at each request, not compared)" if names else ""

    @property
    def limit(self) -> str:
        """What was left out, as a limit of the comparison; "" for nothing."""
        names = ", ".join(sorted(self._handlers))
        return f"bodies of {names} not compared" if names else ""
