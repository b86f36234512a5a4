"""Edits in memory: the texts of files that differ from those on disk, with the way back.

They reach every loader as `LoadOptions.overlay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.studio.documents import Refused, bytes_like

MAX_EDITED_FILE: Final = 4 << 20
"""Bytes of a file that can be edited."""
MAX_EDITED: Final = 32 << 20
"""Bytes of all edited texts, those of `undo` included; the oldest steps are dropped first."""
MAX_STEPS: Final = 200
"""Steps that `undo` takes back."""
MAX_LINES: Final = 1000
"""Lines that one edit writes."""


@dataclass(frozen=True, slots=True)
class EditedText:
    """One file: the bytes that were read from disk, and those that stand in their place."""

    disk: bytes
    text: bytes


@dataclass(frozen=True, slots=True)
class EditState:
    """The texts between two edits.

    Attributes:
        accepted: the changes of the upgrade that made them of the texts *base*; () after other edits.
    """

    files: Mapping[str, EditedText]
    base: Mapping[str, EditedText]
    accepted: tuple[AcceptedChange, ...] = ()


AcceptedChange = tuple[str, str, int]
"""Rule, path and line of a finding."""
_EMPTY: Final = EditState({}, {})


class EditOverlay:
    """The edited files by path, one version for each change.

    Attributes:
        version: changes with each edit, undo and redo; it never returns.
    """

    def __init__(self) -> None:
        self.version = 0
        self.state = _EMPTY
        self._group = ""
        self._before: list[EditState] = []
        self._after: list[EditState] = []

    @property
    def files(self) -> Mapping[str, EditedText]:
        return self.state.files

    @property
    def texts(self) -> dict[str, bytes]:
        """Return the new texts by path."""
        return {path: edited.text for path, edited in self.files.items()}

    @property
    def steps(self) -> tuple[int, int]:
        """Return how many steps can be taken back, and how many forward again."""
        return len(self._before), len(self._after)

    def put(self, texts: Mapping[str, EditedText], group: str = "") -> None:
        """Set the texts of files; raises Refused for more than the bounds.

        Edits of one *group* that follow each other, such as keystrokes in a line, are one step.
        """
        files = {**self.files, **texts}
        self._put(files, None, (), is_same_step=bool(group) and group == self._group)
        self._group = group

    def accept(self, texts: Mapping[str, EditedText], accepted: tuple[AcceptedChange, ...]) -> None:
        """Set the texts that *accepted* changes make of `base`; raises Refused for more than the bounds."""
        base = self.base
        self._put({**base, **texts}, base, accepted)

    @property
    def base(self) -> Mapping[str, EditedText]:
        """The texts that further changes of the upgrade are made of."""
        return self.state.base if self.state.accepted else self.state.files

    def _put(
        self,
        files: Mapping[str, EditedText],
        base: Mapping[str, EditedText] | None,
        accepted: tuple[AcceptedChange, ...],
        *,
        is_same_step: bool = False,
    ) -> None:
        files = {path: edited for path, edited in files.items() if edited.text != edited.disk}
        if any(len(edited.text) > MAX_EDITED_FILE for edited in files.values()):
            raise Refused(f"a file of more than {MAX_EDITED_FILE >> 20} MB cannot be edited here", 413)
        if _size(files) > MAX_EDITED:
            raise Refused(f"the edited files have more than {MAX_EDITED >> 20} MB: write them first", 413)
        if not is_same_step:
            self._before.append(self.state)
        self._after.clear()
        self._replace(EditState(files, files if base is None else base, accepted))
        while len(self._before) > MAX_STEPS or sum(_size(one.files) for one in self._before) > MAX_EDITED:
            del self._before[0]

    def undo(self) -> None:
        """Take the last edit back, if there is one."""
        if self._before:
            self._after.append(self.state)
            self._replace(self._before.pop())

    def redo(self) -> None:
        """Make the edit that was taken back."""
        if self._after:
            self._before.append(self.state)
            self._replace(self._after.pop())

    def clear(self) -> None:
        """Forget all edits, for they are on disk."""
        self._before.clear()
        self._after.clear()
        self._replace(_EMPTY)

    def _replace(self, state: EditState) -> None:
        self._group = ""
        self.state = state
        self.version += 1


def _size(files: Mapping[str, EditedText]) -> int:
    return sum(len(edited.text) + len(edited.disk) for edited in files.values())


def with_lines(data: bytes, first: int, count: int, lines: list[str]) -> bytes:
    """Return *data* with *lines* in the place of *count* lines from *first* on, counted from 1.

    Line ends are those of the file. Raises Refused.
    """
    old = data.split(b"\n")
    has_last_end = old[-1] == b"" and len(old) > 1
    if has_last_end:
        del old[-1]
    if not 1 <= first <= len(old) + 1 or first - 1 + count > len(old):
        raise Refused("the file has no such line: it has changed meanwhile", 409)
    parts = "\n".join(lines).replace("\r", "").split("\n") if lines else []
    if len(parts) > MAX_LINES:
        raise Refused(f"one edit writes at most {MAX_LINES:,} lines", 413)
    if b"\0" in data or any("\0" in part for part in parts):
        raise Refused("a binary file cannot be edited here")
    end = b"\r" if data.count(b"\r\n") * 2 > data.count(b"\n") else b""
    new = [line + end for line in bytes_like("\n".join(parts), data).split(b"\n")] if parts else []
    merged = [*old[: first - 1], *new, *old[first - 1 + count :]]
    return b"\n".join(merged) + (b"\n" if has_last_end or not data else b"")
