"""Numbers of the MPMs: warnings and corrections of 2.4.71 (event, worker, prefork) and 2.2.34 (prefork)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.site import PREAMBLE, Site

from whimbrel.base.dialect import V22
from whimbrel.config.mpm_config import MpmConfig

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"
TO_INCREASE = "To increase, please see the ServerLimit directive."
FAILURE = "increasing to 1 to avoid almost certain server failure. Please read the documentation."


def warnings(tmp_path: Path, conf: str, mpm: str = "event") -> list[str]:
    """Return the output of -t before Syntax OK."""
    before = tuple(line.replace("mpm_event", f"mpm_{mpm}") for line in PREAMBLE["2.4"])
    *said, last = Site(tmp_path, conf + "\n").check(before=before).splitlines()
    assert last == "Syntax OK"
    return said


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        (
            "ServerLimit 20001",
            [
                "AH00497: WARNING: ServerLimit of 20001 exceeds compile-time limit of 20000 servers, "
                "decreasing to 20000."
            ],
        ),
        (
            "ServerLimit 0",
            [
                "AH00499: WARNING: ServerLimit of 0 not allowed, increasing to 1.",
                "AH00515: WARNING: MaxRequestWorkers of 400 would require 16 servers and would exceed "
                "ServerLimit of "
                f"1, decreasing to 25. {TO_INCREASE}",
            ],
        ),
        (
            "ThreadLimit 200001",
            [
                "AH00502: WARNING: ThreadLimit of 200001 exceeds compile-time limit of 100000 threads, "
                "decreasing to 100000."
            ],
        ),
        (
            "ThreadsPerChild 65",
            [
                "AH00507: WARNING: ThreadsPerChild of 65 exceeds ThreadLimit of 64 threads, decreasing to "
                "64. To "
                "increase, please see the ThreadLimit directive.",
                "AH00513: WARNING: MaxRequestWorkers of 400 is not an integer multiple of ThreadsPerChild "
                "of 64, decreasing to nearest multiple 384, "
                "for a maximum of 6 servers.",
            ],
        ),
        (
            "MaxRequestWorkers 3",
            [
                "AH00511: WARNING: MaxRequestWorkers of 3 is less than ThreadsPerChild of 25, increasing to "
                "25. "
                "MaxRequestWorkers must be at least as large as the number of threads in a single server."
            ],
        ),
        ("StartServers 0", ["AH00517: WARNING: StartServers of 0 not allowed, increasing to 1."]),
        ("MinSpareThreads 0", [f"AH00519: WARNING: MinSpareThreads of 0 not allowed, {FAILURE}"]),
        ("MaxClients 100", []),
        ("MaxRequestWorkers 400", []),
    ],
)
def test_event(tmp_path: Path, conf: str, said: list[str]) -> None:
    assert warnings(tmp_path, conf) == said


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        (
            "ThreadLimit 200001",
            [
                "AH00305: WARNING: ThreadLimit of 200001 exceeds compile-time limit of 20000 threads, "
                "decreasing to 20000."
            ],
        ),
        (
            "MaxRequestWorkers 800",
            [
                "AH00318: WARNING: MaxRequestWorkers of 800 would require 32 servers and would exceed "
                "ServerLimit of "
                f"16, decreasing to 400. {TO_INCREASE}"
            ],
        ),
        ("MinSpareThreads 0", [f"AH00322: WARNING: MinSpareThreads of 0 not allowed, {FAILURE}"]),
    ],
)
def test_worker(tmp_path: Path, conf: str, said: list[str]) -> None:
    assert warnings(tmp_path, conf, "worker") == said


EXCEEDS = (
    "AH00180: WARNING: MaxRequestWorkers of {} exceeds ServerLimit value of {} servers, decreasing "
    "MaxRequestWorkers to {}. " + TO_INCREASE
)


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        (
            "ServerLimit 0",
            ["AH00177: WARNING: ServerLimit of 0 not allowed, increasing to 1.", EXCEEDS.format(256, 1, 1)],
        ),
        ("MaxRequestWorkers 257", [EXCEEDS.format(257, 256, 256)]),
        ("ServerLimit 2\nMaxRequestWorkers 3", [EXCEEDS.format(3, 2, 2)]),
        ("MaxClients -1", ["AH00182: WARNING: MaxRequestWorkers of -1 not allowed, increasing to 1."]),
        ("StartServers 0", ["AH00184: WARNING: StartServers of 0 not allowed, increasing to 1."]),
        ("MinSpareServers 0", [f"AH00186: WARNING: MinSpareServers of 0 not allowed, {FAILURE}"]),
    ],
)
def test_prefork(tmp_path: Path, conf: str, said: list[str]) -> None:
    assert warnings(tmp_path, conf, "prefork") == said


@pytest.mark.parametrize(
    ("conf", "said", "workers"),
    [
        (
            "MaxClients 300",
            [
                "WARNING: MaxClients of 300 exceeds ServerLimit value of 256 servers,",
                " lowering MaxClients to 256.  To increase, please see the ServerLimit",
                " directive.",
            ],
            256,
        ),
        (
            "ServerLimit 10\nMaxClients 20",
            [
                "WARNING: MaxClients of 20 exceeds ServerLimit value of 10 servers,",
                " lowering MaxClients to 10.  To increase, please see the ServerLimit",
                " directive.",
            ],
            10,
        ),
        ("MaxClients 0", ["WARNING: Require MaxClients > 0, setting to 1"], 1),
        ("MaxClients 20\nServerLimit 10", [], 10),
        ("MaxClients 256", [], 256),
    ],
)
def test_22(tmp_path: Path, conf: str, said: list[str], workers: int) -> None:
    site = Site(tmp_path, conf + "\n")
    assert site.check("2.2").splitlines() == [*said, "Syntax OK"]
    assert site.load(V22).main.config(MpmConfig).max_workers == workers


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ListenBackLog 2147483648", "ListenBacklog must be > 0"),
        ("ListenCoresBucketsRatio x", "ListenCoresBucketsRatio must be > 0"),
        ("SendBufferSize 511", "SendBufferSize must be >= 512 bytes, or 0 for system default."),
        ("AsyncRequestWorkerFactor 3x", "error parsing value"),
        ("AsyncRequestWorkerFactor 0", "AsyncRequestWorkerFactor argument must be a positive number"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


def test_corrected_numbers_are_what_the_server_gets(tmp_path: Path) -> None:
    conf = Site(tmp_path, "ThreadsPerChild 65\n").load().main.config(MpmConfig)
    assert (conf.threads_per_child, conf.max_workers) == (64, 384)
