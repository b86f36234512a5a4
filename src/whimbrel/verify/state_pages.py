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
    """Return True if both answers are pages of one of *handlers*."""
    is_sent = 200 <= old.status < 300 and old.status == new.status
    return is_sent and old.handler == new.handler and new.handler in handlers


class StatePages:
    """The pages whose bodies a comparison left out: the first URL of each handler."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}

    def note(self, url: str, old: Answer, new: Answer) -> None:
        """Note the answers to *url* if their bodies are not compared."""
        between_versions = old.dialect != new.dialect
        if is_of_state(old, new, WORDED if between_versions else OF_EACH_SERVER):
            self._urls.setdefault(new.handler, url)

    @property
    def note_of_bodies(self) -> str:
        """The bodies that were not compared, in words; "" if there is none."""
        names = ", ".join(sorted(self._urls))
        return f"the bodies of {names} (made at each request, not compared)" if names else ""

    @property
    def sentence(self) -> str:
        """What was not compared, and what was; "" if everything was."""
        if not self._urls:
            return ""
        pages = ", ".join(f"{url} ({handler})" for handler, url in sorted(self._urls.items()))
        return (
            f"bodies that are made at each request, of the state of the server, are not compared: {pages}; "
            "their status, type and access are"
        )
