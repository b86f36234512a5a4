"""Comparison of two replies: status, reason, fields and their order, framing, body.

What may differ, with the reason:

* the product: Server, signatures of pages, and the Content-Length of a HEAD response to such a page;
* ports of the servers, which both pages and redirections contain;
* gzip: the decoded bodies are compared; deflate libraries differ, so lengths and ranges of coded bodies vary;
* the order of methods in Allow, which is that of a hash with a random seed in httpd;
* the boundary of multipart/byteranges, which is random;
* the framing of the output of programs: in httpd Content-Length depends on whether the program has ended when
  its first output is read, and with it the persistence of a connection of HTTP/1.0;
* clock values: a date differs from the Date field of its own response by the same number of seconds;
* masks of an application: clock values in its pages, fields with process numbers and durations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from itertools import zip_longest

from tests.conformance.masks import PRODUCT
from tests.crawl.replies import Framing, Reply

Mask = tuple[str, str]
"""A pattern and its replacement."""
CLOCK_SLACK = 2
_FRAMING_PARTS = {"framing", "content-length", "transfer-encoding", "connection", "keep-alive"}
_BOUNDARY = re.compile(r"boundary=([0-9a-f]+)")
_HEAD_LENGTH_FACTORS = range(-3, 4)


@dataclass(frozen=True)
class Difference:
    """One part that differs: status, reason, interim, order, framing, body or the name of a field."""

    part: str
    apache: str
    whimbrel: str


class Comparison:
    """Comparison of replies of two servers on *ports*.

    *masks*: those of an application; *varying*: names of its fields whose values change from run to run.
    """

    def __init__(
        self, ports: tuple[int, int], masks: Sequence[Mask] = (), varying: Sequence[str] = ()
    ) -> None:
        self._varying = {"date", "server", *varying}
        self._ports = [re.compile(rf"(:|Port |%3[Aa]){port}\b") for port in ports]
        self._masks = [(re.compile(pattern.encode()), new.encode()) for pattern, new in masks]

    def _text(self, text: str, side: int) -> str:
        """Mask port and product in a field."""
        return PRODUCT.sub("=SERVER=", self._ports[side].sub(r"\1=PORT=", text))

    def _body(self, reply: Reply, side: int) -> bytes:
        """Return the decoded body with its masks."""
        text = reply.decoded().decode("latin-1")
        if boundary := _BOUNDARY.search(reply.value("content-type")):
            text = text.replace(boundary[1], "=BOUNDARY=")
        data = self._text(text, side).encode("latin-1")
        for pattern, new in self._masks:
            data = pattern.sub(new, data)
        return data

    def _are_same_clock(self, values: tuple[str, str], replies: tuple[Reply, Reply]) -> bool:
        """Return True if both values are dates at the same distance from the Date of their response."""
        distances = []
        for value, reply in zip(values, replies, strict=True):
            date, own = parsedate_tz(reply.value("date")), parsedate_tz(value)
            if date is None or own is None:
                return False
            distances.append(mktime_tz(own) - mktime_tz(date))
        return abs(distances[0] - distances[1]) <= CLOCK_SLACK

    def _are_lengths_explained(self, values: tuple[str, str], replies: tuple[Reply, Reply]) -> bool:
        """Return True if a difference of Content-Length follows from a mask."""
        if replies[0].framing is not Framing.NONE:
            return True  # both agree with their bodies (`Framing.BROKEN` else), which are compared
        if replies[0].is_gzip or "boundary=" in replies[0].value("content-type"):
            return True
        if not all(value.isdigit() for value in values):
            return False
        product = len(replies[0].value("server")) - len(replies[1].value("server"))
        return int(values[0]) - int(values[1]) in {product * k for k in _HEAD_LENGTH_FACTORS}

    def _field(self, name: str, one: str, two: str, replies: tuple[Reply, Reply]) -> bool:
        """Return True if two values of the field *name* agree."""
        if name in self._varying:
            return True
        if name == "content-length":
            return one == two or self._are_lengths_explained((one, two), replies)
        if name == "content-range" and replies[0].is_gzip:
            return one.partition("/")[0][:7] == two.partition("/")[0][:7]
        if name == "allow":
            return sorted(one.split(",")) == sorted(two.split(","))
        if name == "content-type":
            one, two = (_BOUNDARY.sub("boundary=", value) for value in (one, two))
        return self._text(one, 0) == self._text(two, 1) or self._are_same_clock((one, two), replies)

    def _fields(self, replies: tuple[Reply, Reply]) -> Iterator[Difference]:
        """Yield the fields that differ, then their order."""
        names = [[name for name, _ in reply.fields] for reply in replies]
        for name in dict.fromkeys(name.lower() for name in (*names[0], *names[1])):
            values = [[value for key, value in reply.fields if key.lower() == name] for reply in replies]
            for one, two in zip_longest(*values):
                if one is None or two is None:
                    yield Difference(name, one or "(none)", two or "(none)")
                elif one != two and not self._field(name, one, two, replies):
                    yield Difference(name, one, two)
        if names[0] != names[1] and sorted(names[0]) == sorted(names[1]):
            yield Difference("order", ", ".join(names[0]), ", ".join(names[1]))
        elif [n.lower() for n in names[0]] == [n.lower() for n in names[1]] and names[0] != names[1]:
            yield Difference("spelling", ", ".join(names[0]), ", ".join(names[1]))

    def is_cut(self, apache: Reply, whimbrel: Reply) -> bool:
        """Return True if *apache* ends early, and its body is the beginning of that of *whimbrel*."""
        cut = apache.framing is Framing.BROKEN
        return cut and self._body(whimbrel, 1).startswith(self._body(apache, 0))

    def compare(self, apache: Reply, whimbrel: Reply, *, is_program: bool = False) -> list[Difference]:
        """Return the differences of two replies, the most important first."""
        found = self._compare(apache, whimbrel)
        if is_program and Framing.BROKEN not in (apache.framing, whimbrel.framing):
            return [difference for difference in found if difference.part not in _FRAMING_PARTS]
        return found

    def _compare(self, apache: Reply, whimbrel: Reply) -> list[Difference]:
        first, second = apache.status_line.split(" ", 2), whimbrel.status_line.split(" ", 2)
        found = [
            Difference(part, one, two)
            for part, one, two in zip_longest(("version", "status", "reason"), first, second, fillvalue="")
            if one != two
        ]
        if apache.interim != whimbrel.interim:
            found.append(Difference("interim", str(apache.interim), str(whimbrel.interim)))
        found += self._fields((apache, whimbrel))
        if apache.framing is not whimbrel.framing:
            found.append(Difference("framing", apache.framing.value, whimbrel.framing.value))
        one, two = self._body(apache, 0), self._body(whimbrel, 1)
        if one != two:
            found.append(Difference("body", *_around(one, two)))
        return found


def _around(one: bytes, two: bytes) -> tuple[str, str]:
    """Return the text of both bodies around the first octet that differs."""
    place = next(
        (i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two))
    )
    start = max(place - 40, 0)
    one_text, two_text = (
        f"({len(b)} at {place}) {b[start : place + 80].decode('latin-1')}" for b in (one, two)
    )
    return one_text, two_text
