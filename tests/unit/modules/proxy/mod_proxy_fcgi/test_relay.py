"""Answers of FastCGI applications that are recognized in one piece: head and body are those of the reader."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.support.fastcgi_application import record
from tests.support.samples import amount

from whimbrel.backends.fastcgi import FastcgiReader, RecordType, complete_output
from whimbrel.http.client.answer import BackendError
from whimbrel.modules.proxy.mod_proxy_fcgi import relay
from whimbrel.modules.proxy.mod_proxy_fcgi.relay import FcgiRelay, one_piece_reader, output_key
from whimbrel.modules.support.backend_relay import MAX_SEEN

STDOUT, STDERR, END = RecordType.STDOUT, RecordType.STDERR, RecordType.END_REQUEST
FINISH = record(END, bytes(8))
PIECES = (b"A: b\r\n", b"\r\n", b"\n", b"\n\n", b"\r\n\r\n", b"body", b"\r", b"\0", b"", b"x" * 300)


def random_answer(dice: random.Random) -> bytes:
    """Return records that a program may send, and some that it may not."""
    out = record(STDOUT, b"A: b\r\nC: d") if dice.random() < 0.7 else b""
    for _ in range(dice.randrange(5)):
        kind = dice.choice([STDOUT] * 20 + [STDERR, RecordType.PARAMS, 99])
        data = b"".join(dice.choices(PIECES, k=dice.randrange(5)))
        out += record(kind, data)
    out += dice.choice([FINISH] * 8 + [b"", FINISH[:-3], FINISH * 2, FINISH + b"x"])
    if dice.random() < 0.1:
        at = dice.randrange(len(out) + 1)
        out = out[:at] + bytes([dice.randrange(256)]) + out[at + 1 :]
    return out


@pytest.mark.parametrize("seed", range(amount(6, 20)))
def test_a_recognized_answer_is_that_of_the_reader(seed: int) -> None:
    dice, heads = random.Random(seed), 0
    for _ in range(400):
        data = random_answer(dice)
        found = output_key(data)
        if found is None:
            continue
        reader = FastcgiReader()
        try:
            reader.feed(data)
        except BackendError:
            pytest.fail(f"recognized: {data!r}")
        assert reader.done
        assert not (reader.rest or reader.errors or reader.messages)
        key, body = found
        assert reader.head is not None
        assert reader.head.script_lines is not None
        lines = key.removeprefix(b"\0") if not body else key
        if reader.take() == body:  # else the first empty line is not where the head ends: not offered
            heads += 1
            assert "\n".join(reader.head.script_lines) == lines.decode("latin-1").replace("\r\n", "\n")[:-1]
    assert heads > 10


def test_every_byte_belongs_to_the_output() -> None:
    padded = bytes([1, STDOUT, 0, 1, 0, 2, 3, 0]) + b"ab" + b"pad"
    assert complete_output(padded + record(STDOUT, b"c") + FINISH) == b"abc"
    for data in (padded, padded[:-1], FINISH[:-1], FINISH + b"\0", b"", record(STDERR, b"") + FINISH):
        assert complete_output(data) is None


def test_an_answer_in_pieces_is_not_whole() -> None:
    data = record(STDOUT, b"A: b\r\n\r\nbody") + FINISH
    reader, other = one_piece_reader(keep=False), one_piece_reader(keep=False)
    reader.feed(data)
    other.feed(data[:9])
    other.feed(data[9:])
    assert (reader.received, other.received) == (data, b"")
    assert reader.done
    assert other.done


@pytest.mark.parametrize(
    "line", ["Date: x", "status: 404 X", "LOCATION : /", "Etag: x", "Last-Modified:", "A: b\rc", "A: \0"]
)
def test_fields_with_rules_of_their_own_are_not_recognized(line: str) -> None:
    assert relay._OWN_RULES(f"A: b\r\n{line}\r\n\r\n".encode())
    assert relay._OWN_RULES(f"{line}\n\n".encode())
    assert not relay._OWN_RULES(b"X-Date: x\r\nContent-Type: a/b\r\nSet-Cookie: date: x\r\n\r\n")


def test_another_length_of_the_port_is_sent_by_the_general_path() -> None:
    exchange: Any = SimpleNamespace(
        r=SimpleNamespace(connection=SimpleNamespace(client_port=4711)),
        route=SimpleNamespace(endpoint=SimpleNamespace(addresses=("/none",), pool=None)),
        backend=SimpleNamespace(
            state=SimpleNamespace(is_usable=True),
            worker=SimpleNamespace(parameters=SimpleNamespace(timeout=1.0)),
        ),
        call=None,
    )
    own = FcgiRelay(exchange, (b"a", b"b"), keeps=False)
    client: Any = SimpleNamespace(connection=SimpleNamespace(client_port=47110))
    assert own.send(cast(Any, None), cast(Any, None), client, 0.0) is None
    for number in range(MAX_SEEN * 2):
        own.seen.has_seen(number)
    assert len(own.seen) <= MAX_SEEN


def test_bounds_are_those_of_the_documentation() -> None:
    assert relay.MAX_HEAD == 2048
