"""The document tree and the requests that an access log gives."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from bench.configs import SITES
from bench.documents import BY_NAME
from bench.errors import WrongResponse
from bench.load import SCRIPTS
from bench.process import Running
from bench.replay import DOCUMENTS, MAX_SIZE, REQUESTS, Tree, check, errors_among, parse, prepare
from bench.run import arguments
from bench.runner import Plan
from bench.servers import prepare as prepare_server
from bench.servers import program

from whimbrel.testing.ports import free_port

LINE = '{client} - - [17/May/2015:10:05:03 +0000] "{request}" {status} {size} "{referer}" "{agent}"\n'
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:27.0) Gecko/20100101 Firefox/27.0"


def line(request: str, status: int = 200, size: object = 500, **more: str) -> str:
    words = {"client": "192.0.2.1", "referer": "-", "agent": FIREFOX} | more
    return LINE.format(request=request, status=status, size=size, **words)


LOG = (
    line("GET /a/page.html HTTP/1.1", referer="http://example.org/a/")
    + line("GET /a/page.html HTTP/1.1", 304, "-")
    + line("GET /a/page.html HTTP/1.1", 206, 100)
    + line("GET /a/page.html HTTP/1.1", 416, 300)
    + line("GET /a HTTP/1.1", 301, 300)
    + line("GET /a/ HTTP/1.0", 200, 700, client="192.0.2.2", agent="Googlebot/2.1")
    + line("GET /gone HTTP/1.1", 404, 300, agent="-", client="192.0.2.3")
    + line("GET /big?query=1 HTTP/1.1", 200, 54_306_753)
    + line("GET /a%20b HTTP/1.1", 200, 11)
    + line("GET /b/ HTTP/1.1", 301, 11)
    + line("POST /a/page.html HTTP/1.1")
    + line("HEAD /a/page.html HTTP/1.1")
    + line("GET /a/../b HTTP/1.1")
    + line("GET /a/page.html HTTP/1.1", 500)
    + "no line of the format\n"
)


def test_paths_of_the_log_become_documents_and_directories() -> None:
    lines, left_out = parse(LOG)
    tree = Tree.of(lines)
    assert (len(lines), left_out) == (10, 5)
    assert tree.documents == {"/a/page.html": 500, "/a/": 700, "/big": MAX_SIZE, "/a b": 11}
    found = [(one.status, one.length, one.conditions) for one in map(tree.request, lines)]
    assert found == [
        (200, 500, ""),
        (304, 0, "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT\r\n"),
        (206, 100, "Range: bytes=0-99\r\n"),
        (416, None, "Range: bytes=500-\r\n"),
        (301, None, ""),
        (200, 700, ""),
        (404, None, ""),
        (200, MAX_SIZE, ""),
        (200, 11, ""),
        (404, None, ""),
    ]


def test_heads_have_the_fields_of_the_log() -> None:
    lines, _left_out = parse(LOG)
    first, *_others, bot, gone = map(Tree.of(lines).request, lines[:7])
    assert first.before == "GET /a/page.html HTTP/1.1\r\nHost: localhost\r\n"
    assert "\r\nAccept-Language: " in first.after
    assert first.after.endswith("\r\nReferer: http://example.org/a/\r\n\r\n")
    assert (bot.before.split("\r\n")[0], bot.after) == ("GET /a/ HTTP/1.0", "Accept: */*\r\n\r\n")
    assert "Referer" not in gone.after


def test_errors_among_the_first_requests(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(LOG)
    requests, summary = prepare(log, tmp_path)
    bad = [one.status >= 400 for one in requests]
    assert [errors_among(tmp_path / REQUESTS, count) for count in (3, 4, 7, 10, 24)] == [0, 1, 2, 3, 7]
    assert sum(bad) == 3
    assert summary.startswith(
        "10 requests of 3 clients (4 200, 1 206, 1 301, 1 304, 2 404, 1 416); 90.0% have"
    )
    assert (tmp_path / DOCUMENTS / "a" / "index.html").stat().st_size == 700


@pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not on this machine")
def test_wrk_sends_the_requests_in_order_and_then_with_other_agents(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG)
    prepare(tmp_path / "log", tmp_path)
    listener, heads = socket.create_server(("127.0.0.1", 0)), []

    def serve() -> None:
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            with client:
                head = client.recv(65536).decode("latin-1")
                heads.append(head)
                client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")

    threading.Thread(target=serve, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    argv = ["wrk", "-t1", "-c1", "-d1s", "-s", SCRIPTS / "replay.lua", url, "--", tmp_path / REQUESTS]
    subprocess.run(argv, check=True, capture_output=True, timeout=20)
    listener.close()
    wanted = [f"GET {one.target} {one.version}" for one in parse(LOG)[0]]
    targets = [head.partition("\r\n")[0] for head in heads if head]
    # wrk calls request() once before it sends anything
    assert targets[:20] == (wanted * 3)[1:21]
    pages = [head for head in heads if head.startswith(wanted[0]) and "Referer" in head]
    agents = [[one for one in head.split("\r\n") if one.startswith("User-Agent")] for head in pages[:3]]
    assert agents == [["User-Agent: Googlebot/2.1"], [], [f"User-Agent: {FIREFOX}"]]


@pytest.mark.parametrize("name", ["whimbrel", "apache", "nginx"])
def test_servers_answer_as_the_tree_requires(name: str, open_path: Path) -> None:
    if program(name) is None:
        pytest.skip(f"{name} is not on this machine")
    (open_path / "log").write_text(LOG)
    requests, _summary = prepare(open_path / "log", open_path)
    for path in [open_path, *open_path.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (1_600_000_000, 1_600_000_000))
    server = prepare_server(name, open_path, free_port(), "replay")
    with Running(server, None):
        check(requests, server)
        (open_path / DOCUMENTS / "a" / "page.html").write_text("shorter")
        with pytest.raises(WrongResponse, match=r"/a/page.html: 200, 7 bytes; expected 200, 500"):
            check(requests[:1], server)


def test_the_row_needs_the_log(tmp_path: Path) -> None:
    options = arguments(["--cases", "replay"])
    assert Plan(options, tmp_path, ["apache"]).cases == []
    requests = [Tree().request(parse(line("GET / HTTP/1.1", 404))[0][0])]
    assert Plan(options, tmp_path, ["apache"], requests=requests).cases == [BY_NAME["replay"]]
    assert SITES[BY_NAME["replay"].site].documents == DOCUMENTS
