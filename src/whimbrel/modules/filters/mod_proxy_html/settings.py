"""Settings of mod_proxy_html, their setters and the table of directives."""

from __future__ import annotations

from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import lower, strtol
from whimbrel.base.regex import RegexError
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import getword
from whimbrel.engine.expressions import read_condition
from whimbrel.modules.filters.mod_proxy_html.url_map import UrlMap
from whimbrel.modules.support.setters import add_text, own, set_text
from whimbrel.registry.settings import UNSET, setting

_DTD: Final = "<!DOCTYPE html PUBLIC "
_HTML: Final = {
    False: f'{_DTD}"-//W3C//DTD HTML 4.01//EN">\n',
    True: f'{_DTD}"-//W3C//DTD HTML 4.01 Transitional//EN">\n',
}
_XHTML: Final = {
    False: f'{_DTD}"-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">\n',
    True: f'{_DTD}"-//W3C//DTD XHTML 1.0 Transitional//EN" '
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n',
}
_OLD_CONDITION: Final = compile(r"(!)?([A-Za-z0-9_]+)((=)(.+))?")
_RESET: Final = "reset"
_FIXUPS: Final = frozenset(("lowercase", "dospath", _RESET))


def _merge_switches(base: frozenset[str], over: frozenset[str]) -> frozenset[str]:
    """Add the switches of the inner section; ProxyHTMLFixups reset drops those of the outer one."""
    return over - {_RESET} if _RESET in over else base | over


def _merge_maps(base: list[UrlMap], over: list[UrlMap]) -> list[UrlMap]:
    """Join the maps of two sections as httpd does: in reverse order."""
    return [*base, *over][::-1]


@dataclass(slots=True)
class ProxyHtmlDirConfig:
    """Per-directory settings.

    Attributes:
        maps: ProxyHTMLURLMap.
        links: names of attributes with URLs by element; None without ProxyHTMLLinks.
        events: ProxyHTMLEvents.
        switches: the flags that are On ("enabled", "extended", "interp", "meta", "strip-comments") and the
            words of ProxyHTMLFixups. An inner Off does not undo an outer On.
        doctype: text before the document.
        enforced: "strict" or "legacy" if elements and attributes outside the document type are dropped, else
            "". Legacy keeps deprecated elements.
        is_xhtml: True if empty elements end in `` />``.
        charset_out: "" for UTF-8, "*" for the charset of the input.
    """

    maps: list[UrlMap] = setting(make=list, merge=_merge_maps)
    links: dict[str, list[str]] | None = setting(None)
    events: list[str] = setting(make=list)
    switches: frozenset[str] = setting(frozenset(), merge=_merge_switches)
    doctype: str = setting("")
    enforced: str = setting("")
    is_xhtml: bool = setting(False)
    charset_out: str = setting("")


def _switches(conf: ProxyHtmlDirConfig) -> frozenset[str]:
    return frozenset() if conf.switches is UNSET else conf.switches


def _switch(name: str) -> Setter:
    """Return the setter of a flag that is one of the switches."""

    def apply(_cmd: Command, conf: ProxyHtmlDirConfig, words: list[str]) -> None:
        rest = _switches(conf) - {name}
        conf.switches = rest | {name} if lower(words[0]) == "on" else rest

    return apply


def set_fixup(_cmd: Command, conf: ProxyHtmlDirConfig, words: list[str]) -> None:
    """Add a word of ProxyHTMLFixups; unknown words are ignored."""
    if words[0] in _FIXUPS:
        conf.switches = _switches(conf) | {words[0]}


def set_doctype(_cmd: Command, conf: ProxyHtmlDirConfig, words: list[str]) -> None:
    """Set the document type: HTML or XHTML, with Legacy, or any text and the dialect of its tags."""
    kind = lower(words[0])
    more = words[1] if len(words) > 1 else ""
    legacy = lower(more) == "legacy"
    if kind in ("html", "xhtml"):
        conf.doctype = (_XHTML if kind == "xhtml" else _HTML)[legacy]
        conf.enforced = "legacy" if legacy else "strict"
        xhtml = kind == "xhtml"
    else:
        conf.doctype = words[0]
        conf.enforced = ""
        xhtml = more[:1] in ("x", "X")
    conf.is_xhtml = xhtml or UNSET  # HTML is the default, which an outer XHTML overrides


def set_buffer_size(cmd: Command, _conf: ProxyHtmlDirConfig, words: list[str]) -> None:
    """Check the size of httpd's buffer, which has no effect here."""
    if strtol(words[0], 0)[1] or words[0] in ("+", "-"):
        raise ConfigError(f"Invalid value for directive {cmd.name}, expected integer")


def add_link(_cmd: Command, conf: ProxyHtmlDirConfig, words: list[str]) -> None:
    """Add an attribute of an element that holds URLs."""
    links = conf.links if isinstance(conf.links, dict) else {}
    conf.links = {**links, words[0]: [*links.get(words[0], ()), words[1]]}


def add_url_map(cmd: Command, conf: ProxyHtmlDirConfig, words: list[str]) -> None:
    """Add a map: from, to, flags, condition."""
    before, rest = getword(words[0])
    after, rest = getword(rest)
    flags, rest = getword(rest)
    text = getword(rest)[0] if flags else ""
    regex = None
    if "R" in flags and "v" not in flags:
        try:
            regex = cmd.regex(("(?m)" if "s" in flags else "") + before, ignore_case="i" in flags)
        except RegexError:
            flags += "hec"  # httpd starts, and ends its process when the map is used
    condition = None
    if text:
        try:
            condition = read_condition(cmd, _modern(text), "")
        except ConfigError as problem:
            raise ConfigError(str(problem.reason).removeprefix(": ")) from None
    conf.maps = [*own(conf, "maps", list), UrlMap(before, after, flags, regex, condition)]


def _modern(condition: str) -> str:
    """Return an old condition on a variable (``VAR=val``, ``!VAR``) as httpd rewrites it for ap_expr."""
    match = _OLD_CONDITION.fullmatch(condition)
    if match is None:
        return condition
    negation, name, _rest, equals, value = match.groups(default="")
    new = f"reqenv('{name}'){negation}{equals}'{value}'"
    return "!" + new[:-1] if negation and "=" not in condition else new


DIR_SETTERS: Final[dict[str, Setter]] = {
    "ProxyHTMLEvents": add_text("events"),
    "ProxyHTMLLinks": add_link,
    "ProxyHTMLURLMap": add_url_map,
    "ProxyHTMLDoctype": set_doctype,
    "ProxyHTMLFixups": set_fixup,
    "ProxyHTMLMeta": _switch("meta"),
    "ProxyHTMLInterp": _switch("interp"),
    "ProxyHTMLExtended": _switch("extended"),
    "ProxyHTMLStripComments": _switch("strip-comments"),
    "ProxyHTMLBufSize": set_buffer_size,
    "ProxyHTMLCharsetOut": set_text("charset_out"),
    "ProxyHTMLEnable": _switch("enabled"),
}
