"""Flushes: each content filter, and pairs of filters, behind sources that pause, beside apache2.

What apache2 passes on while a source pauses, Whimbrel does too. WHIMBREL_FLUSH_PAIRS: the number of pairs
(`all`: every pair); WHIMBREL_FLUSH_SEED: the seed of their choice.
"""

from __future__ import annotations

import itertools
import os
import random
import socket
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from tests.differential.paused_chains import FILTERS, SOURCES, Chain, Job, PausedSite, all_chains
from tests.differential.paused_sources import FIRST, HEAD, Received
from tests.differential.servers import APACHE, WHIMBREL
from tests.support.faulty_backend import reset

PAIRS: Final = os.environ.get("WHIMBREL_FLUSH_PAIRS", "16")
SEED: Final = int(os.environ.get("WHIMBREL_FLUSH_SEED", "1"))
COUNT: Final = 60  # bytes of a source that flushes after each of them
STEP: Final = 0.012  # seconds between two bytes
HELD_BACK: Final = {  # filters that hold all of the dripping body, in front of one that adds to flushes
    "substitute": "SUBSTITUTE;DEFLATE",
    "sed": "Sed;DEFLATE",
    "twice": "SUBSTITUTE;SUBSTITUTE;DEFLATE",
    "brotli-substitute": "SUBSTITUTE;BROTLI_COMPRESS",
}
SINGLE: Final[list[Chain]] = [(name,) for name in FILTERS]


def chains() -> list[Chain]:
    """Return the chains of this run."""
    pairs = [chain for chain in all_chains() if len(chain) == 2]
    return SINGLE + (pairs if PAIRS == "all" else random.Random(SEED).sample(pairs, int(PAIRS)))


@pytest.fixture(scope="module")
def sites() -> Iterator[tuple[PausedSite, PausedSite]]:
    """Return apache2 and Whimbrel with the same chains."""
    if not APACHE.present:
        pytest.skip("apache2 is not installed")
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        with PausedSite(APACHE, folder, chains()) as apache, PausedSite(WHIMBREL, folder, chains()) as own:
            assert apache.started and own.started, apache.output + own.output
            yield apache, own


def test_what_apache2_passes_on_at_a_pause_is_passed_on(sites: tuple[PausedSite, PausedSite]) -> None:
    jobs = [
        Job(chain, source, http2)
        for chain in chains()
        for source in (SOURCES if len(chain) == 1 else ("http", "cgi"))
        for http2 in (False, True)
    ]
    apache, own = (site.receive_all(jobs) for site in sites)
    late = [
        (job, theirs) for job, theirs, ours in zip(jobs, apache, own, strict=True) if missing(theirs, ours)
    ]
    # what a busy machine had delayed comes in time where nothing runs beside it
    held = {job: what for job, theirs in late if (what := missing(theirs, sites[1].receive(job)))}
    assert not held
    passed_on = [sum(bool(each.early) for each in site) for site in (apache, own)]
    print(f"{len(jobs)} requests; early parts: apache2 {passed_on[0]}, Whimbrel {passed_on[1]}")
    # the sources do pause, and both servers do pass on: else nothing was compared
    assert passed_on[0] > len(jobs) / 3


def missing(theirs: Received, ours: Received) -> str:
    """Return what of *theirs* is missing in *ours*, "" for nothing."""
    if theirs.had_head and not ours.had_head:
        return "head"
    # a filter behind a compressor may change its bytes, which then depend on the library
    is_same = ours.early.startswith(theirs.early) if ours.whole == theirs.whole else len(ours.early) > 0
    if theirs.early and not is_same:
        return f"{len(theirs.early)} bytes, here {len(ours.early)}"
    return "end" if theirs.ended and not ours.ended else ""


class Drip:
    """A back end whose answers *play* writes; a context manager."""

    def __init__(self, play: Callable[[socket.socket], None]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._play = play
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                wire, _ = self._listener.accept()
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with wire, suppress(OSError):
                    while data := wire.recv(65536):
                        if b"\r\n\r\n" in data:
                            self._play(wire)
                            break

    def __enter__(self) -> Drip:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def body_of(site: PausedSite, path: str, *, seconds: float = 10.0, until: bytes = b"") -> bytes:
    """Return the bytes of a response of HTTP/1.0 behind its head; *until*: reset the connection after it."""
    out = b""
    with socket.create_connection(("127.0.0.1", site.port)) as wire:
        wire.settimeout(seconds)
        wire.sendall(f"GET {path} HTTP/1.0\r\nAccept-Encoding: gzip, br\r\n\r\n".encode())
        while not (until and until in out) and (piece := wire.recv(65536)):
            out += piece
        if until:
            reset(wire)
    return out.partition(b"\r\n\r\n")[2]


def drip(wire: socket.socket) -> None:
    """Write a body of single bytes."""
    wire.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + HEAD + b"\r\n")
    for number in range(COUNT):
        wire.sendall(b"%c" % (97 + number % 26))
        time.sleep(STEP)


def cut(wire: socket.socket) -> None:
    """Write a compressed body that ends within a block."""
    packer = zlib.compressobj(wbits=31)
    begun = packer.compress(FIRST) + packer.flush(zlib.Z_SYNC_FLUSH)
    rest = packer.compress(os.urandom(20000)) + packer.flush()
    fields = HEAD + b"Content-Encoding: gzip\r\n"
    wire.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + fields + b"\r\n" + begun)
    time.sleep(10 * STEP)
    wire.sendall(rest[:500])


@pytest.fixture(scope="module")
def dripping() -> Iterator[dict[str, PausedSite]]:
    """Return both servers in front of back ends with bad bodies, by program."""
    if not APACHE.present:
        pytest.skip("apache2 is not installed")
    with tempfile.TemporaryDirectory() as base, Drip(drip) as dripping, Drip(cut) as cutting:
        more = f"ProxyPass /drip/ http://127.0.0.1:{dripping.port}/\nProxyPass /cut/ http://127.0.0.1:{cutting.port}/\n"
        more += "<Location /drip/deflate>\nSetOutputFilter DEFLATE\n</Location>\n"
        more += "<Location /drip/brotli>\nSetOutputFilter BROTLI_COMPRESS\n</Location>\n"
        for name, chain in HELD_BACK.items():
            more += f"<Location /drip/{name}>\nSetOutputFilter {chain}\n</Location>\n"
        more += "<Location /cut/>\nSetOutputFilter INFLATE\n</Location>\n"
        with (
            PausedSite(APACHE, Path(base), [], more) as apache,
            PausedSite(WHIMBREL, Path(base), [], more) as own,
        ):
            yield {"apache2": apache, "whimbrel": own}


@pytest.mark.parametrize("coding", ["deflate", "brotli"])
def test_flushes_after_each_byte_cost_no_more_than_in_apache2(
    dripping: dict[str, PausedSite], coding: str
) -> None:
    bodies = {name: body_of(site, f"/drip/{coding}") for name, site in dripping.items()}
    # bytes that reach one of the two together, on a busy machine, are flushed once there
    assert COUNT < len(bodies["whimbrel"]) <= 1.1 * len(bodies["apache2"])


@pytest.mark.parametrize("name", list(HELD_BACK))
def test_flushes_without_bytes_between_them_cost_nothing(dripping: dict[str, PausedSite], name: str) -> None:
    bodies = {program: body_of(site, f"/drip/{name}") for program, site in dripping.items()}
    assert 0 < len(bodies["whimbrel"]) <= len(bodies["apache2"]) < COUNT


def test_body_that_ends_within_a_block_ends_the_response_alike(dripping: dict[str, PausedSite]) -> None:
    bodies = {name: body_of(site, "/cut/") for name, site in dripping.items()}
    assert bodies["whimbrel"].startswith(FIRST)
    assert bodies["apache2"].startswith(FIRST)


def test_source_that_pauses_for_ever_is_released_with_its_client() -> None:
    ended = threading.Event()

    def stall(wire: socket.socket) -> None:
        wire.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + HEAD + b"\r\n" + FIRST)
        wire.settimeout(10)
        if wire.recv(1) == b"":
            ended.set()

    with tempfile.TemporaryDirectory() as base, Drip(stall) as backend:
        more = f"ProxyPass /stall/ http://127.0.0.1:{backend.port}/\n"
        more += "<Location /stall/>\nSetOutputFilter DEFLATE\n</Location>\n"
        with PausedSite(WHIMBREL, Path(base), [], more) as own:
            assert own.started, own.output
            data = body_of(own, "/stall/x", until=b"\0\0\xff\xff")
            assert zlib.decompressobj(31).decompress(data) == FIRST
            assert ended.wait(10)


SLEEPER: Final = """#!/bin/bash
trap 'exit 0' TERM
echo $$ > "%BASE%/pauses/pid"
printf 'Content-Type: text/html\\n\\n<p>begun</p>\\n'
while sleep 0.1; do :; done
"""


def test_program_that_pauses_for_ever_ends_with_its_client() -> None:
    chains = ("INCLUDES", "CAT", "INCLUDES;CAT;INCLUDES", "CAT;SUBSTITUTE")
    with tempfile.TemporaryDirectory() as base:
        more = "".join(
            f"<Location /cgi/{number}/>\nSetOutputFilter {chain}\n</Location>\n"
            for number, chain in enumerate(chains)
        )
        with PausedSite(WHIMBREL, Path(base), [], more) as own:
            assert own.started, own.output
            script, pid = own.root / "paused.cgi", own.root / "pauses/pid"
            pid.parent.chmod(0o777)
            script.write_text(SLEEPER.replace("%BASE%", str(own.root)))
            for number, delay in itertools.product(range(len(chains)), (0.0, 0.05)):
                pid.unlink(missing_ok=True)
                with socket.create_connection(("127.0.0.1", own.port)) as wire:
                    wire.sendall(f"GET /cgi/{number}/x HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                    wait_for(lambda: pid.exists() and pid.read_text().endswith("\n"))
                    time.sleep(delay)  # within the wait for further bytes, and behind it
                    reset(wire)
                program = Path("/proc", pid.read_text().strip())
                wait_for(lambda program=program: not program.exists())  # type: ignore[misc]
            assert "Task" not in own.errors() and "Traceback" not in own.errors()


def wait_for(condition: Callable[[], object]) -> None:
    """Wait for *condition*, ten seconds at most."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("option", ["-flush", ""])
def test_application_of_mod_fastcgi_flushes_with_its_option_alone(option: str) -> None:
    with tempfile.TemporaryDirectory() as base:
        place = Path(base, "paused.fcgi")
        place.touch()
        more = f"LoadModule fastcgi_module {WHIMBREL.module_dir}/mod_fastcgi.so\n"
        more += f"FastCgiExternalServer {place} -host 127.0.0.1:%FCGI% {option}\n"
        more += f'AliasMatch "^/fastcgi/" "{place}"\n<LocationMatch "^/fastcgi/">\n'
        more += "SetHandler fastcgi-script\nSetOutputFilter DEFLATE\n</LocationMatch>\n"
        more += f"<Directory {base}>\nRequire all granted\n</Directory>\n"
        with PausedSite(WHIMBREL, Path(base), [], more) as own:
            assert own.started, own.output
            received = own.receive(Job((), "fastcgi", http2=False))
    assert received.ended and received.whole.startswith(FIRST)
    assert received.early == (FIRST if option else b"")
