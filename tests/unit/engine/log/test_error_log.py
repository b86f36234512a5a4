"""Lines that come once for each connection and each request, as 2.4.71 writes them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.modules.asked import engine

from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient

CONF = """ErrorLogFormat "%M"
ErrorLogFormat connection "connection"
ErrorLogFormat request "request of %{User-Agent}i"
ErrorLogFormat request "from '%+{Referer}i'"
LogFormat "%L" id
CustomLog logs/ids id
"""


def said(serving: Engine, name: str) -> list[str]:
    logs = serving.runtime.logs  # type: ignore[attr-defined]
    return b"".join(next((v for k, v in logs.items() if k.endswith(name)), [])).decode("latin-1").splitlines()


def test_further_lines_come_before_the_first_message(tmp_path: Path) -> None:
    serving = engine(
        tmp_path, CONF + "<Location /a.txt>\nRequire all denied\n</Location>", {"htdocs/a.txt": "A\n"}
    )
    client = TestClient(serving, Connection("127.0.0.1", 5, "127.0.0.1", 80))
    for extra in ("User-Agent: x\r\n", "User-Agent: y\r\nReferer: http://r/\r\n"):
        client.send(f"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n{extra}\r\n".encode())
    lines = [line.partition(": client denied")[0] for line in said(serving, "error_log")]
    assert lines == ["connection", "request of x", "AH01630", "request of y", "from 'http://r/'", "AH01630"]


def test_lines_about_htaccess_files_name_no_client(tmp_path: Path) -> None:
    """Warnings about a file's lines, and about an unreadable file, precede the messages about the request."""
    conf = '<Directory "@/htdocs">\nAllowOverride Nonfatal=All\n</Directory>'
    files = {
        "htdocs/w/.htaccess": "Foo x\nPassEnv NO_SUCH\n",
        "htdocs/w/a.txt": "A\n",
        "htdocs/n/.htaccess/x": "",
        "htdocs/n/a.txt": "A\n",
    }
    client = TestClient(engine(tmp_path, conf, files), Connection("127.0.0.1", 5, "127.0.0.1", 80))
    for folder in "wn":
        client.send(f"GET /{folder}/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    lines = [
        re.sub(r"\[pid [^]]*\] ", "", line[line.index("] ") + 2 :]).replace(str(tmp_path), "@")
        for line in said(client.engine, "error_log")
    ]
    assert lines[:3] == [
        "[core:warn] AH02296: Unknown directive foo perhaps misspelled or defined by a module not included "
        "in the server configuration",
        "[core:warn] AH02295: PassEnv in .htaccess forbidden by AllowOverride",
        "[core:error] AH00554: Access to file @/htdocs/n/.htaccess denied by server: not a regular file",
    ]
    assert lines[3].startswith(
        "[core:crit] (9)Bad file descriptor: [client 127.0.0.1:5] AH00529: @/htdocs/n/.htaccess "
        "pcfg_openfile: unable"
    )


def test_warnings_about_an_htaccess_file_come_once_for_each_request(tmp_path: Path) -> None:
    conf = '<Directory "@/htdocs">\nAllowOverride Nonfatal=Unknown Indexes\n</Directory>'
    files = {"htdocs/.htaccess": "Foo x\nDirectoryIndex a.html b.html\n", "htdocs/b.html": "B\n"}
    client = TestClient(engine(tmp_path, conf, files), Connection("127.0.0.1", 5, "127.0.0.1", 80))
    for count in (1, 2):
        client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert sum("AH02296" in line for line in said(client.engine, "error_log")) == count


def test_the_access_log_names_a_request_as_the_error_log_does(tmp_path: Path) -> None:
    conf = CONF.replace('"%M"', '"%L %M"') + "<Location /a.txt>\nRequire all denied\n</Location>"
    serving = engine(tmp_path, conf, {"htdocs/a.txt": "A\n", "htdocs/b.txt": "B\n"})
    client = TestClient(serving, Connection("127.0.0.1", 5, "127.0.0.1", 80))
    for _ in range(3):
        client.send(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
    client.send(b"GET /b.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
    ids = [line.split()[0] for line in said(serving, "error_log") if "AH01630" in line]
    assert len(set(ids)) == 3
    assert said(serving, "ids") == [*ids, "-"]


def test_old_lines_end_after_8190_bytes(tmp_path: Path) -> None:
    """As recorded from 2.2.34: the time counts, the end of the line doesn't."""
    text = "x" * 8100
    serving = engine(
        tmp_path,
        "<Directory @/htdocs>\nAllowOverride All\n</Directory>",
        {"htdocs/.htaccess": f"{text}\n", "htdocs/a.txt": "A"},
        "2.2",
    )
    TestClient(serving, Connection("127.0.0.1", 5, "127.0.0.1", 80)).send(
        b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    assert [len(line) for line in said(serving, "error_log")] == [8190]


def test_old_lines_about_unknown_filters_name_no_client(tmp_path: Path) -> None:
    serving = engine(tmp_path, "SetOutputFilter nosuch", {"htdocs/a.txt": "A"}, "2.2")
    client = TestClient(serving, Connection("127.0.0.1", 5, "127.0.0.1", 80))
    for count in (1, 2):
        client.send(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert [line.partition("] ")[2] for line in said(serving, "error_log")] == [
            "[error] an unknown filter was not added: nosuch"
        ] * count
