"""Answers of applications that are recognized in one piece: head and body are those of the reader."""

from __future__ import annotations

import random

import pytest
from tests.support.samples import amount

from whimbrel.http.client.answer import BackendError
from whimbrel.modules.wsgi.mod_wsgi.records import (
    SUCCEEDED,
    WsgiReader,
    beginning_key,
    ending,
    output_key,
    record,
    variable_text,
)
from whimbrel.modules.wsgi.mod_wsgi.relay import WsgiRelayReader, own_variables
from whimbrel.modules.wsgi.mod_wsgi_process.records import END, LOG, STDOUT, parsed

HEAD = b"Status: 200 OK\r\nContent-Length: 4\r\n"
STDERR = 7
PIECES = (b"A: b\r\n", b"\r\n", b"\r\n\r\n", b"body", b"\r", b"\0", b"", b"x" * 300)
FINISH = [record(END, ending(SUCCEEDED, keeps=keeps)) for keeps in (True, False)]


def random_answer(dice: random.Random) -> bytes:
    """Return records that a process may send, and some that it may not."""
    out = b""
    for _ in range(dice.choice((0, 1, 1, 1, 1, 2))):
        kind = dice.choice([STDOUT] * 20 + [LOG, STDERR, 99])
        start = HEAD if dice.random() < 0.8 else b""
        out += record(kind, start + b"".join(dice.choices(PIECES, k=dice.randrange(5))))
    out += dice.choice(
        FINISH * 8 + [b"", FINISH[0][:-3], FINISH[0] * 2, record(END, ending(500, keeps=True))]
    )
    if dice.random() < 0.1 and out:
        at = dice.randrange(len(out))
        out = out[:at] + bytes([dice.randrange(256)]) + out[at + 1 :]
    return out


@pytest.mark.parametrize("seed", range(amount(3, 10)))
def test_a_recognized_answer_is_that_of_the_reader(seed: int) -> None:
    dice = random.Random(seed)
    count = 0
    for _ in range(400):
        data = random_answer(dice)
        found = output_key(data)
        if found is None:
            continue
        count += 1
        head, body, keeps = found
        reader = WsgiReader(8190)
        try:
            for at in range(len(data)):
                reader.feed(data[at : at + 1])
        except BackendError:
            pytest.fail(f"recognized: {data!r}")
        assert reader.done
        assert (reader.reusable, reader.outcome) == (keeps, SUCCEEDED)
        assert not (reader.rest or reader.errors or reader.messages)
        assert reader.head is not None
        assert reader.head.script_lines is not None
        is_plain = b"\0" not in head and head.count(b"\r") == head.count(b"\r\n")
        if is_plain and head.startswith(b"Status: "):  # of others no relay is offered
            assert "\r\n".join(reader.head.script_lines) + "\r\n" == head.decode("latin-1")
            assert reader.take() == body
            whole = WsgiReader(8190)
            whole.feed(data)
            assert whole.head == reader.head
            assert (whole.done, whole.reusable, whole.outcome) == (True, keeps, SUCCEEDED)
            assert (whole.take(), whole.rest) == (body, b"")
    assert count > 40


def test_an_answer_in_pieces_is_not_whole() -> None:
    data = record(STDOUT, HEAD + b"\r\nbody") + FINISH[0]
    reader = WsgiRelayReader(8190)
    other = WsgiRelayReader(8190)
    reader.feed(data)
    other.feed(data[:9])
    other.feed(data[9:])
    assert (reader.received, other.received) == (data, b"")
    assert reader.done
    assert other.done


def test_the_variables_of_one_request_follow_those_that_are_kept() -> None:
    text = variable_text({"A": "b"}.items()) + own_variables(1.5, "id", 2, 1, is_embedded=False)
    found = parsed(text)
    assert int(str(found.pop("mod_wsgi.queue_start"))) > 1_700_000_000_000_000
    assert found == {
        "A": "b",
        "mod_wsgi.request_start": "1500000",
        "mod_wsgi.request_id": "id",
        "mod_wsgi.daemon_connects": "2",
        "mod_wsgi.daemon_restarts": "1",
    }
    assert list(parsed(own_variables(1.5, "id", is_embedded=True)[1:])) == [
        "mod_wsgi.request_start",
        "mod_wsgi.request_id",
    ]


@pytest.mark.parametrize("seed", range(amount(3, 10)))
def test_the_head_of_a_beginning_is_that_of_the_reader(seed: int) -> None:
    dice = random.Random(seed)
    count = 0
    for _ in range(400):
        data = random_answer(dice)
        data = data[: dice.randrange(len(data) + 1)] if dice.random() < 0.5 else data
        head = beginning_key(data)
        if head is None or not head.startswith(b"Status: ") or b"\0" in head:
            continue
        if not head.count(b"\r") == head.count(b"\n") == head.count(b"\r\n"):
            continue
        count += 1
        reader = WsgiReader(8190)
        reader.feed(data[: 8 + len(head)])
        assert reader.head is not None
        assert reader.head.script_lines is not None
        assert "\r\n".join(reader.head.script_lines) + "\r\n" == head.decode("latin-1")
        assert reader.buffered == 0
    assert count > 20


@pytest.mark.parametrize("seed", range(amount(3, 10)))
def test_a_head_is_split_as_line_by_line(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(300):
        output = b"".join(dice.choices((HEAD, *PIECES, b"\n", b"A:\t\xe9 \r\n"), k=dice.randrange(1, 6)))
        max_line = dice.choice((20, 8190))
        found = []
        for step in (max(1, len(output)), 1):
            reader = WsgiReader(max_line)
            for at in range(0, len(output), step):
                reader.feed(record(STDOUT, output[at : at + step]))
            reader.feed(FINISH[0])
            assert reader.head is not None
            found.append((reader.head.script_lines, reader.take()))
        assert found[0] == found[1]


class OneByOneReader(WsgiReader):
    """A reader of one record after the other."""

    __slots__ = ()

    def _read_output(self, data: bytes) -> int:
        """See WsgiReader."""
        return 0


@pytest.mark.parametrize("seed", range(amount(3, 10)))
def test_records_that_are_read_together_are_those_that_are_read_one_by_one(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(100):
        data = record(STDOUT, HEAD + b"\r\n" + b"x" * dice.randrange(3))
        for _ in range(dice.randrange(6)):
            kind = dice.choice([STDOUT] * 8 + [LOG, STDERR, 99])
            content = bytes([dice.randrange(256)]) * dice.choice((0, 1, 7, 300))
            padding = dice.choice((0, 0, 0, 3))
            data += bytes([1, kind, 0, 1, *len(content).to_bytes(2, "big"), padding, 0])
            data += content + bytes(padding)
        data += dice.choice((*FINISH, b"", b"\2"))
        whole = WsgiReader(8190)
        by_record = OneByOneReader(8190)
        found = []
        for reader in (whole, by_record):
            pieces = data
            try:
                for size in [dice.randrange(1, 400) for _ in range(9)] if reader is whole else [len(data)]:
                    reader.feed(pieces[:size])
                    pieces = pieces[size:]
                reader.feed(pieces)
            except BackendError as problem:
                found.append((str(problem), reader.take()))
                continue
            found.append((reader.take(), reader.done, reader.reusable, reader.errors, reader.messages))
        assert found[0] == found[1]
