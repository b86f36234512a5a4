"""What an explanation does not know: the scope of its side, as far as the request may depend on it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.execute import root_relative
from whimbrel.explain.step import RequestExplanation
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.verify.config_lines import ConfigLine, SideLines, lines_of
from whimbrel.verify.damaged_htaccess import damaged_htaccess
from whimbrel.verify.missing_directories import assume_directories
from whimbrel.verify.password_checks import MAX_SECONDS
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

_PASSWORD_FILES = frozenset(("authuserfile", "authdigestfile"))


class RequestKnowledge:
    """The scope of one side; directories that are not here are taken as empty ones, as by verify."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.scope = side.scope
        self._directories: dict[str, UnknownItem] = {}
        self._lines: SideLines | None = None
        self._damaged: tuple[UnknownItem, ...] = ()
        if side.is_loaded:
            self._lines = SideLines(side)
            self._directories = assume_directories((self._lines,))
            self._damaged = tuple(damaged_htaccess((self._lines,)))

    def of(self, probe: Probe, explanation: RequestExplanation) -> KnowledgeScope:
        """Return the scope of *explanation*: an item matters if the request meets it."""
        texts = [text for step in explanation.all() for text in (step.what, step.result, step.detail)]
        has_user = probe.user is not None or explanation.status == 401
        items = [
            replace(item, matters=item.matters and (has_user or item.kind is not UnknownKind.MISSING))
            for item in self.scope.items
        ]
        for path, item in self._directories.items():
            is_met = any(path.rstrip("/") in text for text in texts)
            items.append(replace(item, matters=item.matters and is_met))
        for item in self._damaged:
            directory = os.path.dirname(item.place.path) if item.place is not None else ""
            if any(f"{directory}/" in text for text in texts):
                items.append(item)
        return KnowledgeScope(self.scope.files_read, tuple(items)).with_items(self._unknown_user(probe))

    def _unknown_user(self, probe: Probe) -> Iterator[UnknownItem]:
        """Yield an item for a user that no password file of the configuration has, and for a stored password
        whose check was not ended.
        """
        if self.side.runtime.passwords.unfinished:
            yield UnknownItem(
                UnknownKind.USERS_UNKNOWN,
                None,
                f"the stored password of the user takes more than {MAX_SECONDS} s to check",
                "the password was taken as wrong",
            )
        if probe.user is None or self._lines is None:
            return
        files = list(self._password_files(self._lines))
        texts = [text for text, _ in files if text]
        if texts and not any(f"\n{probe.user.name}:" in text for text in texts):
            line = files[0][1]
            yield UnknownItem(
                UnknownKind.USERS_UNKNOWN,
                SourceLocation(line.path, line.line),
                f"no password file that is here has the user {probe.user.name}",
                "the user and its password were taken as valid",
            )

    def _password_files(self, lines: SideLines) -> Iterator[tuple[str, ConfigLine]]:
        """Yield the text of each password file that is here, with the line that names it."""
        for line in lines_of(lines.scopes):
            words = line.words() if line.name in _PASSWORD_FILES else []
            path = root_relative(self.side.loaded.root, words[0]) if words and words[0] else ""
            if path and os.path.isfile(to_bytes(path)):
                try:
                    yield "\n" + to_text(read_regular(to_bytes(path))), line
                except OSError:
                    continue
