"""URL maps: their flags, interpolation, and what they replace in links, events and scripts.

All text has one character per byte. Where httpd computes positions before it moves bytes, this file does the
same: the results of ProxyHTMLURLMap under ProxyHTMLExtended depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.numbers import lower
from whimbrel.base.regex import Regex, RegexError, compile_regex
from whimbrel.engine.expressions import evaluate
from whimbrel.expr.errors import EvalError
from whimbrel.modules.support.substitution import Substitution

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.expr.api import CompiledCondition

MAX_INTERPOLATIONS: Final = 64  # variables in one pattern; httpd has no bound and may loop


@dataclass(frozen=True, slots=True)
class UrlMap:
    """One ProxyHTMLURLMap.

    Attributes:
        flags: letters as written; ``h``, ``e`` and ``c`` exclude links, events and scripts.
        regex: the compiled pattern under the flag R, unless it is interpolated (flag v).
    """

    before: str
    after: str
    flags: str = ""
    regex: Regex | None = None
    condition: CompiledCondition | None = None


def active_maps(r: Request, maps: list[UrlMap]) -> list[UrlMap]:
    """Return the maps whose conditions hold, with their variables replaced (ProxyHTMLInterp)."""
    return [active for each in maps if (active := _interpolated(r, each)) is not None]


def _interpolated(r: Request, each: UrlMap) -> UrlMap | None:
    if each.condition is not None:
        try:
            if not evaluate(r, each.condition, "proxy_html"):
                return None
        except EvalError as problem:
            text = f"Error evaluating expr: {problem.reason}"
            r.log("error", text, code="AH01421", module="proxy_html")
            return None
    if "v" in each.flags:
        before = _interpolate(r, each.before)
        if not before:
            return None
        each = replace(each, before=before, regex=_compiled(before, each.flags))
        if "R" in each.flags and each.regex is None:
            return None
    if "V" in each.flags:
        each = replace(each, after=_interpolate(r, each.after))
    return each


def _compiled(pattern: str, flags: str) -> Regex | None:
    if "R" not in flags:
        return None
    try:
        return compile_regex(("(?m)" if "s" in flags else "") + pattern, ignore_case="i" in flags)
    except RegexError:
        return None


def _interpolate(r: Request, text: str) -> str:
    """Replace ``${VAR}`` and ``${VAR|default}`` by variables of the request."""
    for _ in range(MAX_INTERPOLATIONS):
        start = text.find("${")
        end = text.find("}", start + 2) if start >= 0 else -1
        if end < 0:
            break
        bar = text.find("|", start)
        name = text[start + 2 : bar if bar >= 0 else end]
        value = r.env.get(name)
        if value is None:
            value = text[bar + 1 : end] if bar >= 0 else ""
        r.log("trace1", f"Interpolating {name}  =>  {value}", module="proxy_html")
        text = text[:start] + value + text[end + 1 :]
    return text


class Rewriter:
    """The maps of one request, sorted by what they apply to."""

    __slots__ = ("_events", "_links", "_scripts")

    def __init__(self, maps: list[UrlMap]) -> None:
        rules = [_Rule(each) for each in maps]
        self._links = [each for each in rules if "h" not in each.flags]
        self._events = [each for each in rules if "e" not in each.flags]
        self._scripts = [each for each in rules if "c" not in each.flags]

    def link(self, text: str) -> str:
        """Return a URL after the first map that matches; the flag l goes on after it."""
        matched = False
        for rule in self._links:
            if rule.regex is not None:
                match = rule.regex.search(text)
                if match is not None:
                    matched = True
                    text = text[: match.start()] + rule.to.apply(match) + text[match.end() :]
            elif lower(text[: len(rule.before)]) == rule.lower:
                return rule.after + text[len(rule.before) :]
            if matched and "l" not in rule.flags:
                break
        return text

    def event(self, text: str) -> str:
        """Return a script of an attribute after all maps, or up to one with the flag L that matches."""
        for rule in self._events:
            replace_all = _replace_event if rule.regex is None else _replace_regex
            changed, text = replace_all(rule, text)
            if changed and "L" in rule.flags:
                break
        return text

    def script(self, text: str) -> str:
        """Return the contents of an element after all maps."""
        for rule in self._scripts:
            text = _replace_regex(rule, text)[1] if rule.regex is not None else _replace_script(rule, text)
        return text


class _Rule:
    """A map with what its use needs."""

    __slots__ = ("after", "before", "flags", "lower", "regex", "to")

    def __init__(self, each: UrlMap) -> None:
        self.before = each.before
        self.after = each.after
        self.flags = each.flags
        self.regex = each.regex
        self.lower = lower(each.before)
        self.to = Substitution(each.after)


def _replace_regex(rule: _Rule, text: str) -> tuple[bool, str]:
    """Replace all matches; each search begins a new subject, so that ``^`` matches behind each match."""
    assert rule.regex is not None
    out: list[str] = []
    changed = False
    while (match := rule.regex.search(text)) is not None:
        changed = True
        out += (text[: match.start()], rule.to.apply(match))
        if match.end() == match.start():  # httpd never ends here
            out.append(text[match.end() : match.end() + 1])
            text = text[match.end() + 1 :]
            if not text:
                break
        else:
            text = text[match.end() :]
    return changed, "".join((*out, text))


def _replace_event(rule: _Rule, text: str) -> tuple[bool, str]:
    """Replace in an event: the next position is searched for in the text before the replacement."""
    old = rule.before
    new = rule.after
    at_end = "$" in rule.flags
    found = text.find(old)
    if "^" in rule.flags and found != 0:
        return False, text
    changed = False
    while 0 <= found <= len(text):
        at = found
        if at_end and len(old) < len(text) - at:
            found = text.find(old, at + len(old)) if old else -1
            continue
        start = at + len(new)
        found = text.find(old, start) if start <= len(text) and (old or new) else -1
        text, changed = text[:at] + new + text[at + len(old) :], True
        if not old:
            break  # httpd never ends here
    return changed, text


def _replace_script(rule: _Rule, text: str) -> str:
    """Replace in the contents of an element."""
    old = rule.before
    new = rule.after
    flags = rule.flags
    if not old:
        return text
    if not flags or not ("^" in flags or "$" in flags):
        return text.replace(old, new)
    found = text.find(old)
    while found >= 0:
        if "^" in flags and found != 0:
            break
        if not ("$" in flags and found < len(text) - len(old)):
            text = text[:found] + new + text[found + len(old) :]
        elif not new:
            break  # httpd never ends here
        found = text.find(old, found + len(new))
    return text
