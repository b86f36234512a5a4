"""Parsing of the output of wrk, h2load and /proc."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench import h2load
from bench.documents import BY_NAME
from bench.errors import WrongResponse
from bench.load import done, percentile, script
from bench.process import output_of
from bench.servers import Server
from bench.times import Times

OUTPUT = """Running 1s test @ http://127.0.0.1:8080/1k.html
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   612.01us    1.01ms  12.33ms   94.13%
    Req/Sec    81.94k     6.93k   97.63k    70.00%
  Latency Distribution
     50%  262.00us
     75%  533.00us
     90%    1.40ms
     99%    4.39ms
  81523 requests in 1.00s, 101.23MB read
Requests/sec:  81523.00
Transfer/sec:    101.23MB
"""
SERVER = Server("whimbrel", [], 8080, [])


def test_what_wrk_says() -> None:
    assert done(OUTPUT, BY_NAME["1k"]) == (81523, 1.0)
    assert [percentile(OUTPUT, which) for which in ("50", "99")] == pytest.approx([0.262, 4.39])


def test_answers_with_another_status_are_no_figures() -> None:
    with pytest.raises(WrongResponse):
        done(OUTPUT, BY_NAME["404"])
    with pytest.raises(WrongResponse):
        done(OUTPUT + "  Non-2xx or 3xx responses: 3\n", BY_NAME["1k"])
    assert done(OUTPUT + "  Non-2xx or 3xx responses: 81523\n", BY_NAME["404"])[0] == 81523
    with pytest.raises(WrongResponse):
        done(OUTPUT + "  Socket errors: connect 0, read 1, write 0, timeout 0\n", BY_NAME["1k"])


def test_times_by_rank() -> None:
    times = h2load.times((f"17952\t200\t{n * 1000}\n" for n in (5, 1, 4, 2, 3)), BY_NAME["1k"])
    assert (times.count, times.at(0.5), times.at(0.8), times.at(0.81), times.at(1.0)) == (
        5,
        3.0,
        4.0,
        5.0,
        5.0,
    )
    hundred = Times([float(n) for n in range(1, 101)])
    assert (hundred.at(0.5), hundred.at(0.99), hundred.at(0.999)) == (50.0, 99.0, 100.0)


@pytest.mark.parametrize("lines", [[], ["1\t200\t5\n", "2\t503\t5\n"], ["1\t-1\t5\n"]])
def test_a_log_without_answers_or_with_wrong_ones(lines: list[str]) -> None:
    with pytest.raises(WrongResponse):
        h2load.times(lines, BY_NAME["1k"])


def test_what_was_asked_before_or_after_the_measurement_does_not_count() -> None:
    starts = {7_000_000: 1, 7_999_999: 2, 8_000_000: 3, 9_999_999: 4, 10_000_000: 5}
    log = [f"{start}\t200\t{took * 1000}\n" for start, took in starts.items()]
    assert h2load.times(log, BY_NAME["1k"], 2).sorted == [3.0, 4.0]
    assert h2load.times(log, BY_NAME["1k"]).count == 5
    with pytest.raises(WrongResponse):
        h2load.times(["7000000\t503\t5\n", *log], BY_NAME["1k"], 2)
    with pytest.raises(WrongResponse):
        h2load.times(log[:2], BY_NAME["1k"], 2)


@pytest.mark.parametrize("rate", [40_000.0, 9_000.0, 3_200.0, 2_909.1, 2_000.0, 500.0])
def test_connections_have_their_moments_spread_over_the_tick(rate: float) -> None:
    tick, wait = max(10.0, 32_000 / rate), h2load.apart(rate, 32)
    moments = [number * wait % tick for number in range(32)]
    slots = [sum(1 for moment in moments if n <= moment * 8 / tick < n + 1) for n in range(8)]
    assert all(2 <= count <= 8 for count in slots)
    assert 31 * wait < 1000 * h2load.WARM_UP


def test_the_rate_is_that_of_all_connections_together() -> None:
    argv = h2load.command(SERVER, BY_NAME["h2c"], 3, Path("log"), 3200.0)
    assert "--rps=100.0000" in argv
    assert "-c32" in argv
    assert {"-n13600", "-r1"} <= set(argv)
    assert not [
        word
        for word in h2load.command(SERVER, BY_NAME["h2c"], 3, Path("log"), None)
        if word.startswith("--rps")
    ]


def test_urls_never_asked_before_differ_between_runs() -> None:
    first, second = (script(BY_NAME["1k-fresh"], SERVER)[1] for _ in range(2))
    assert first[:2] == second[:2] == ["--", "?q="]
    assert first[2] != second[2]


def test_a_program_that_fails_is_told() -> None:
    assert output_of([sys.executable, "-c", "print(6 * 7)"], None) == "42\n"
    with pytest.raises(subprocess.CalledProcessError) as told:
        output_of([sys.executable, "-c", "import sys; print('no'); sys.exit(3)"], None)
    assert (told.value.returncode, told.value.output) == (3, "no\n")
