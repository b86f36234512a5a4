"""Where kept answers are found, on two levels: by the exact bytes of a head, and behind that by its request line and the fields that mattered.

Which fields mattered is what was asked of the request's fields while the answer was made (http/asked.py): clients that differ in others, as real ones
do with every cookie, find the same answer.  So does every query where nobody asked for it (`Request.args`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from whimbrel.config.core import CoreServer
from whimbrel.http.asked import AskedHeaders
from whimbrel.http.head import Head, HeadLimits
from whimbrel.request import raw_head
from whimbrel.request.answer import Answer, Framing
from whimbrel.request.body import FilePart
from whimbrel.request.kept import Kept, moves_unseen
from whimbrel.request.raw_head import BY_CLIENT, BY_QUERY, FieldSet, Key, Lists, Near, RawHead, Tests, Told, without_query
from whimbrel.request.record import Connection, Request
from whimbrel.request.variables import Variables

MAX_BODY: Final = 512 * 1024
MAX_WEIGHT: Final = 2 * MAX_BODY      # bytes of one answer with what belongs to it
# of each of the two generations of each of the two levels, in all books together
MAX_BYTES: Final = 8 * 1024 * 1024
MAX_ENTRIES: Final = 4096
MAX_BOOKS: Final = 256                # addresses of the server
MAX_LINES: Final = 4096               # request lines whose fields are known, and their bytes
MAX_LINE_BYTES: Final = 1024 * 1024
MAX_FIELDS: Final = 32                # fields that one request line's answers may depend on
MAX_SETS: Final = 32                  # different sets of such fields
MAX_LISTS: Final = 64                 # lists of addresses, and sets of values of one field; who depends on more depends on all of it
NOTHING: Final = (None, None)
HTTP_2: Final = (2, 0)


class Level:
    """What the young generations of one level hold, in all books together."""

    __slots__ = ("bytes", "entries")

    def __init__(self) -> None:
        self.bytes = self.entries = 0

    def overflows(self, weight: int) -> bool:
        """Count one more entry; return True if it must be the first of a new generation."""
        self.bytes += weight
        self.entries += 1
        if self.entries <= MAX_ENTRIES and self.bytes <= MAX_BYTES:
            return False
        self.bytes, self.entries = weight, 1
        return True


class KeptAnswers:
    """The kept answers of one engine: one `Book` for each address that it listens on.

    Bounds hold for all books together.  Of more than `MAX_BOOKS` addresses the one to which no connection was
    made for longest has no book any more.
    """

    __slots__ = ("_books", "_lines_bytes", "_sets", "_sets_made", "by_bytes", "by_key", "seen")

    def __init__(self) -> None:
        self._books: dict[tuple[str, int], Book] = {}
        self.by_bytes, self.by_key = Level(), Level()
        self._sets: dict[tuple[frozenset[str], frozenset[str], Lists, Tests], FieldSet] = {}
        self._sets_made = self._lines_bytes = 0
        self.seen: set[int] = set()  # hashes of heads that came once

    def book(self, address: str, port: int) -> Book:
        """The answers kept for requests to one of the server's addresses."""
        found = self._books.pop((address, port), None)
        if found is None:
            found = Book(self)
            if len(self._books) >= MAX_BOOKS:
                self._books.pop(next(iter(self._books))).close()
        self._books[address, port] = found
        return found

    def books(self) -> Iterator[Book]:
        """All books, those for HTTP/2 among them."""
        for book in self._books.values():
            yield book
            if book.http2 is not book:
                yield book.http2

    def clear(self) -> None:
        """Drop everything."""
        for book in self.books():
            book.clear()
        self.by_bytes, self.by_key = Level(), Level()
        self._lines_bytes = 0
        self.seen.clear()

    def set_for(self, names: frozenset[str], told: frozenset[str], lists: Lists, tests: Tests) -> FieldSet:
        """The one set of these fields."""
        found = self._sets.get((names, told, lists, tests))
        if found is None:
            if len(self._sets) >= MAX_SETS:
                self._sets.clear()
                self.forget_lines()
            self._sets_made += 1
            found = FieldSet(names, told, lists, tests, self._sets_made)
            self._sets[names, told, lists, tests] = found
        return found

    def note_line(self, line: bytes) -> None:
        """A book will remember one more request line: those of all are dropped where that would be too many
        bytes.
        """
        self._lines_bytes += len(line) + raw_head.LINE_COST
        if self._lines_bytes > MAX_LINE_BYTES:
            self.forget_lines()
            self._lines_bytes = len(line) + raw_head.LINE_COST

    def forget_lines(self) -> None:
        """Drop all request lines."""
        self._lines_bytes = 0
        for book in self.books():
            book.forget_lines()

    def offer(self, head: Head, answer: Answer, writers: tuple[Any, ...], told: frozenset[str]) -> None:
        """Keep *answer* if it depended on nothing but the head, the client's address and files that have been at rest.

        *writers* are its access logs, *told* the request fields in them.
        """
        r = answer.request
        if not _keepable(r, answer) or (head.url is not None and head.url.password is not None):
            return
        if r.files.moving and any(w.tells_fields for w in writers):
            return
        writers, files = tuple(w for w in writers if w.applies(r)), r.files
        if not r.keep:
            return  # whether a log tells of it goes by what no other request has
        files.query = (files.query or r.prev is not None or r.remade is not None or not plain(head)
                       or r.unasked_args != head.query  # another took its place (DirectoryIndex), which logs tell
                       or r.env.__class__ not in (dict, Variables))  # a document's variables, QUERY_STRING among them, for logs
        body = b"".join(part for part in answer.parts if isinstance(part, bytes))
        if len(body) > MAX_BODY:
            return
        file = next((part for part in answer.parts if isinstance(part, FilePart)), None)
        kept, connection = Kept(answer, head, body, writers, file), r.connection
        if kept.weight <= MAX_WEIGHT and raw_head.has_plain_form(head.raw):
            bare, book = RawHead(head.raw), self.book(connection.local_ip, connection.local_port)
            (book.http2 if head.version >= HTTP_2 else book).put(kept, head, bare, r.headers_in, told)
            kept.slim(bare)


class Book:
    """The kept answers for one address; bounded in number and bytes.

    *http2* holds those to requests of HTTP/2, so that no bytes sent as HTTP/1 find one of them, nor the
    reverse.

    Every head in it has a plain form (`has_plain_form`), and no other bytes than a whole head of that form
    find anything (`FieldSet.sort`): what
    answers some bytes is what the general path made of the same bytes, or of others that differ in nothing
    that it looked at.

    Of each level there are two generations: what was asked since the last change of generation survives the next.  `exact` is the young one of the
    first level; a head gets there when its bytes come a second time, so that clients whose heads all differ push nothing out.  *near* is a line that
    `find` has just met for the first time, which is worth nothing, and the key of its head.
    """

    __slots__ = ("_answers", "_closed", "_lines", "_old", "_old_exact", "_young", "exact", "http2", "near")

    def __init__(self, answers: KeptAnswers, *, http2: bool = False) -> None:
        self.exact: dict[bytes, Kept] = {}
        self._answers, self._closed = answers, False
        self.http2: Book = self if http2 else Book(answers, http2=True)
        self.clear()

    def clear(self) -> None:
        """Drop everything; `exact` stays the same object."""
        self.exact.clear()
        self._old_exact: dict[bytes, Kept] = {}
        self._young: dict[Key, Kept] = {}
        self._old: dict[Key, Kept] = {}
        self._lines: dict[bytes, FieldSet] = {}
        self.near: tuple[bytes, Key] | None = None

    def close(self) -> None:
        """Drop everything and keep nothing more: connections that began while the address had this book find
        nothing.
        """
        for book in (self, self.http2):
            book._closed = True
            book.clear()

    def forget_lines(self) -> None:
        """Drop the request lines; answers that depend on some fields only are then found by exact bytes, or
        no more.
        """
        self._lines.clear()

    def look(self, connection: Connection, raw: bytes, limits: HeadLimits, turn: int, spare: int = 0) -> tuple[Kept | None, RawHead | None]:
        """The kept answer for the bytes of a head, if there is one that holds, and the head where it is not the same to the byte.

        *spare* lines of the bytes are none that the client has sent: then they stand for a head of HTTP/2.
        For the others see `find`.
        """
        kept, told = (self.http2 if spare else self).find(connection, raw, limits, turn, spare)
        return kept, None if told is None else RawHead(raw, told)

    def find(self, connection: Connection, raw: bytes, limits: HeadLimits, turn: int, spare: int = 0) -> tuple[Kept | None, Told | None]:
        """`look` with the lines that access logs tell in the place of the head.

        *limits* are those for heads; *turn*: see `Kept.valid`.
        """
        kept = self.exact.get(raw)
        if kept is None and self._old_exact:
            kept = self._old_exact.get(raw)
            if kept is not None:
                self._put_exact(raw, kept)
        if kept is not None and kept.valid(connection, turn):
            return kept, None
        if len(raw) > limits.plain:
            return NOTHING
        lines = raw.split(b"\r\n")
        bare = lines[0]
        if b"?" in bare:
            bare = without_query(bare)
        fields = self._lines.get(bare)
        if fields is None or 0 < limits.fields < len(lines) - 3 - spare:
            return NOTHING
        sorted_lines = fields.sort(lines, bare, connection.client_ip)
        if sorted_lines is None:
            return NOTHING
        key, told = sorted_lines
        self.near = (fields.latest, key) if fields.latest or (bare is not lines[0] and not fields.by_query) else None
        kept = self._young.get(key)
        if kept is None:
            kept = self._old.get(key)
            if kept is None:
                return NOTHING
            self._put(key, kept)
        mark, seen = hash(raw), self._answers.seen
        if mark in seen:
            self._put_exact(raw, kept.for_head(RawHead(raw, told)))
        elif len(seen) < MAX_ENTRIES:
            seen.add(mark)
        else:
            self._answers.seen = {mark}
        return (kept, told) if (kept.hot == turn and connection.served < kept.limit) or kept.valid(connection, turn) else NOTHING

    def nearly(self, connection: Connection, raw: bytes, near: Near, turn: int) -> Kept | None:
        """What `find` gives for a head that is *near*, None where that has to be found out."""
        kept = self._young.get(near.key)
        if kept is None or not near.fits(raw):
            return None
        return kept if (kept.hot == turn and connection.served < kept.limit) or kept.valid(connection, turn) else None

    def put(self, kept: Kept, head: Head, bare: RawHead, asked: Any, told: frozenset[str]) -> None:
        """Keep an answer to *head*, whose bytes are *bare*.

        *asked* are the request's fields with what was asked of them, *told* the fields in its access logs.
        """
        key = self._key(kept, head, bare, asked, told)
        if key is None:
            self._put_exact(head.raw, kept)
        else:
            self._put(key, kept)

    def _key(self, kept: Kept, head: Head, bare: RawHead, asked: Any, told: frozenset[str]) -> Key | None:
        """Under what other heads find the answer; None where they can't."""
        if not isinstance(asked, AskedHeaders) or asked.whole or len(asked.asked) + len(asked.tests) > MAX_FIELDS or not plain(head):
            return None
        lines = bare.raw.split(b"\r\n")
        line = without_query(lines[0])
        names = frozenset(asked.asked).union((BY_CLIENT,) if kept.client is not None else (), () if kept.any_query else (BY_QUERY,))
        known, tests = self._lines.get(line), tuple(asked.tests.items())
        if known is None or not (names <= known.names and told <= known.told and (known.by_client or known.lists[:len(kept.lists)] == kept.lists)
                                 and _tested(tests, known)):
            known = self._set_for(names, told, kept.lists, tests, known)
            if len(self._lines) >= MAX_LINES:
                self._lines.clear()
            self._answers.note_line(line)
            self._lines[line] = known
        if known.tested:
            present = [one.partition(b":")[0].lower() for one in lines[1:-2]]
            if any(present.count(name) > 1 for name in known.tested):
                return None  # tests are made of the values joined
        found = known.sort(lines, line, kept.request.connection.client_ip)
        return None if found is None else found[0]

    def _set_for(self, names: frozenset[str], told: frozenset[str], own: Lists, tests: Tests, known: FieldSet | None) -> FieldSet:
        """The set of what an answer depends on, and of what others to its request line do (*known*)."""
        lists, sets = own, dict(tests)
        if known is not None:
            names, told = names | known.names, told | known.told
            lists = tuple(dict.fromkeys(known.lists + own))
            sets = {**dict(known.tests), **{name: tuple(dict.fromkeys((*dict(known.tests).get(name, ()), *more))) for name, more in tests}}
        if len(lists) > MAX_LISTS:
            lists = own  # the others may be those of settings that are gone
        if BY_CLIENT in names or len(lists) > MAX_LISTS:
            names, lists = names | {BY_CLIENT}, ()
        names |= {name for name, many in sets.items() if len(many) > MAX_LISTS}
        tests = tuple(sorted(((name, many) for name, many in sets.items() if name not in names), key=lambda pair: pair[0]))
        return self._answers.set_for(names, told, lists, tests)

    def _put(self, key: Key, kept: Kept) -> None:
        if self._closed:
            return
        if self._answers.by_key.overflows(kept.weight):
            for book in self._answers.books():
                book._old, book._young = book._young, {}
        self._young[key] = kept

    def _put_exact(self, head: bytes, kept: Kept) -> None:
        if self._closed:
            return
        if self._answers.by_bytes.overflows(kept.weight):
            for book in self._answers.books():
                book._old_exact = book.exact.copy()
                book.exact.clear()
        self.exact[head] = kept


def _tested(tests: Tests, known: FieldSet) -> bool:
    """Whether all *tests* are among those of a set."""
    there = dict(known.tests) if tests else {}
    return all(name in known.names or set(many) <= set(there.get(name, ())) for name, many in tests)


def plain(head: Head) -> bool:
    """Whether a head says nothing that only its bytes could tell: no error, no body, no expectation, no
    fragment before what looks like a query.
    """
    return not (head.error is not None or head.notes or head.close or head.chunked or head.length or head.length_bad or head.expect_continue
                or head.url is not None or "#" in head.target) and head.headers.unique


def _plain_parts(r: Request, answer: Answer) -> bool:
    """Whether the body is bytes, or one file as it is; and nothing but the handler makes a body that is to be made anew."""
    parts, old = answer.parts, r.proto < (2, 0)
    if r.remade is not None and (r.output_filters or not old):
        return False
    if all(isinstance(part, bytes) for part in parts):
        return True
    part = parts[0]
    return (old and len(parts) == 1 and isinstance(part, FilePart) and part.path == r.filename and answer.framing is Framing.LENGTH
            and r.status == 200 and r.info is not None and part.length == r.info.st_size)


def _keepable(r: Request, answer: Answer) -> bool:
    if not r.keep or r.connection.ending or r.method_number != 0 or r.assbackwards:
        return False
    if answer.stream is not None or answer.framing is Framing.CLOSE:
        return False
    if r.connection.proxied is not None:
        return False  # answers are kept by the connection's address, which is the proxy's here, whatever the virtual host says
    if r.next is not None:
        return False  # its ErrorDocument failed: logs tell of that one, which has sent nothing
    if r.body_in.length != 0 or not _plain_parts(r, answer):
        return False
    if answer.close and "nokeepalive" not in r.env and 0 < r.server_conf(CoreServer).max_keep_alive <= r.connection.served:
        return False  # the connection has had its number of requests: others have not
    return r.files.is_settled(r.time) and not moves_unseen(r, answer.after)
