"""mod_vhost_alias' argument rules (manual, mod_vhost_alias.html#interpol)."""

from __future__ import annotations

import re

from whimbrel.catalogue.checks.rules import Around, Rule

_PIECE = re.compile(r"%(?:%|p|-?[0-9]+\+?(?:\.-?[0-9]+\+?)?)")
_PART = re.compile(r"%-?[0-9]\+?(?:\.(?!-?[0-9]))")


def _format(words: list[str], around: Around) -> str | None:
    """An absolute path with %%, %p, %N and %N.M, where N and M are parts counted from either end."""
    text = words[0]
    if text.lower() == "none":
        return None
    if not text.startswith("/"):
        return "format string must be an absolute path, or 'none'"
    return "syntax error in format string" if "%" in _PIECE.sub("", text) or _PART.search(text) else None


CHECKS: dict[str, Rule] = dict.fromkeys(("virtualdocumentroot", "virtualdocumentrootip", "virtualscriptalias", "virtualscriptaliasip"), _format)
