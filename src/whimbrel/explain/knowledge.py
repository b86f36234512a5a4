"""What an explanation does not know: the scope of its side, as far as the request may depend on it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.engine.explain.decisions import GRANTED
from whimbrel.explain.client_names import unknown_names
from whimbrel.explain.step import RequestExplanation
from whimbrel.explain.types_of_names import needs_types
from whimbrel.explain.unmet_lines import UnmetLines
from whimbrel.upgrade.knowledge.loaded import NOT_TRUE, OF_TYPES
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.verify.assumptions import OF_FILES
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.copied_htaccess import copy_item, unwritten_copies
from whimbrel.verify.damaged_htaccess import damaged_htaccess
from whimbrel.verify.missing_directories import assume_directories
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side
from whimbrel.verify.uncopied_directories import uncopied_directories
from whimbrel.verify.undecided_passwords import dbm_files, password_files, undecided_passwords


class RequestKnowledge:
    """The scope of one side; directories that are not here are taken as empty ones, as by verify."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.scope = side.scope
        self._directories: dict[str, UnknownItem] = {}
        self._lines: SideLines | None = None
        self._damaged: tuple[UnknownItem, ...] = ()
        self._uncopied: dict[str, UnknownItem] = {}
        self._unmet: UnmetLines | None = None
        if side.is_loaded:
            self._lines = SideLines(side)
            self._directories = assume_directories((self._lines,))
            self._uncopied = dict(uncopied_directories(self._lines))
            self._unmet = UnmetLines(self._lines)
            self._damaged = tuple(damaged_htaccess((self._lines,)))

    def of(self, probe: Probe, explanation: RequestExplanation) -> KnowledgeScope:
        """Return the scope of *explanation*: an item matters if the request meets it."""
        texts = [text for step in explanation.all() for text in (step.what, step.result, step.detail)]
        has_user = probe.user is not None or explanation.status == 401
        items = [
            replace(item, matters=item.matters and (has_user or item.kind is not UnknownKind.MISSING))
            for item in self.scope.items
        ]
        if self._unmet is not None:
            unmet = self._unmet.of(items, explanation, has_user=has_user)
            items = [replace(item, matters=item.matters and item not in unmet) for item in items]
        host = probe.host.partition(":")[0].lower()
        items = [replace(item, matters=True) if _is_in_branch(item, host) else item for item in items]
        if any(item.consequence == OF_TYPES for item in items) and needs_types(explanation):
            items = [replace(item, matters=True) if item.consequence == OF_TYPES else item for item in items]
        for path, item in self._directories.items():
            is_met = any(path.rstrip("/") in text for text in texts)
            items.append(replace(item, matters=item.matters and is_met))
        for path, item in self._uncopied.items():
            if any(path.rstrip("/") in text for text in texts):
                items.append(item)
        for item in self._damaged:
            directory = os.path.dirname(item.place.path) if item.place is not None else ""
            if any(f"{directory}/" in text for text in texts):
                items.append(item)
        files = {line.place.path for step in explanation.all() for line in step.lines}
        met = {*texts, *files}
        if self.side.is_loaded:
            copies = [pair for pair in unwritten_copies(self.side.options) if pair[1] in met]
            items += [copy_item(self.side.loaded, *pair) for pair in copies]
        more = (*self._unknown_user(probe, explanation), *unknown_names(probe, explanation))
        return KnowledgeScope(self.scope.files_read, tuple(items)).with_items(more)

    def has_user(self, name: str) -> bool | None:
        """Return True if a password file of the configuration has the user, None if no such file is here."""
        if self._lines is None:
            return None
        texts = [f"\n{text}" for text, _, _ in password_files(self._lines)]
        entries = [found for found, _ in dbm_files(self._lines)]
        is_there = any(f"\n{name}:" in text for text in texts) or any(name in found for found in entries)
        return is_there if texts or entries else None

    def _unknown_user(self, probe: Probe, explanation: RequestExplanation) -> Iterator[UnknownItem]:
        """Yield an item for a user that no password file of the configuration has, and for a stored password
        whose check was not ended.
        """
        if self._lines is not None:
            yield from undecided_passwords(self._lines)
        if probe.user is None or not probe.user.is_assumed or self._lines is None:
            return
        admitting = [
            step for step in explanation.all() if step.what.startswith("provider ") and step.result == GRANTED
        ]
        if not admitting:
            return
        step = admitting[-1]
        is_in_file = probe.user.has_file_users and step.what.split()[1] in OF_FILES
        if not is_in_file and self.has_user(probe.user.name) is False:
            yield UnknownItem(
                UnknownKind.USERS_UNKNOWN,
                step.lines[-1].place if step.lines else None,
                f"no password file that is here has the user {probe.user.name}",
                "the user and its password were taken as valid",
            )


def _is_in_branch(item: UnknownItem, host: str) -> bool:
    """Return True for the item about a branch that is not read and that has the virtual host *host*."""
    condition, is_branch, names = item.subject.partition(NOT_TRUE)
    return bool(is_branch and condition and host) and host in names.lower().replace(",", " ").split()
