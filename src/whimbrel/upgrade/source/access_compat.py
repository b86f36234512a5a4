"""mod_access_compat under 2.4: whether the text loads it, and what follows for Order and Allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import InputContext
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement

MODULE: Final = "access_compat_module"
TESTS: Final = ("mod_access_compat.c", MODULE)
"""The names of the module in <IfModule>."""
DIRECTIVES: Final = ("order", "allow", "deny", "satisfy")
"""The directives of 2.2 that 2.4 has in mod_access_compat alone."""
_OTHERS: Final = "files that no Include reads"
_NAMES: Final = "Order, Allow, Deny and Satisfy"


@dataclass(frozen=True, slots=True)
class AccessCompat:
    """The state of the module under 2.4.

    Attributes:
        is_loaded: True if a line loads it, False if none does, None if the text does not tell.
        place: the line that loads it, "" for none.
    """

    is_loaded: bool | None
    place: str = ""


def needs_access_compat(line: Statement) -> bool:
    """Return True if 2.4 reads a line of mod_access_compat without testing for the module."""
    return (
        line.name in DIRECTIVES
        and line.in_24 is not False
        and not any(
            section.name == "<ifmodule" and section.args.strip().strip('"').lower() in TESTS
            for section in line.enclosing()
        )
    )


def access_compat(tree: ConfigTree) -> AccessCompat:
    """Return the state of the module before the first edit: later rules load it where it is needed."""
    persistent = tree.cache.setdefault("persistent", {})
    assert isinstance(persistent, dict)
    found = persistent.get(MODULE)
    if not isinstance(found, AccessCompat):
        found = _of_text(tree)
        persistent[MODULE] = found
    return found


def _of_text(tree: ConfigTree) -> AccessCompat:
    lines = [line for line in tree.named("loadmodule", include_inactive=True) if line.in_24 is not False]
    loading = [line for line in lines if line.words()[:1] == [MODULE]]
    for line in loading:
        if line.in_24:
            return AccessCompat(True, str(line.place))
    if loading:
        return AccessCompat(None, str(loading[0].place))
    is_known = tree.context is InputContext.SERVER and tree.modules_unread is None
    return AccessCompat(False if lines and is_known else None)


def access_compat_sentence(tree: ConfigTree) -> str:
    """Return whether 2.4 has the module of Order and Allow, "" for a text without them."""
    needing = list(_needing(tree))
    # a file that no Include reads is part of another server, whose modules the text does not show
    has_others = tree.lone is not None and any(True for _ in _needing(tree.lone))
    if not needing:
        return f"mod_access_compat: not known whether 2.4 has it for {_OTHERS}" if has_others else ""
    sentence = _sentence(tree, access_compat(tree), needing)
    return f"{sentence}; not known for {_OTHERS}" if has_others else sentence


def _needing(tree: ConfigTree) -> Iterator[Statement]:
    """Yield the lines that need the module, in reading order: 2.4 ends at the first of them."""
    if any(True for _ in tree.named(*DIRECTIVES, include_inactive=True)):
        yield from filter(needs_access_compat, tree.all_statements())


def _sentence(tree: ConfigTree, state: AccessCompat, lines: list[Statement]) -> str:
    """Return what 2.4 does with *lines*, the first of each kind with its place."""
    if state.is_loaded:
        return f"mod_access_compat: the text loads it for 2.4 ({state.place}), which {_NAMES} need"
    first: dict[str, str] = {}
    for line in lines:
        place = f"{display_path(line.file.path, tree.top)}:{line.place.line} ({line.node.name})"
        is_htaccess = line.file.role is Role.HTACCESS
        first.setdefault(f"{line.file.refusal} {'where it reads' if is_htaccess else 'at'}", place)
    effect = " and ".join(f"{words} {first[words]}" for words in sorted(first, reverse=True))
    if state.is_loaded is False:
        return f"{_NAMES} need mod_access_compat, which no line loads: 2.4 {effect}"
    why = "no LoadModule line is here"
    if state.place:
        why = f"{state.place} loads it under a condition"
    elif tree.modules_unread is not None:
        why = "files with LoadModule lines were not read"
    return f"mod_access_compat: not known whether 2.4 has it ({why}); without it 2.4 {effect}"
