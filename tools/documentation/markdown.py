"""Markdown as GitHub reads it, rewritten for the site's reader (Python-Markdown), with links between pages.

Python-Markdown has HTML in texts, wants a blank line before a list and a title in quotes behind the language
of a block, and keeps the backslash of `\\|` in code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Final

FENCE: Final = re.compile(r"^(`{3,})([\w-]*)[ \t]*(.*)$")
ITEM: Final = re.compile(r"^(?:[*-]|\d+\.) ")
CODE: Final = re.compile(r"(`+[^`]+`+)")
LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
MENTION: Final = re.compile(r"(?<![\w/\[])(?<!\]\()(docs/[\w-]+\.md)\b")
"""A document that a text names by its path in the repository."""
TAG: Final = re.compile(r"<(?!https?://)")
ABSOLUTE: Final = re.compile(r"[a-z]+:|#")
LANGUAGES: Final = {"htaccess": "apache", "findings": "text", "options": "text"}
"""Languages of blocks that the highlighter knows by another name."""
MORE: Final = {"console": "{ .console .no-copy }"}
"""Languages with attributes: what is behind a prompt is not copied with it."""

Link = Callable[[str, str], tuple[str, str]]
"""Text and target of a relative link -> those on the site."""


def escaped(text: str) -> str:
    """Return a line of text in which HTML is text; code stays as it is, with its vertical bars."""
    parts = CODE.split(text)
    parts[::2] = [TAG.sub("&lt;", part) for part in parts[::2]]
    if text.startswith("|"):
        parts[1::2] = [part.replace("\\|", "|") for part in parts[1::2]]
    return "".join(parts)


def fenced(text: str, language: str = "text", title: str = "") -> str:
    """Return a block of code."""
    marks = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
    head = marks + LANGUAGES.get(language, language) + (f' title="{title}"' if title else "")
    return f"{head}\n{text.rstrip()}\n{marks}\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def same(label: str, target: str) -> tuple[str, str]:
    """Leave a link as it is."""
    return label, target


def converted(text: str, link: Link = same) -> str:
    """Return a document for the site."""
    lines: list[str] = []
    closing = ""
    is_list = False
    for line in text.splitlines():
        fence = FENCE.match(line)
        if closing:
            closing = "" if line == closing else closing
            lines.append(line)
        elif fence is not None:
            closing = fence[1]
            title = fence[3] if fence[2] not in MORE else ""
            if title and not title.startswith("title="):
                title = f'title="{title}"'
            language = LANGUAGES.get(fence[2], fence[2] or "text")
            lines += ["", f"{closing}{MORE.get(language, language)} {title}".rstrip()]
        elif line.startswith("    ") and not is_list:
            lines.append(line)
        else:
            if ITEM.match(line) and not is_list:
                lines.append("")
            is_list = bool(ITEM.match(line)) or (is_list and bool(line))
            lines.append(_linked(_mentions(escaped(line)), link))
    return "\n".join(lines) + "\n"


def _mentions(line: str) -> str:
    """Return a line in which a document that is named outside of code is a link from the top."""
    parts = CODE.split(line)
    parts[::2] = [MENTION.sub(r"[/\1](/\1)", part) for part in parts[::2]]
    return "".join(parts)


def _linked(line: str, link: Link) -> str:
    """Return a line with its relative links led to pages of the site."""

    def replaced(found: re.Match[str]) -> str:
        if ABSOLUTE.match(found[3]):
            return found[0]
        label, target = link(found[2], found[3])
        return f"{found[1]}[{label}]({target})"

    return LINK.sub(replaced, line)


class Places:
    """Where a file of the repository is on the site.

    *pages* has the page of a file by the path in the repository; links to other files lead to *repository*.
    *title* returns the heading of a file.
    """

    def __init__(
        self, root: str, pages: dict[str, str], repository: str, title: Callable[[str], str]
    ) -> None:
        self._root = root
        self._pages = pages
        self._repository = repository
        self._title = title

    def links(self, source: str) -> Link:
        """Return the links of the page of *source*; a text that names a document becomes its title."""

        def link(label: str, target: str) -> tuple[str, str]:
            place = self._target(source, target)
            if label == target and target.endswith(".md"):
                label = self._title(_path(source, target))
            return label, place

        return link

    def _target(self, source: str, target: str) -> str:
        """Return the link on the page of *source* to *target*; ValueError if no such file exists."""
        name, mark, anchor = target.partition("#")
        path = _path(source, name)
        if not os.path.exists(os.path.join(self._root, path)):
            raise ValueError(f"{source}: no file for the link {target}")
        page = self._pages.get(path)
        if page is None:
            return f"{self._repository}/blob/main/{path}"
        return os.path.relpath(page, os.path.dirname(self._pages[source]) or ".") + mark + anchor


def _path(source: str, target: str) -> str:
    """Return the path in the repository of the target of a link; ``/`` is the top of the repository."""
    return os.path.normpath(os.path.join("/", os.path.dirname(source), target)).lstrip("/")
