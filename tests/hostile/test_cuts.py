"""Short form of cuts.py."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.raw_requests import FRAMING, HEADS, LINES
from tests.hostile.cuts import (
    CACHED,
    VARIANTS,
    CuttingWorker,
    compare,
    exhaustive,
    generated,
    lay_out,
    pieces_of,
)
from tests.hostile.mutations import ALPHABET, SEEDS
from tests.support.mutation import mutate

RAW = [
    text.encode("latin-1") for group in (FRAMING, HEADS, LINES) for text in group.values() if len(text) < 4000
]
FIRST = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
CUT = {
    "tail is another request": (FIRST[:-2] + b"X-A: 1\r\nX-B: ", b"GET /none HTTP/1.1\r\nHost: e\r\n\r\n"),
    "host after the cut": (b"GET / HTTP/1.0\r\n", b"Host: b.test\r\nX1: ", b"1\r\n\r\n"),
    "host after what is kept": (b"GET / HTTP/1.0\r\nHost: b.test\r\nX1: ", b"1\r\n\r\n"),
    "range in the tail": (FIRST[:-2], b"Range: bytes=0-1\r\n\r\n"),
    "body in the tail": (FIRST[:-2], b"Content-Length: 3\r\n\r\nabc"),
    "second host": (FIRST[:-2], b"Host: b.test\r\n\r\n"),
    "malformed line in the tail": (FIRST[:-2] + b"X-A: 1\r\nX", b" B: 2\r\n\r\n"),
    "second request cut in its first line": (FIRST + FIRST[:9], FIRST[9:]),
    "empty line first": (b"\r\n", FIRST, b"\r\n" + FIRST),
    "no end": (b"GET / HTTP/1.0",),
    "no empty line": (b"GET / HTTP/1.0\r\n",),
    "three bytes": (b"GET",),
    "NUL first": (b"\0000 GET http /a.txt localhost HTTP/2.0\r\nhost: localhost\r\n\r\n",),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("cuts")
    lay_out(found)
    return found


@pytest.fixture(scope="module", params=sorted(VARIANTS))
def desk(root: Path, request: pytest.FixtureRequest) -> Iterator[CuttingWorker]:
    made = CuttingWorker(root, request.param)
    yield made
    made.close()


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("warm", [False, True])
def test_the_rest_of_a_head_counts(desk: CuttingWorker, name: str, warm: bool) -> None:
    assert compare(desk, list(CUT[name]), warm=warm) == ""


def test_every_cut_of_cached_requests(root: Path) -> None:
    desk = CuttingWorker(root)
    inputs = [CACHED[1], CACHED[3] + CACHED[6], CACHED[13] + CACHED[2]]
    count, failures = exhaustive(desk, inputs)
    desk.close()
    assert failures == [] and count == sum(map(len, inputs))


@pytest.mark.parametrize("seed", range(3))
def test_random_cuts(desk: CuttingWorker, seed: int) -> None:
    choice = random.Random(seed)
    for _ in range(60):
        first, second = (
            choice.choice(
                (
                    choice.choice(RAW),
                    generated(choice),
                    mutate(choice.choice(CACHED), choice, ALPHABET, SEEDS),
                    choice.choice(CACHED),
                )
            )
            for _ in range(2)
        )
        data = (first + second if choice.random() < 0.4 else first)[:6000]
        assert compare(desk, pieces_of(data, choice), warm=choice.random() < 0.75) == ""
