"""The loads: clients that know the right response to each request."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.faults.site import SIZES, content, version_of
from tests.faults.wires import Http1Wire, Http2Wire, Reply, Request, Wire

CLIENTS = 6
PAUSE = 0.004  # seconds between two exchanges of a client
KNOWN = {"Authorization": "Basic dTpwYXNzd29yZA=="}
UNKNOWN = {"Authorization": "Basic dTp3cm9uZw=="}
LOCK = (
    b'<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    b"<D:locktype><D:write/></D:locktype></D:lockinfo>"
)


class Step(NamedTuple):
    """A request and the test of its response.

    Attributes:
        is_secret: a response with status 200 is wrong whatever the fault.
    """

    request: Request
    is_right: Callable[[Reply], bool]
    is_secret: bool = False


@dataclass(frozen=True)
class Sample:
    """What a client got for one request: `right`, `error`, `wrong`, or a failure of the wire."""

    outcome: str
    begin: float
    end: float
    status: int
    what: str


@dataclass
class State:
    """What all clients of a cell share.

    Attributes:
        versions: of documents that are right at this moment.
        is_replaced: files of WebDAV may be those of another tree.
        may: error statuses that the fault allows.
    """

    versions: frozenset[int] = frozenset((1,))
    is_replaced: bool = False
    may: frozenset[int] = frozenset()
    is_over: threading.Event = field(default_factory=threading.Event)


def _document(state: State, name: str, fields: dict[str, str] | None = None) -> Step:
    """Return a request for a file, whose version may change before the response comes."""
    versions = state.versions

    def is_right(reply: Reply) -> bool:
        return reply.status == 200 and version_of(_last(name), reply.body) in versions | state.versions

    return Step(Request("GET", name, fields or {}), is_right)


def _page(target: str) -> Step:
    """Return a request for a document of the back end."""
    is_right = _equals(content(_last(target), 1, SIZES[_last(target)]))
    return Step(Request("GET", target), is_right)


def _last(target: str) -> str:
    return target.rpartition("/")[2]


def _status(request: Request, *statuses: int, is_secret: bool = False) -> Step:
    return Step(request, lambda reply: reply.status in statuses, is_secret)


def documents(state: State, _agent: str) -> Iterator[list[Step]]:
    """Yield exchanges about files: sizes, a missing one, a protected one with three kinds of credentials."""
    secret = "/private/secret.txt"
    while True:
        yield [_document(state, f"/{name}") for name in SIZES]
        yield [
            _document(state, secret, KNOWN),
            _status(Request("GET", secret), 401, is_secret=True),
            _status(Request("GET", secret, UNKNOWN), 401, is_secret=True),
        ]
        yield [_document(state, "/small.txt"), _status(Request("GET", "/none.txt"), 404)]


def proxied(_state: State, agent: str) -> Iterator[list[Step]]:
    """Yield exchanges that a back end answers."""
    for number in itertools.count():
        yield [_page(f"/back/{name}") for name in SIZES]
        echo = f"{agent} {number} ".encode() * 200
        is_echo = _equals(echo)
        yield [Step(Request("POST", "/back/echo", {"Content-Type": "text/plain"}, echo), is_echo)]


def _equals(body: bytes) -> Callable[[Reply], bool]:
    return lambda reply: reply.status == 200 and reply.body == body


def encrypted(state: State, agent: str) -> Iterator[list[Step]]:
    """Yield exchanges of files and of a back end's documents."""
    for files in documents(state, agent):
        yield files
        yield [_page(f"/back/{name}") for name in SIZES]


class Author:
    """A WebDAV client with a file of its own, which a failed PUT leaves with its old or its new content."""

    def __init__(self, state: State, agent: str) -> None:
        self._state = state
        self._name = f"{agent}.txt"
        self._file = f"/dav/{self._name}"
        self._lock = f"/dav/lock-{agent}.txt"
        self._possible: set[int | None] = {None}
        self._token = ""
        self._may_be_locked = False

    def steps(self) -> Iterator[list[Step]]:
        """Yield PUT, GET, LOCK, UNLOCK, PROPFIND, DELETE, and documents of the cache."""
        for number in itertools.count(1):
            body = content(self._name, number, 1000)
            put = Request("PUT", self._file, {"Content-Type": "text/plain"}, body)
            yield [Step(put, self._judge_put(number)), Step(Request("GET", self._file), self._is_possible)]
            name = tuple(SIZES)[number % 3]
            yield [_page(f"/back/cached{number % 7}/{name}"), _document(self._state, f"/{name}")]
            yield [_status(Request("PROPFIND", "/dav/", {"Depth": "1"}), 207)]
            yield [Step(Request("LOCK", self._lock, {"Timeout": "Second-5"}, LOCK), self._judge_lock)]
            if self._token:
                unlock = Request("UNLOCK", self._lock, {"Lock-Token": self._token})
                yield [Step(unlock, self._judge_unlock)]
            if number % 5 == 0:
                yield [Step(Request("DELETE", self._file), self._judge_delete)]

    def _judge_put(self, number: int) -> Callable[[Reply], bool]:
        before = set(self._possible)
        self._possible.add(number)

        def judge(reply: Reply) -> bool:
            is_done = reply.status in (200, 201, 204)
            self._possible = {number} if is_done else before | {number}
            return is_done

        return judge

    def _is_possible(self, reply: Reply) -> bool:
        version = version_of(self._name, reply.body)
        if reply.failure or reply.status not in (200, 404):
            return False
        is_missing = reply.status == 404
        if self._state.is_replaced:
            is_right = is_missing or version is not None
        else:
            is_right = (
                is_missing and None in self._possible or version is not None and version in self._possible
            )
        if is_right and not self._state.is_replaced:
            self._possible = {version}
        return is_right

    def _judge_lock(self, reply: Reply) -> bool:
        is_right = reply.status in (200, 201) or reply.status == 423 and self._may_be_locked
        self._token = reply.lock_token if reply.status in (200, 201) else ""
        self._may_be_locked = self._may_be_locked or not is_right or bool(self._token)
        return is_right

    def _judge_unlock(self, reply: Reply) -> bool:
        if reply.status == 204:
            self._may_be_locked = False
        return reply.status == 204

    def _judge_delete(self, reply: Reply) -> bool:
        is_right = (
            reply.status == 204 or reply.status == 404 and (None in self._possible or self._state.is_replaced)
        )
        self._possible = {None} if is_right else self._possible | {None}
        return is_right


def authoring(state: State, agent: str) -> Iterator[list[Step]]:
    """Yield the exchanges of an `Author`."""
    return Author(state, agent).steps()


@dataclass(frozen=True)
class Load:
    """A kind of clients."""

    name: str
    steps: Callable[[State, str], Iterator[list[Step]]]
    wire: Callable[[int, str], Wire] = Http1Wire

    @property
    def is_encrypted(self) -> bool:
        """True if its clients speak TLS and HTTP/2."""
        return self.wire is Http2Wire

    @property
    def in_flight(self) -> int:
        """The number of responses that all clients may be about to get."""
        return CLIENTS * (3 if self.is_encrypted else 1)


LOADS = {
    load.name: load
    for load in (
        Load("static", documents),
        Load("proxy", proxied),
        Load("tls-h2", encrypted, Http2Wire),
        Load("dav-cache", authoring),
    )
}


class Client(threading.Thread):
    """A client that sends the steps of a load until the end of the cell.

    Attributes:
        samples: what it got. `received`, `sent`: numbers of complete responses and of requests for the
            comparison with the log, by request, and for responses by status too.
    """

    def __init__(self, load: Load, port: int, state: State, number: int) -> None:
        super().__init__(daemon=True)
        self.agent = f"client-{number}"
        self._load = load
        self._state = state
        self._wire = load.wire(port, self.agent)
        self._random = random.Random(number)
        self.samples: list[Sample] = []
        self.received: Counter[tuple[str, str, int]] = Counter()
        self.sent: Counter[tuple[str, str]] = Counter()
        self.is_paused = threading.Event()
        self.may_run = threading.Event()
        self.may_run.set()

    def run(self) -> None:
        for steps in self._load.steps(self._state, self.agent):
            if not self.may_run.is_set():
                self._wire.close()
                self.is_paused.set()
                self.may_run.wait()
                self.is_paused.clear()
            if self._state.is_over.is_set():
                break
            self._exchange(steps)
            time.sleep(PAUSE * self._random.random() * 2)
        self._wire.close()

    def _exchange(self, steps: list[Step]) -> None:
        if self._load.is_encrypted:
            self._send(steps)
            return
        for step in steps:
            self._send([step])

    def _send(self, steps: list[Step]) -> None:
        begin = time.monotonic()
        before = self._state.may
        replies = self._wire.exchange([step.request for step in steps])
        end = time.monotonic()
        for step, reply in zip(steps, replies, strict=True):
            line = f"{step.request.method} {step.request.target}"
            self.sent[self.agent, line] += reply.sent
            if not reply.failure:
                self.received[self.agent, line, reply.status] += 1
            outcome = self._outcome(step, reply, before | self._state.may)
            what = (
                f"{line}: {reply.status} {reply.body[:80]!r}"
                if outcome == "wrong"
                else f"{line}: {reply.cause}"
            )
            self.samples.append(Sample(outcome, begin, end, reply.status, what))

    @staticmethod
    def _outcome(step: Step, reply: Reply, may: frozenset[int]) -> str:
        is_right = step.is_right(reply)
        if reply.failure:
            return reply.failure
        if is_right:
            return "right"
        if reply.status in may and not (step.is_secret and reply.status < 400):
            return "error"
        return "wrong"
