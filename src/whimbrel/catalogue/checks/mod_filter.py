"""mod_filter's argument rules that need no knowledge of the filters."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule


def _by_type(words: list[str], around: Around) -> str | None:
    """A RAW_ARGS or TAKE_ARGV row that counts its words itself, without the help text."""
    return None if len(words) > 1 and words[1] else "AddOutputFilterByType requires at least two arguments"


def _provider(words: list[str], around: Around) -> str | None:
    """2.2 wants four words in one text: filter, provider, condition, match."""
    if around.version != "2.2":
        return None
    return None if _count(words[0]) == 4 else "usage: FilterProvider filter provider condition match"


def _count(text: str) -> int:
    count, text = 0, text.strip()
    while text:
        end = text.find('"', 1) + 1 if text[0] == '"' else len(text.split(None, 1)[0])
        count, text = count + 1, text[end or len(text):].strip()
    return count


CHECKS: dict[str, Rule] = {"addoutputfilterbytype": _by_type, "filterprovider": _provider}
