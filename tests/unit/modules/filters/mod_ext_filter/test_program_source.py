"""Programs that misbehave: a complete response or an error, never a part of one that seems whole."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.support.client import Reply, decoded_body, error_log, fetch
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine

CONF = """LoadModule ext_filter_module modules/mod_ext_filter.so
LoadModule reflector_module modules/mod_reflector.so
TimeOut 1
ExtFilterDefine f cmd="@/conf/f.sh"
SetOutputFilter f
ExtFilterDefine in mode=input cmd="@/conf/f.sh"
<Location /r>
SetHandler reflector
SetOutputFilter none
SetInputFilter in
</Location>
"""
BIG = "abc def\n" * 50_000
FILES = {"htdocs/a.txt": "small words\n", "htdocs/big.txt": BIG}


def engine(root: Path, script: str) -> Engine:
    """An engine whose filter program is *script*."""
    served = build_engine(root, CONF, {**FILES, "conf/f.sh": f"#!/bin/sh\n{script}\n"})
    (root / "conf/f.sh").chmod(0o755)
    return served


def is_truncated(reply: Reply) -> bool:
    """Return True if the chunked body has no last chunk."""
    return reply.get("Transfer-Encoding") == "chunked" and not reply.body.endswith("0\r\n\r\n")


def children() -> list[str]:
    """The processes whose parent is this one."""
    out = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{name}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat[1]) == os.getpid():
            out.append(name)
    return out


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("head -c 10; kill -SEGV $$", "was ended by signal 11"),
        ("kill -KILL $$", "was ended by signal 9"),
    ],
)
def test_failures_before_the_head(tmp_path: Path, script: str, reason: str) -> None:
    served = engine(tmp_path, script)
    assert [fetch(served, path).status for path in ("/a.txt", "/big.txt")] == [500, 500]
    assert reason in error_log(served)


@pytest.mark.parametrize("script", ["cat", "cat; exit 1", "cat; sleep 0.2; exit 3"])
def test_the_status_of_a_program_that_has_read_its_input_does_not_matter(tmp_path: Path, script: str) -> None:
    """As in httpd; a program that has left input behind has failed."""
    served = engine(tmp_path, script)
    for path in ("/a.txt", "/big.txt"):
        reply = fetch(served, path)
        assert reply.status == 200 and not is_truncated(reply)
    served = engine(tmp_path / "part", "head -c 10; exit 3")
    assert [fetch(served, path).status for path in ("/a.txt", "/big.txt")] == [200, 500]
    assert "ended with status 3" in error_log(served)


@pytest.mark.parametrize("script", ["cat; kill -SEGV $$", "head -c 300000; exit 1"])
def test_failures_behind_the_head(tmp_path: Path, script: str) -> None:
    assert is_truncated(fetch(engine(tmp_path, script), "/big.txt"))


def test_an_error_without_output_is_an_empty_response_as_in_httpd(tmp_path: Path) -> None:
    served = engine(tmp_path, "cat >/dev/null; exit 3")
    reply = fetch(served, "/a.txt")
    assert (reply.status, reply.body, reply.get("Content-Length")) == (200, "", "0")
    assert fetch(engine(tmp_path / "unread", "exit 3"), "/a.txt").status == 200
    assert fetch(engine(tmp_path / "large", "exit 3"), "/big.txt").status == 500


def test_a_program_may_ignore_the_rest_of_its_input(tmp_path: Path) -> None:
    reply = fetch(engine(tmp_path, "head -c 10"), "/big.txt")
    assert (reply.status, reply.body) == (200, "abc def\nab")


def test_a_program_that_neither_reads_nor_writes(tmp_path: Path) -> None:
    served = engine(tmp_path, "exec sleep 30")
    began = time.monotonic()
    assert [fetch(served, path).status for path in ("/a.txt", "/big.txt")] == [500, 500]
    assert time.monotonic() - began < 10
    assert "(70007)The timeout specified has expired" in error_log(served)


def test_a_program_that_closes_its_output_early(tmp_path: Path) -> None:
    served = engine(tmp_path, "exec >&-; sleep 5")
    assert fetch(served, "/big.txt").status == 500
    assert "closed its output before it had read its input" in error_log(served)


def test_another_length_than_announced(tmp_path: Path) -> None:
    conf = CONF.replace("ExtFilterDefine f cmd", "ExtFilterDefine f PreservesContentLength cmd")
    served = build_engine(tmp_path, conf, {**FILES, "conf/f.sh": "#!/bin/sh\nhead -c 300000\n"})
    (tmp_path / "conf/f.sh").chmod(0o755)
    reply = fetch(served, "/big.txt")
    assert len(reply.body) < int(reply.get("Content-Length") or 0)
    assert "changed the length of the content" in error_log(served)


def test_input_filters_that_fail(tmp_path: Path) -> None:
    served = engine(tmp_path, "head -c 4; kill -KILL $$")
    assert fetch(served, "/r", method="POST", body="some body").status == 400
    reply = fetch(engine(tmp_path / "x", "head -c 4"), "/r", method="POST", body="some body")
    assert decoded_body(reply) == "some"


def test_no_process_is_left(tmp_path: Path) -> None:
    before = set(children())
    served = engine(tmp_path, "cat")
    for _ in range(20):
        assert fetch(served, "/a.txt").status == 200
    for script in ("yes", "head -c 10; exit 1", "exec >&-; sleep 5"):
        fetch(engine(tmp_path / script[:3], script), "/big.txt", method="HEAD")
    end = time.monotonic() + 8
    while set(children()) - before and time.monotonic() < end:
        os.waitpid(-1, os.WNOHANG)
        time.sleep(0.1)
    assert set(children()) <= before
