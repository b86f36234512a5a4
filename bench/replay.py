"""Replay of an access log: a document tree made from it, and its requests in their order.

The log has neither the fields of a request (but two) nor the documents, so some are derived from it:

* A path that was answered with 200, 206, 304 or 416 is a document, with the size that most of its responses
  with 200 had, at most `MAX_SIZE`. A path that others lie below, or that was redirected, is a directory; if
  it was requested, it has index.html. Every other path is missing.
* A 304 had If-Modified-Since, with the time of the document. A 206 had a Range of as many bytes as were sent,
  a 416 a Range behind the end.
* Browsers send Accept, Accept-Language and Accept-Encoding; other agents Accept.

Lines without a request that all servers answer alike are left out, and those that wrk cannot send: methods
except GET, statuses except those above, 301 and 404, and targets that a server would normalize.
"""

from __future__ import annotations

import functools
import http.client
import re
import socket
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote_to_bytes

from bench.errors import WrongResponse
from bench.servers import Server

LOG = Path(__file__).parents[2] / "shared" / "corpus" / "logs" / "combined.log"
REQUESTS = "replay.requests"  # below the root, for replay.lua
DOCUMENTS = "replay"  # document root
TIME = "Sun, 13 Sep 2020 12:26:40 GMT"  # of all documents
MAX_SIZE = 1 << 20
LINE = re.compile(
    r'(?P<client>\S+) \S+ \S+ \[[^]]+\] "(?P<method>[A-Z]+) (?P<target>/[^ "\\]*) (?P<version>HTTP/1\.[01])" '
    r'(?P<status>\d{3}) (?P<size>\d+|-) "(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"'
)
ODD = re.compile(rb"//|/\.|[\0-\x1f\x7f-\xff?#]")  # in the decoded path
PRESENT, MISSING, MOVED = ("200", "206", "304", "416"), "404", "301"
BROWSER = re.compile(r"Mozilla/[45]\.0 \((?!compatible; (?!MSIE))(?!.*(?:bot|spider|crawl))", re.I)
BROWSER_FIELDS = (
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate\r\n"
)
OTHER_FIELDS = "Accept: */*\r\n"


@dataclass(frozen=True)
class LogLine:
    """One line of a log in the combined format."""

    client: str
    method: str
    target: str
    version: str
    status: str
    size: int
    referer: str
    agent: str

    @property
    def path(self) -> str:
        """Return the decoded path as latin-1."""
        return unquote_to_bytes(self.target.partition("?")[0]).decode("latin-1")


@dataclass(frozen=True)
class Request:
    """Request and its response: the status, and the length if a document is sent.

    *conditions* are the fields Range and If-Modified-Since.
    """

    line: LogLine
    conditions: str
    status: int
    length: int | None

    @property
    def before(self) -> str:
        """Return the head up to User-Agent."""
        return f"GET {self.line.target} {self.line.version}\r\nHost: localhost\r\n"

    @property
    def after(self) -> str:
        """Return the rest of the head."""
        line = self.line
        referer = f"Referer: {line.referer}\r\n" if line.referer != "-" else ""
        fields = BROWSER_FIELDS if BROWSER.match(line.agent) else OTHER_FIELDS
        return f"{fields}{referer}{self.conditions}\r\n"


@dataclass
class Tree:
    """Documents (path to size) and directories, without trailing slashes."""

    documents: dict[str, int] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, lines: Iterable[LogLine]) -> Tree:
        tree, sizes = cls(), defaultdict[str, Counter[int]](Counter)
        for line in lines:
            sizes[line.path].update([line.size] if line.status == "200" else [])
            if line.status in PRESENT:
                tree._add_directories(line.path)
                tree.documents.setdefault(line.path, 0)
            elif line.status == MOVED and not line.path.endswith("/"):
                tree._add_directories(line.path + "/")
        for path in sizes:
            if path.endswith("/") and path[:-1] in tree.directories:
                tree.documents.setdefault(path, 0)
        usual = sorted(size for counts in sizes.values() for size in counts)
        typical = usual[len(usual) // 2] if usual else 0
        for path in tree.documents:
            counts = sizes[path].most_common(1)
            tree.documents[path] = min(counts[0][0] if counts else typical, MAX_SIZE)
        return tree

    def _add_directories(self, path: str) -> None:
        parts = path.split("/")[:-1]
        self.directories |= {"/".join(parts[: number + 1]) for number in range(len(parts))}

    def write(self, root: Path) -> None:
        """Write the documents; the latin-1 of a path is its bytes."""
        for path in sorted(self.directories):
            (root / path.strip("/")).mkdir(parents=True, exist_ok=True)
        for path, size in self.documents.items():
            if path not in self.directories:
                name = f"{path}index.html" if path.endswith("/") else path
                text = b"The whimbrel migrates without a stop.\n" * (size // 38 + 1)
                (root / name.strip("/")).write_bytes(text[:size])

    def request(self, line: LogLine) -> Request:
        """Return the request of *line*."""
        path = line.path
        if path in self.directories and path:
            return Request(line, "", 301, None)
        size = self.documents.get(path)
        if size is None:
            return Request(line, "", 404, None)
        if line.status == "304":
            return Request(line, f"If-Modified-Since: {TIME}\r\n", 304, 0)
        if line.status == "206":
            count = min(line.size, size)
            return Request(line, f"Range: bytes=0-{max(count, 1) - 1}\r\n", 206, count)
        if line.status == "416":
            return Request(line, f"Range: bytes={size}-\r\n", 416, None)
        return Request(line, "", 200, size)


def parse(text: str) -> tuple[list[LogLine], int]:
    """Return the lines that can be sent, and the number of those left out."""
    lines, out = text.splitlines(), []
    for one in lines:
        match = LINE.fullmatch(one)
        if match is None:
            continue
        words = match.groupdict()
        size = 0 if words["size"] == "-" else int(words["size"])
        line = LogLine(**(words | {"size": size, "agent": words["agent"].replace('\\"', '"')}))
        if line.method == "GET" and line.status in (*PRESENT, MISSING, MOVED):
            if not ODD.search(line.path.encode("latin-1")) and "#" not in line.target:
                out.append(line)
    return out, len(lines) - len(out)


def prepare(log: Path, root: Path) -> tuple[list[Request], str]:
    """Write the document tree of *log* and its requests below *root*; return the requests and a summary."""
    lines, left_out = parse(log.read_text("latin-1"))
    tree = Tree.of(lines)
    tree.write(root / DOCUMENTS)
    requests = [tree.request(line) for line in lines]
    clients = list(dict.fromkeys(line.client for line in lines))
    agents = {line.client: line.agent for line in lines}
    numbers = {client: number for number, client in enumerate(clients)}
    with (root / REQUESTS).open("w", encoding="latin-1", newline="\n") as out:
        for client in clients:
            agent = agents[client]
            out.write(f"agent\t{f'User-Agent: {agent}' if agent != '-' else ''}\n")
        for one in requests:
            before, after = (text.replace("\r\n", "\1") for text in (one.before, one.after))
            out.write(f"request\t{numbers[one.line.client]}\t{one.status}\t{before}\t{after}\n")
    statuses = Counter(one.status for one in requests)
    same = sum(str(one.status) == one.line.status for one in requests)
    parts = ", ".join(f"{count:,} {status}" for status, count in sorted(statuses.items()))
    return requests, (
        f"{len(requests):,} requests of {len(clients):,} clients ({parts}); {same / len(requests):.1%} have "
        f"the status of the log; {left_out} lines left out; {len(tree.documents):,} documents, at most "
        f"{MAX_SIZE >> 10:,} KB each, {mean_length(requests) / 1024:.1f} KB a response"
    )


def mean_length(requests: Sequence[Request]) -> float:
    return sum(one.length or 0 for one in requests) / max(len(requests), 1)


@functools.cache
def _errors(path: Path) -> list[int]:
    """Return for each request the number of statuses of 400 and above up to it."""
    out = [0]
    for line in path.read_text("latin-1").split("\n"):
        if line.startswith("request\t"):
            out.append(out[-1] + (int(line.split("\t")[2]) >= 400))
    return out


def errors_among(path: Path, count: int) -> int:
    """Return how many of the first *count* responses have a status of 400 or above."""
    found = _errors(path)
    whole, rest = divmod(count, len(found) - 1)
    return whole * found[-1] + found[rest]


def check(requests: Iterable[Request], server: Server) -> None:
    """Send each distinct request once; raise WrongResponse unless status and length are those expected."""
    wrong, seen = [], set()
    for one in requests:
        head = one.before + one.conditions
        if head not in seen:
            seen.add(head)
            status, length = exchange(server.port, (one.before + one.after).encode("latin-1"))
            if status != one.status or one.length not in (None, length):
                wrong.append(
                    f"{one.line.target}: {status}, {length} bytes; expected {one.status}, {one.length}"
                )
    if wrong:
        raise WrongResponse(f"{server.name}, {len(wrong)} of {len(seen)} requests:\n" + "\n".join(wrong[:20]))


def exchange(port: int, head: bytes) -> tuple[int, int]:
    """Return status and length of the response to one request."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(head)
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        return reply.status, len(reply.read())
