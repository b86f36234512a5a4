"""Answers for the names in known directories.

A request path is split into the deepest known directory and the first name below it. A function of that
directory classifies the name; a stat of the file then selects the answer. Manual: none, as httpd has no
counterpart.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from errno import ENOENT
from stat import S_IFREG
from typing import Final, NamedTuple

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.deps.files import KIND, TickStatCache, unchanged
from whimbrel.engine.deps.key_spec import Key, KeySpec
from whimbrel.engine.deps.listings import DirectoryListing, DirectoryListings
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.request import Request
from whimbrel.engine.specialized.answers import ConstantAnswer, FileAnswer, answer_for
from whimbrel.engine.specialized.rules import Classify, classifier
from whimbrel.engine.specialized.split_path import (
    MAX_NAME,
    MAX_PATH,
    NAME_FORM,
    PREFIX_FORM,
    SplitPath,
    split_path,
)
from whimbrel.http.syntax.head_shape import Pieces, SplitHead, line_of

MAX_DIRECTORIES: Final = 1024
MAX_PREFIXES: Final = 128  # beginnings of request lines, and the bytes of one
MAX_PREFIX: Final = 256
MAX_FUNCTIONS: Final = 1024  # of one directory: combinations of hosts and of fields that matter
MAX_ANSWERS: Final = 32  # of one function: classes of names
MAX_CLASSIFIERS: Final = 16  # of one directory: settings
FUNCTION_WEIGHT: Final = 1024  # approximate bytes of a directory, of a function
MAX_HEAD: Final = 8192  # bytes of a head from which something is learned: answers and keys have parts of it
MAX_ATTEMPTS: Final = 64  # requests of one directory from which nothing was learned
NOTHING: Final = (None, None)
# for names that do not exist, for regular files
Answers = tuple[ConstantAnswer | None, FileAnswer | None]


class DirectoryFunction:
    """The answers for the names in one directory, for requests with the same relevant fields.

    Attributes:
        directory: its path in the file system, with the last slash; `listing`: the names in it.
        plan: the settings that apply to it; `classify`: what these read of names (`rules.NameRules`).
        answers: by what follows the name and the class of the name: one for names that do not exist, one for
            files.
    """

    __slots__ = ("answers", "classify", "directory", "listing", "plan")

    def __init__(self, directory: bytes, listing: DirectoryListing, plan: Plan, classify: Classify) -> None:
        self.directory = directory
        self.listing = listing
        self.plan = plan
        self.classify = classify
        self.answers: dict[tuple[int, Hashable], Answers] = {}

    def respond(
        self, path: bytes, name: bytes, end: int, rest: int, tick: int | None, stats: TickStatCache
    ) -> tuple[CachedResponse, bool, bytes] | None:
        """Return the answer for *name*, which ends at *end* in the URL *path*; True if it was made for this
        name alone; and the path of a file on whose absence it depends, b"" for none.

        For *rest* see `SplitPath`.
        """
        missing, found = self.answers.get((rest, self.classify(path, name)), NOTHING)
        file = self.directory + name
        if missing is None and found is None:
            return None
        if missing is not None and self.listing.lacks(name, tick):
            page = missing.respond(path, end, file)
            return None if page is None else (page, False, file)
        try:
            info = os.lstat(file)
        except OSError as problem:
            page = None if problem.errno != ENOENT or missing is None else missing.respond(path, end, file)
            return None if page is None else (page, False, file)
        if info.st_mode & KIND != S_IFREG or found is None:
            return None
        response = found.respond(path, end, file, info, stats)
        return None if response is None else (response, True, b"")


class KnownDirectory:
    """A directory by its URL path: what its answers depend on, and its functions.

    *attempts* counts the responses from which nothing was learned.
    """

    __slots__ = ("_classifiers", "attempts", "functions", "spec")

    def __init__(self) -> None:
        self.spec: KeySpec | None = None
        self.functions: dict[Key, DirectoryFunction] = {}
        self._classifiers: BoundedDict[tuple[Plan, bytes], Classify | None] = BoundedDict(MAX_CLASSIFIERS)
        self.attempts = 0

    @property
    def is_promising(self) -> bool:
        """Return True if something may be learned from the next response: after many attempts, from a few."""
        return self.attempts < MAX_ATTEMPTS or self.attempts % MAX_ATTEMPTS == 0

    def _classifier(self, r: Request, split: SplitPath, directory: bytes) -> Classify | None:
        key = (r.plan, directory)
        if key not in self._classifiers:
            self._classifiers[key] = classifier(r, to_text(split.directory), to_text(directory))
        return self._classifiers[key]

    def add(
        self,
        spec: KeySpec,
        key: Key,
        split: SplitPath,
        file: bytes,
        cached: CachedResponse,
        r: Request,
        listings: DirectoryListings,
    ) -> int:
        """Add the answer that *cached*, the response to *r*, is for names like that of *split*; return the
        bytes that it needs, 0 if it is none.

        *spec* and *key* are the fields that decide and their values; *file* is the path in the file system.
        """
        directory = file[: -len(split.name)]
        weight = cached.weight
        function = self.functions.get(key) if spec is self.spec else None
        if function is None or function.directory != directory or function.plan is not r.plan:
            classify = self._classifier(r, split, directory)
            if classify is None or len(self.functions) >= MAX_FUNCTIONS:
                return 0
            function = DirectoryFunction(directory, listings.get(directory), r.plan, classify)
            weight += FUNCTION_WEIGHT
        group = function.classify(split.path, split.name)
        if group is None:
            return 0
        missing, found = function.answers.get((split.rest, group), NOTHING)
        known = missing if r.finfo is None else found
        if known is not None and unchanged(known.dependencies, None):
            return 0
        answer = answer_for(cached, r, file, split)
        if answer is None:
            return 0
        self._put(spec, key, function)
        if len(function.answers) >= MAX_ANSWERS:
            function.answers.clear()
        if isinstance(answer, FileAnswer):
            found = answer
        else:
            missing = answer
        function.answers[split.rest, group] = missing, found
        return weight

    def _put(self, spec: KeySpec, key: Key, function: DirectoryFunction) -> None:
        if spec is not self.spec:
            self.spec = spec
            self.functions = {}
        self.functions[key] = function


class Prefix(NamedTuple):
    """A request line up to the last slash of its path.

    Attributes:
        before: what is before the path; `start`: its bytes.
        known: the deepest known directory.
        name: the first name below it; empty if it is the whole path, and the name follows.
        end: the bytes of the path up to that name's end, without a name that follows.
        rest: what follows the name if the path ends here, and if it does not: see `SplitPath`.
    """

    before: bytes
    start: int
    known: KnownDirectory
    name: bytes
    end: int
    rest: tuple[int, int]


class SpecializedResponses:
    """The known directories of one address; at most `MAX_DIRECTORIES`, dropped together."""

    __slots__ = ("_directories", "_listings", "_prefixes")

    def __init__(self, listings: DirectoryListings) -> None:
        self._directories: dict[bytes, KnownDirectory] = {}
        self._prefixes: BoundedDict[bytes, Prefix] = BoundedDict(MAX_PREFIXES)
        self._listings = listings

    def clear(self) -> None:
        """Drop everything."""
        self._directories.clear()
        self._prefixes.clear()

    def respond(
        self, parts: Pieces, head: SplitHead, client: str, tick: int | None, stats: TickStatCache
    ) -> tuple[CachedResponse, KeySpec | None, bytes] | None:
        """Return the answer to a request of *client*, to be validated as every cached response; None if the
        general path has to answer.

        *parts* begin with those of the request line; *head* has the fields, its line is not read. A response
        that was made for this request alone comes with the fields that it depends on, another one with the
        path of the file on whose absence it depends.
        """
        line: bytes = parts[0]
        at = line.rfind(b"/") + 1
        text = line[:at]
        last = line[at:]
        prefix = self._prefixes.get(text) or self._split_prefix(text)
        if prefix is None or NAME_FORM(last) is None:
            return None
        before, start, known, name, end, rests = prefix
        rest = rests[1] if last else rests[0]
        if not name:
            if not last:
                return None
            name = last
            end += len(last)
        spec = known.spec
        if spec is None:
            return None
        _raw, pieces, shape, _is_printable = head
        key = (shape.keys.get(spec.number) or spec.add_key(shape))(pieces, before + parts[2], client)
        function = known.functions.get(key)
        if function is None:
            return None
        found = function.respond(line[start:], name, end, rest, tick, stats)
        if found is None:
            return None
        response, is_own, missing = found
        return response, spec if is_own else None, missing

    def _split_prefix(self, text: bytes) -> Prefix | None:
        """Split the beginning of a request line at the deepest known directory; None without one, if it is
        long, or if it has another form.
        """
        match = PREFIX_FORM(text) if len(text) <= MAX_PATH - MAX_NAME else None
        if match is None:
            return None
        split = SplitPath(b"", match[2], b"")
        known = self._find(split)
        if known is None:
            return None
        name = split.name
        end = len(split.directory) + len(split.name)
        if not name:
            rest = (0, 0)
        elif split.rest == 2:
            rest = (2, 2)
        else:
            rest = (1, 2)
        prefix = Prefix(match[1], len(match[1]), known, name, end, rest)
        if len(text) <= MAX_PREFIX:
            self._prefixes[text] = prefix
        return prefix

    def _find(self, split: SplitPath) -> KnownDirectory | None:
        """Split a path at the deepest known directory, and return that."""
        known = self._directories.get(split.directory)
        while known is None:
            if not split.ascend():
                return None
            known = self._directories.get(split.directory)
        return known

    def may_learn(self, line: bytes) -> bool:
        """Return True if the response to the request *line* may become the answer for other names."""
        split = split_path(line)
        if split is None:
            return False
        known = self._find(split)
        if known is None or known.is_promising:
            return True
        known.attempts += 1
        return False

    def learn(
        self,
        cached: CachedResponse,
        r: Request,
        head: SplitHead,
        spec_for: Callable[[KeySpec | None], KeySpec | None],
    ) -> int:
        """Learn from *cached*, the response to *r*; return the bytes of what was learned, 0 for nothing.

        *spec_for* returns a KeySpec that covers the response and an earlier one.
        """
        raw, pieces, _shape, _is_printable = head
        split = split_path(line_of(pieces)) if len(raw) <= MAX_HEAD and cached.log.any_query else None
        if split is None or not _is_general(cached, r) or r.uri != to_text(split.path):
            return 0
        file = to_bytes(r.filename or "")
        if not _ascend_to_file(split, r, file):
            return 0
        known = self._directories.get(split.directory)
        weight = 0
        if known is None:
            if len(self._directories) >= MAX_DIRECTORIES:
                self._directories.clear()
            known = KnownDirectory()
            self._directories[split.directory] = known
            self._prefixes.clear()
            weight = FUNCTION_WEIGHT
        spec = spec_for(known.spec) if known.is_promising else None
        if spec is None:
            known.attempts += 1
            return weight
        key = spec.build_key(head, split.frame, r.connection.client_ip)
        learned = known.add(spec, key, split, file, cached, r, self._listings) if key else 0
        known.attempts += not learned
        return weight + learned


def _ascend_to_file(split: SplitPath, r: Request, file: bytes) -> bool:
    """Split the path at the directory of *file*, which *r* was mapped to; return False if it has none."""
    while not (split.name and file.endswith(b"/" + split.name) and _rest_of(r) == split.rest):
        if not split.ascend():
            return False
    return True


def _rest_of(r: Request) -> int:
    if not r.path_info:
        return 0
    if r.path_info == "/":
        return 1
    return 2


def _is_general(cached: CachedResponse, r: Request) -> bool:
    """Return True if nothing in the response is known to belong to one name."""
    return (
        r.prev is None
        and r.main is None
        and r.next is None
        and not r.deps.on_path
        and cached.validity.client is None
        and cached.log.changed is None
        and cached.rebuilt is None
        and not r.output_filters
    )
