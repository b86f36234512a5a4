"""mod_charset_lite's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import CheckContext, Rule

OPTIONS = ("implicitadd", "noimplicitadd", "translateallmimetypes", "notranslateallmimetypes")


def _option(words: list[str], around: CheckContext) -> str | None:
    word = words[0].lower()
    good = word in OPTIONS or (around.version == "2.2" and word.startswith("debuglevel="))
    return None if good else f"Invalid CharsetOptions option: {words[0]}"


CHECKS: dict[str, Rule] = {"charsetoptions": _option}
