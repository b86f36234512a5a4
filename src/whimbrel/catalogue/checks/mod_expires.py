"""mod_expires' argument rules: the interval syntax of ExpiresDefault and ExpiresByType (manual, mod_expires.html#AltSyn)."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule

BASES = ("now", "access", "modification")
TYPES = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")


def _wrong(code: str) -> str | None:
    """What is wrong with an interval: A or M and seconds, or a base, "plus", and pairs of a number and a type."""
    if code[:1] in "AaMm" and code[1:2].isdigit() or code[:1] in ("A", "M") and not code[1:2].isalpha():
        return None
    base, *rest = code.split() or [""]
    if code[:1] in ("A", "M") and base.lower() not in BASES:
        return None if _short(base) else f"bad expires code, unrecognised <base> '{base}'"
    if not any(name.startswith(base.lower()) for name in BASES) or not base:
        return f"bad expires code, unrecognised <base> '{base}'"
    if rest and rest[0].lower() == "plus":
        rest = rest[1:]
    return _pairs(rest)


def _short(word: str) -> bool:
    """The short form with something else than digits, which counts as 0."""
    return len(word) > 1 and not any(name.startswith(word.lower()) for name in BASES)


def _pairs(words: list[str]) -> str | None:
    for number, kind in zip(words[::2], [*words[1::2], ""], strict=False):
        if not number[:1].isdigit():
            return f"bad expires code, numeric value expected <num> '{number}'"
        if not kind:
            return "bad expires code, missing <type>"
        if not any(name.startswith(kind.lower()[:len(name)]) for name in TYPES):
            return f"bad expires code, unrecognised <type>'{kind}'"
    return None


def _default(words: list[str], around: Around) -> str | None:
    wrong = _wrong(words[0])
    return wrong and f"'ExpiresDefault {words[0]}': {wrong}"


def _by_type(words: list[str], around: Around) -> str | None:
    if "/" not in words[0]:
        return "Invalid mimetype: should contain a slash"
    wrong = _wrong(words[1])
    return wrong and f"'ExpiresByType {words[0]} {words[1]}': {wrong}"


CHECKS: dict[str, Rule] = {"expiresdefault": _default, "expiresbytype": _by_type}
