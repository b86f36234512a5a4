"""Links of pages and style sheets, and the crawl that follows them."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import lxml.html
from lxml.etree import ParserError

from tests.crawl.replies import Reply

ORIGIN = "http://localhost"
_STYLE_URL = re.compile(r"""(?:url\(|@import\s+)["']?([^"')\s]+)""")


@dataclass(frozen=True)
class Page:
    """A target with its response to a plain GET: what the variants are made of."""

    target: str
    reply: Reply


def links(target: str, reply: Reply) -> Iterator[str]:
    """Yield the targets on the same host that *reply* refers to, without fragments."""
    found = [reply.value("location")] if reply.value("location") else []
    kind = reply.value("content-type")
    if kind.startswith(("text/html", "application/xhtml+xml")):
        try:
            found += [link for _, _, link, _ in lxml.html.fromstring(reply.decoded()).iterlinks()]
        except (ParserError, ValueError):
            pass
    elif kind.startswith("text/css"):
        found += _STYLE_URL.findall(reply.decoded().decode("latin-1"))
    for link in found:
        try:
            url = urlsplit(urljoin(ORIGIN + target, link.strip()))
        except ValueError:
            continue
        if url.scheme == "http" and url.hostname == "localhost":
            path = (url.path or "/") + (f"?{url.query}" if url.query else "")
            yield "".join(c if "!" <= c <= "~" else "".join(f"%{b:02X}" for b in c.encode()) for c in path)


def crawl(
    entries: tuple[str, ...],
    wanted: Callable[[str], bool],
    fetch: Callable[[str], Reply],
    limit: int,
    chance: random.Random,
) -> Iterator[Page]:
    """Yield up to *limit* pages, breadth first from *entries*, the links of a page in random order."""
    queue, seen = deque(entries), set(entries)
    while queue and limit:
        target = queue.popleft()
        reply = fetch(target)
        yield Page(target, reply)
        limit -= 1
        new = sorted({link for link in links(target, reply) if wanted(link)} - seen)
        chance.shuffle(new)
        seen.update(new)
        queue.extend(new)
