"""Answers for classes of names: the response to one name, if nothing in it is about that name alone."""

from __future__ import annotations

import os
from stat import S_IFREG
from time import time
from typing import Final

from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.raw_head import RawHead
from whimbrel.engine.deps.files import KIND, TickStatCache, stat_signature
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.request import Request
from whimbrel.engine.specialized.split_path import SplitPath
from whimbrel.engine.specialized.templates import (
    FileTemplate,
    PathTemplate,
    file_template,
    is_plain_path,
    page_template,
)
from whimbrel.http.semantics.conditional import CONDITIONS
from whimbrel.registry.module import PathRules, Reads

# fields that are compared with the file: the response to one file says nothing about others
_COMPARED: Final = CONDITIONS | {"range", "request-range"}
MIN_NAME: Final = 3  # bytes of a name that is in no response by chance
# marks in the text of an error-log line: the file's name with what follows it in the URL, alone; the URL's
# path
_MARKS: Final = ("\0w", "\0f", "\0p")


class ConstantAnswer:
    """One response for all names of a class; error-log lines with a name are written anew for each, and so is
    a page with the path (*page*).

    *dependencies* are the files that it depends on, beside the one that is named.
    """

    __slots__ = ("_events", "_page", "_response", "dependencies")

    def __init__(
        self, response: CachedResponse, events: tuple[LogLine, ...], page: PathTemplate | None = None
    ) -> None:
        self._response = response
        self.dependencies = response.validity.dependencies
        self._events = () if events == response.log.events else events
        self._page = page

    def respond(self, path: bytes, end: int, file: bytes) -> CachedResponse | None:
        """Return the response for the name that ends at *end* in the URL *path*, which is *file* in the file
        system; None if a page would have *path* in another form.
        """
        if self._page is not None:
            if is_plain_path(path) is None:
                return None
            entry = self._page.respond(path)
        elif self._events:
            entry = self._response.copy()
        else:
            return self._response
        if self._events:
            texts = _texts(path, end, to_text(file))
            events = [replace(event, text=_filled(event.text, texts)) for event in self._events]
            entry.log.events = tuple(events)
        entry.origin = self
        return entry


class FileAnswer:
    """The answer for files: for each a response with it, or one that is the same for all but for its log
    lines.

    *dependencies*: see `ConstantAnswer`.
    """

    __slots__ = ("_constant", "_template", "dependencies")

    def __init__(self, constant: ConstantAnswer | None, template: FileTemplate | None) -> None:
        self._constant = constant
        self._template = template
        self.dependencies = () if constant is None else constant.dependencies
        if template is not None:
            self.dependencies = template.sample.validity.dependencies

    def respond(
        self, path: bytes, end: int, file: bytes, info: os.stat_result, stats: TickStatCache
    ) -> CachedResponse | None:
        """Return the response for the regular file *file*, whose lstat is *info*; None if the general path
        has to answer. For the other parameters see `ConstantAnswer`.
        """
        if self._template is not None:
            return self._template.respond(file, info, time(), stats)
        if self._constant is None:
            return None
        page = self._constant.respond(path, end, file)
        if page is None:
            return None
        validity = page.validity
        own = stats.dependency(file, False, stat_signature(info))
        return page.copy(validity=validity.with_dependencies((*validity.dependencies, own)))


Answer = ConstantAnswer | FileAnswer


def answer_for(cached: CachedResponse, r: Request, file: bytes, split: SplitPath) -> Answer | None:
    """Return the answer for other names, from the response to that of *split*; None if it may be about this
    one alone.

    *cached* is the response to *r*; *file* is the path in the file system.
    """
    others = tuple([note for note in cached.validity.dependencies if note.path != file])
    own = [note for note in cached.validity.dependencies if note.path == file]
    start = len(file) - len(split.name)
    kind = None if r.finfo is None else S_IFREG
    if not own or any((note.known and note.known[3] & KIND) != kind for note in own):
        return None
    if any(split.name in note.path[start:] for note in others):
        return None
    answer = cached.copy(validity=cached.validity.with_dependencies(others))
    answer.log.head = RawHead(answer.log.own[0])
    answer.log.prepare()
    hooks = r.handled_by.compiled_hooks() if r.handled_by is not None else ()
    if any(hook.reads & Reads.PATH or hook.path_rules != PathRules() for hook in hooks):
        return None
    if r.finfo is not None and hooks:
        is_plain = r.head is not None and r.head.headers.has_none(_COMPARED)
        is_file = is_plain and r.status == 200 and not cached.log.events
        response = next((hook.file_response for hook in hooks if hook.file_response and is_file), None)
        template = None if response is None else file_template(answer, r, response)
        return None if template is None else FileAnswer(None, template)
    content = cached.template
    text = content.prefix + b"".join(content.texts) + content.body
    page = None
    if _is_named(text, split):
        page = page_template(answer, r, split.path)
        if page is None or _is_named(page.text, split):
            return None
    events = _marked(cached.log.events, split, to_text(file))
    if events is None:
        return None
    constant = ConstantAnswer(answer, events, page)
    return constant if r.finfo is None else FileAnswer(constant, None)


def _is_named(text: bytes, split: SplitPath) -> bool:
    """Return True if a response may contain the path or the name of its request."""
    return (
        len(split.path) <= MIN_NAME
        or split.path in text
        or (len(split.name) >= MIN_NAME and split.name in text)
    )


def _texts(path: bytes, end: int, file: str) -> tuple[str, str, str]:
    """Return the texts that `_MARKS` stand for."""
    return file + to_text(path[end:]), file, to_text(path)


def _marked(events: tuple[LogLine, ...], split: SplitPath, file: str) -> tuple[LogLine, ...] | None:
    """Return error-log lines with marks in the place of the name; None if it may be there in another form."""
    marked = []
    name = to_text(split.name)
    end = len(split.directory) + len(split.name)
    for event in events:
        text = event.text
        if "\0" in text:
            return None
        for part, mark in zip(_texts(split.path, end, file), _MARKS, strict=True):
            text = text.replace(part, mark)
        if (len(name) < MIN_NAME and text != event.text) or name in text or name in event.cause:
            return None
        if f"/{name}/" in file:
            return None  # the name of a directory above, too
        marked.append(replace(event, text=text))
    return tuple(marked)


def _filled(text: str, texts: tuple[str, str, str]) -> str:
    for part, mark in zip(texts, _MARKS, strict=True):
        text = text.replace(mark, part)
    return text
