"""The document that httpd writes for the events of libxml2's HTML parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from whimbrel.modules.filters.mod_proxy_html.elements import EMPTY, elements
from whimbrel.modules.filters.mod_proxy_html.markup import unmarked
from whimbrel.modules.filters.mod_proxy_html.settings import ProxyHtmlDirConfig
from whimbrel.modules.filters.mod_proxy_html.url_map import Rewriter

MAX_HELD: Final = 256 * 1024  # characters of a script that are searched as a whole; httpd has no bound
# elements whose contents the parser reports as they are: up to libxml2 2.13 (and httpd), from 2.14 on
RAW: Final = frozenset(("script", "style"))
RAW_HTML5: Final = RAW | {"xmp", "iframe", "noembed", "noframes", "plaintext"}
_UPPER: Final = {code: code + 32 for code in range(65, 91)}

Log = Callable[[str, str], None]  # code, text


def escape(text: str) -> str:
    """Return *text* as httpd escapes characters and attribute values."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text:
        text = text.replace("<", "&lt;")
    if ">" in text:
        text = text.replace(">", "&gt;")
    return text.replace('"', "&quot;") if '"' in text else text


def _bytewise(change: Callable[[str], str], text: str) -> str:
    """Apply *change*, which works on one character per byte, to *text*."""
    if text.isascii():
        return change(text)
    return change(text.encode().decode("latin-1")).encode("latin-1", "replace").decode("utf-8", "replace")


class Writer:
    """A parser target: collects the output.

    *raw* are the elements whose contents are reported as they are; *log* writes a debug line.
    """

    def __init__(self, conf: ProxyHtmlDirConfig, rewriter: Rewriter, raw: frozenset[str], log: Log) -> None:
        self._links = conf.links or {}
        self._events = frozenset(conf.events)
        self._rewriter = rewriter
        self._raw = raw
        self._log = log
        self._elements = elements() if conf.enforced else None
        self._is_legacy = conf.enforced == "legacy"
        self._empty_end = " />" if conf.is_xhtml else ">"
        switches = conf.switches
        self._extended = "extended" in switches
        self._strips = "strip-comments" in switches
        self._lower = "lowercase" in switches
        self._dospath = "dospath" in switches
        self._out: list[str] = [conf.doctype]
        self._held: list[str] = []  # contents that wait for an end tag (ProxyHTMLExtended)
        self._held_size = 0
        self.is_raw = False
        self.open: list[str] = []  # elements without end tag so far
        self.ended = ""  # name of the last end tag since it was cleared
        self._muted: list[str] | None = None

    def muted(self, work: Callable[[], None]) -> list[str]:
        """Return the tags that the parser reports while *work* runs; they change nothing here."""
        names: list[str] = []
        self._muted = names
        try:
            work()
        finally:
            self._muted = None
        return names

    def take(self) -> bytes:
        """Return the output since the last call."""
        out = "".join(self._out)
        self._out.clear()
        return out.encode("utf-8", "replace")

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Write a start tag."""
        if self._muted is not None:
            self._muted.append(name)
            return
        self.open.append(name)
        self.is_raw = name in self._raw
        if self._elements is not None:
            allowed = self._allowed(name, attributes)
            if allowed is None:
                return
            attributes = allowed
        out = self._out
        out.append(f"<{name}")
        if attributes:
            links = self._links.get(name, ())
            for key, value in attributes.items():
                if not value:
                    out.append(f" {key}")
                    continue
                value = unmarked(value)
                out.append(f' {key}="{escape(self._value(key, value, links))}"')
        if self._held:
            self._drop_held()
        out.append(self._empty_end if name in EMPTY else ">")

    def _value(self, key: str, value: str, links: list[str] | tuple[str, ...]) -> str:
        if key in links:
            value = _bytewise(self._rewriter.link, value)
        elif self._extended and key in self._events:
            value = _bytewise(self._rewriter.event, value)
        if self._lower:
            value = value.translate(_UPPER)
        return value.replace("\\", "/") if self._dospath else value

    def _allowed(self, name: str, attributes: Mapping[str, str]) -> dict[str, str] | None:
        """Return the attributes that the document type allows; None if the element is none of it."""
        assert self._elements is not None
        element = self._elements.get(name)
        if element is None or (element.is_deprecated and not self._is_legacy):
            if self._is_legacy:  # httpd's words for an element that it does not know
                self._log("AH01417", f"Deprecated HTML element {name} dropped")
            else:
                self._log("AH01416", f"Bogus HTML element {name} dropped")
            return None
        allowed = {}
        missing = len(element.required)
        for key, value in attributes.items():
            if key in element.required:
                missing -= 1
            elif key not in element.optional:
                if self._is_legacy and key in element.deprecated:
                    self._log("AH01419", f"Deprecated HTML attribute {key} of {name} dropped")
                else:
                    self._log("AH01418", f"Bogus HTML attribute {key} of {name} dropped")
                continue
            allowed[key] = value
        if missing:
            self._log("AH01420", f"HTML element {name} is missing {missing} required attributes")
        return allowed

    def end(self, name: str) -> None:
        """Write an end tag, behind the contents that wait for one."""
        if self._muted is not None:
            self._muted.append(f"/{name}")
            return
        if self.open:
            self.open.pop()
        self.ended = name
        self.is_raw = False
        if self._elements is not None:
            element = self._elements.get(name)
            if element is None or (element.is_deprecated and not self._is_legacy):
                return
        if self._held:
            self._flush_held()
        if name not in EMPTY:
            self._out.append(f"</{name}>")

    def data(self, text: str) -> None:
        """Write characters, or the contents of a script."""
        text = unmarked(text)
        if not self.is_raw:
            self._out.append(escape(text))
        elif self._extended:
            self._hold(text)
        else:
            self._out.append(text)

    def comment(self, text: str) -> None:
        """Write a comment."""
        if self._strips:
            return
        text = f"<!--{unmarked(text)}-->"
        if self._extended:
            self._hold(text)
        else:
            self._out.append(text)

    def doctype(self, *_names: str | None) -> None:
        """Drop the document type, so that the parser keeps blanks in the body, as httpd's does."""

    def close(self) -> None:
        """End the document; contents that wait are lost, as in httpd."""
        if self._muted is None:
            self._drop_held()

    def _hold(self, text: str) -> None:
        self._held.append(text)
        self._held_size += len(text)
        if self._held_size > MAX_HELD:
            self._flush_held()

    def _flush_held(self) -> None:
        text = "".join(self._held)
        self._drop_held()
        self._out.append(_bytewise(self._rewriter.script, text.partition("\0")[0]))

    def _drop_held(self) -> None:
        self._held.clear()
        self._held_size = 0
