"""What is read from wrk, h2load and /proc."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench import h2load
from bench.answers import WrongAnswer
from bench.documents import BY_NAME
from bench.load import done, percentile, script
from bench.process import output_of
from bench.servers import Server

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
    with pytest.raises(WrongAnswer):
        done(OUTPUT, BY_NAME["404"])
    with pytest.raises(WrongAnswer):
        done(OUTPUT + "  Non-2xx or 3xx responses: 3\n", BY_NAME["1k"])
    assert done(OUTPUT + "  Non-2xx or 3xx responses: 81523\n", BY_NAME["404"])[0] == 81523
    with pytest.raises(WrongAnswer):
        done(OUTPUT + "  Socket errors: connect 0, read 1, write 0, timeout 0\n", BY_NAME["1k"])


def test_times_by_rank() -> None:
    times = h2load.times((f"17952\t200\t{n * 1000}\n" for n in (5, 1, 4, 2, 3)), BY_NAME["1k"])
    assert (times.count, times.at(0.5), times.at(0.8), times.at(0.81), times.at(1.0)) == (5, 3.0, 4.0, 5.0, 5.0)
    hundred = h2load.Times([float(n) for n in range(1, 101)])
    assert (hundred.at(0.5), hundred.at(0.99), hundred.at(0.999)) == (50.0, 99.0, 100.0)


@pytest.mark.parametrize("lines", [[], ["1\t200\t5\n", "2\t503\t5\n"], ["1\t-1\t5\n"]])
def test_a_log_without_answers_or_with_wrong_ones(lines: list[str]) -> None:
    with pytest.raises(WrongAnswer):
        h2load.times(lines, BY_NAME["1k"])


def test_what_was_asked_before_the_measurement_began_does_not_count() -> None:
    assert h2load.times(["1\t0\t9000\n", "2\t200\t5000\n"], BY_NAME["1k"]).sorted == [5.0]
    with pytest.raises(WrongAnswer):
        h2load.times(["1\t0\t9000\n"] * 1000, BY_NAME["1k"])


def test_the_rate_is_that_of_all_connections_together() -> None:
    argv = h2load.command(SERVER, BY_NAME["1k"], 3, Path("log"), 3200.0)
    assert "--rps=100.0000" in argv
    assert "-c32" in argv
    assert "--h1" in argv
    assert not [word for word in h2load.command(SERVER, BY_NAME["h2c"], 3, Path("log"), None) if word.startswith("--rps") or word == "--h1"]


def test_urls_never_asked_before_differ_between_runs() -> None:
    first, second = (script(BY_NAME["1k-fresh"])[1] for _ in range(2))
    assert first[:2] == second[:2] == ["--", "?q="]
    assert first[2] != second[2]


def test_a_program_that_fails_is_told() -> None:
    assert output_of([sys.executable, "-c", "print(6 * 7)"], None) == "42\n"
    with pytest.raises(subprocess.CalledProcessError) as told:
        output_of([sys.executable, "-c", "import sys; print('no'); sys.exit(3)"], None)
    assert (told.value.returncode, told.value.output) == (3, "no\n")
