"""mod_expires' argument rules: the interval syntax of ExpiresDefault and ExpiresByType (manual, mod_expires.html#AltSyn)."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule

TYPES = ("y", "mo", "w", "d", "h", "mi", "s")


def _wrong(code: str) -> str | None:
    """What is wrong with an interval: A or M and seconds, or a base, "plus", and pairs of a number and a type.

    httpd looks at no more than the first letter of base and "plus", and at what tells the types apart.
    """
    if code[:1] in ("A", "M") and not code[1:].lstrip().startswith("p") and not code[1:2].isalpha():
        return None
    base, *rest = code.split() or [""]
    if base[:1].lower() not in ("n", "a", "m"):
        return f"bad expires code, unrecognised <base> '{base}'"
    if base[:1] in ("A", "M") and base.lower() not in ("access", "modification"):
        return None
    if rest and rest[0][:1].lower() == "p":
        rest = rest[1:]
    for number, kind in zip(rest[::2], [*rest[1::2], ""], strict=False):
        if not number[:1].isdigit():
            return f"bad expires code, numeric value expected <num> '{number}'"
        if not kind:
            return "bad expires code, missing <type>"
        if not kind.lower().startswith(TYPES):
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
