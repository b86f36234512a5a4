"""Check built pages: they load nothing from other hosts, and every local link leads to a page and a place.

Usage: python -m tools.documentation.check_site DIRECTORY; exit code 1 and a line for each fault. Links of a
text to other hosts are allowed: nothing is loaded before a reader follows one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

LOADED: Final = {
    "audio": "src",
    "embed": "src",
    "form": "action",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "input": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "use": "href",
    "video": "src",
}
"""Element -> its attribute whose target a browser loads or sends to."""
OF_STYLE: Final = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
LAZY: Final = ("arithmatex", "glightbox", "mermaid", "pyodide")
"""Classes for which the theme's program fetches a library from another host."""


class Page(HTMLParser):
    """Targets and places of one page.

    Attributes:
        loaded: targets that a browser loads.
        linked: targets of links.
        anchors: names of places.
        lazy: elements for which a program would be loaded.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.anchors: set[str] = set()
        self.lazy: list[str] = []
        self._is_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._is_style = tag == "style"
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        self.lazy += [name for name in LAZY if name in values.get("class", "").split()]
        self.loaded += style_targets(values.get("style", ""))
        self.loaded += [part.split()[0] for part in values.get("srcset", "").split(",") if part.strip()]
        target = values.get(LOADED.get(tag, ""))
        if target:
            self.loaded.append(target)
        if tag == "a" and values.get("href"):
            self.linked.append(values["href"])

    def handle_data(self, data: str) -> None:
        if self._is_style:
            self.loaded += style_targets(data)
            self._is_style = False


def style_targets(text: str) -> list[str]:
    """Return what a style sheet loads."""
    return [found[1] or found[2] for found in OF_STYLE.finditer(text)]


def faults(site: Path) -> Iterator[str]:
    """Yield a line for each fault of the pages, style sheets and drawings below *site*."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name}: {target} is loaded from another host" for target in foreign(page.loaded))
        yield from (f"{name}: an element of class {kind} loads a program" for kind in page.lazy)
        if path.name != "404.html":  # its links begin at the root of a host
            for target in page.loaded + page.linked:
                yield from (f"{name}: {fault}" for fault in _local_fault(path, target, pages))
    for path in sorted((*site.rglob("*.css"), *site.rglob("*.svg"))):
        text = path.read_text(encoding="utf-8")
        targets = style_targets(text) + (Page(text).loaded if path.suffix == ".svg" else [])
        for target in foreign(targets):
            yield f"{path.relative_to(site)}: {target} is loaded from another host"


def foreign(targets: list[str]) -> list[str]:
    """Return the targets that have a host."""
    return [target for target in targets if urlsplit(target).netloc]


def _local_fault(path: Path, target: str, pages: dict[Path, Page]) -> Iterator[str]:
    """Yield the fault of a target without a host."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    file = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if not file.is_file():
        yield f"there is no file for {target}"
    elif file in pages and parts.fragment and unquote(parts.fragment) not in pages[file].anchors:
        yield f"there is no place {target}"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1]).resolve()))
    print("\n".join(found[:100]), file=sys.stderr)
    sys.exit(1 if found else 0)
