"""A real httpd beside the comparison: its process."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import laid
from tests.unit.verify.sites import make_root, side

from whimbrel.base.errors import SourceLocation
from whimbrel.config.options import LoadOptions
from whimbrel.directives.node import Node
from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Cause
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.difference import Difference
from whimbrel.verify.loading import load_side
from whimbrel.verify.probe import Probe, ProbeUser, TlsFacts
from whimbrel.verify.real_server import (
    _load_lines,
    _sendable,
    _text,
    _with_inode,
    _with_port,
    compare_with_httpd,
    send,
)
from whimbrel.verify.verification import DifferenceGroup, Example, VerifyResult

TEXT = "LoadModule mpm_event_module m/mod_mpm_event.so\nListen 8080\nServerName a.example\n"
PROGRAM = """#!/bin/sh
case " $* " in *" -l "*) echo event.c; exit 0 ;; esac
read -r pid name state parent group rest < /proc/$$/stat
echo "$group" > "${0%/*}/group"
exit 1
"""
"""A program that starts at once and needs no module files: it writes its process group and fails."""


SILENT = """#!{python}
import re, socket, sys
if "-l" in sys.argv:
    print("event.c")
    sys.exit()
text = open(sys.argv[sys.argv.index("-f") + 1]).read()
listener = socket.create_server(("127.0.0.1", int(re.search(r"Listen 127.0.0.1:(\\d+)", text)[1])))
open(re.search('PidFile "(.*)"', text)[1], "w").close()
while True:
    listener.accept()[0].close()
"""
"""A program that listens, and answers nothing."""


def test_requests_without_an_answer_are_not_decided(tmp_path: Path) -> None:
    laid(tmp_path, {"httpd.conf": TEXT, "htdocs/a": "", "httpd": SILENT.format(python=sys.executable)})
    (tmp_path / "httpd").chmod(0o755)
    side = load_side(LoadOptions(server_root=str(tmp_path), file="httpd.conf"), "2.4")
    result = VerifyResult(("old", "new"))
    compare_with_httpd(str(tmp_path / "httpd"), side, result)
    (found,) = result.not_decided
    assert re.fullmatch(r"the real server answered (\d+) of \1 requests not at all", found.reason)
    assert found.probe is not None


def test_httpd_has_a_process_group_of_its_own(tmp_path: Path) -> None:
    """httpd signals its process group when it stops, which must not end the caller."""
    laid(tmp_path, {"httpd.conf": TEXT, "htdocs/a": "", "httpd": PROGRAM})
    (tmp_path / "httpd").chmod(0o755)
    side = load_side(LoadOptions(server_root=str(tmp_path), file="httpd.conf"), "2.4")
    result = VerifyResult(("old", "new"))
    compare_with_httpd(str(tmp_path / "httpd"), side, result)
    assert [item.reason for item in result.not_decided] == [
        f"{tmp_path}/httpd got no request: ended with status 1"
    ]
    reason = f"{tmp_path}/httpd got no request: ended with status 1"
    assert result.failures == (f"not tested with httpd: {reason}",)
    assert int((tmp_path / "group").read_text()) != os.getpgrp()


@pytest.mark.parametrize("library", ["modules/libphp8.2.so", "php/libphp.so"])
def test_a_library_that_is_not_of_httpd_has_the_file_of_the_text(library: str, tmp_path: Path) -> None:
    text = f"{TEXT}LoadModule php_module {library}\n"
    laid(tmp_path, {"httpd.conf": text, "htdocs/a": "", "httpd": PROGRAM, library: ""})
    (tmp_path / "httpd").chmod(0o755)
    side = load_side(LoadOptions(server_root=str(tmp_path), file="httpd.conf"), "2.4")
    lines = list(_load_lines(str(tmp_path / "httpd"), side))
    assert f"LoadModule php_module {tmp_path}/{library}" in lines


def test_a_server_without_a_library_got_no_request(tmp_path: Path) -> None:
    laid(tmp_path, {"httpd.conf": f"{TEXT}LoadModule php_module lib/libphp9.so\n", "httpd": PROGRAM})
    (tmp_path / "httpd").chmod(0o755)
    side = load_side(LoadOptions(server_root=str(tmp_path), file="httpd.conf"), "2.4")
    result = VerifyResult(("old", "new"))
    compare_with_httpd(str(tmp_path / "httpd"), side, result)
    (found,) = result.not_decided
    assert found.reason == (
        f"{tmp_path}/httpd got no request: it does not start without php_module, and no libphp9.so was found"
    )


def test_an_inode_is_that_of_the_file(tmp_path: Path) -> None:
    """FileETag INode: httpd writes st_ino in hexadecimal (http_core, ap_make_etag)."""
    make_root(tmp_path)
    one = side(tmp_path, "old", "FileETag INode MTime Size", "2.4")
    answer = one.answer(Probe("/index.html", host="localhost", port=8080))
    inode = (tmp_path / "htdocs/index.html").stat().st_ino
    (tag,) = _with_inode(answer, one).field("ETag")
    assert tag.startswith(f'"{inode:x}-5-')


def test_expiry_is_compared_at_the_time_of_the_probes() -> None:
    reply = (
        b"HTTP/1.1 200 OK\r\nDate: Fri, 27 Nov 2026 10:00:00 GMT\r\n"
        b"Expires: Fri, 27 Nov 2026 11:00:00 GMT\r\n"
        b"Content-Length: 0\r\nConnection: close\r\n\r\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        probe = Probe("/", host="a.example", client="127.0.0.1", port=80)
        theirs = send(probe, listener.getsockname()[1], Answer(200), 0.0)
        thread.join()
    assert theirs is not None and theirs.field("expires") == ("Thu, 01 Jan 1970 01:00:00 GMT",)


OF_THE_PROCESS = {
    "PidFile": "logs/pid",
    "ErrorLog": "logs/e",
    "CustomLog": "logs/a common",
    "TransferLog": "logs/t",
    "GlobalLog": "logs/g common",
    "ScriptLog": "logs/s",
    "ForensicLog": "logs/f",
    "CookieLog": "logs/c",
    "Mutex": "file:/run/x",
    "LockFile": "logs/lock",
    "ScoreBoardFile": "logs/sb",
    "Listen": "8081",
    "DefaultRuntimeDir": "run",
    "ScriptSock": "logs/sock",
    "CoreDumpDirectory": "/tmp",
    "LoadModule": "x_module m/x.so",
    "LoadFile": "m/y.so",
    "ServerRoot": "/srv",
    "GracefulShutdownTimeout": "9",
    "ChrootDir": "/srv",
    "ListenBacklog": "9",
    "RewriteLog": "logs/r",
    "RewriteLogLevel": "9",
    "SSLMutex": "file:logs/m",
    "SuexecUserGroup": "a b",
}
"""Directives about the process, its files and its addresses: one process is enough for each machine."""


def node(name: str, args: str, *children: Node) -> Node:
    return Node(name, args, SourceLocation("httpd.conf", 1), children=list(children))


@pytest.mark.parametrize("name", OF_THE_PROCESS)
def test_a_line_about_the_process_is_not_given_to_the_real_server(name: str) -> None:
    lines = [node("Timeout", "9"), node(name, OF_THE_PROCESS[name]), node("Options", "None")]
    assert list(_text(lines, {}, "")) == ["Timeout 9", "Options None"]
    host = node("<VirtualHost", "*:80>", *lines)
    assert name not in "\n".join(_text([host], {80: 1080}, ""))


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("*:80>", "*:1080>"),
        ("10.0.0.1:80 *:443>", "*:1080 *:1443>"),
        ("10.0.0.1:81>", "*:81>"),
        ("a.test>", "a.test>"),
    ],
)
def test_virtual_hosts_listen_on_the_ports_of_loopback(written: str, given: str) -> None:
    host = node("<VirtualHost", written, node("<Location", "/a>", node("Options", "None")))
    assert list(_text([host], {80: 1080, 443: 1443}, "")) == [
        f"<VirtualHost {given}",
        "    <Location /a>",
        "        Options None",
        "    </Location>",
        "</VirtualHost>",
    ]


@pytest.mark.parametrize(
    "method", ["TRACE", "PUT", "DELETE", "PATCH", "MKCOL", "MOVE", "COPY", "PROPPATCH", "LOCK"]
)
def test_a_method_that_changes_files_is_never_sent(method: str, tmp_path: Path) -> None:
    make_root(tmp_path)
    one = side(tmp_path, "old", "", "2.4")
    example = Example(Probe("/x", method), Difference(()), Answer(200), Answer(200))
    result = VerifyResult(("old", "new"))
    result.groups.append(DifferenceGroup("response", Cause((), ()), [example]))
    sent = {probe.method for probe in _sendable(one, SideLines(one), result)}
    assert method not in sent and "GET" in sent


def test_what_needs_a_client_or_a_secret_is_not_sent(tmp_path: Path) -> None:
    make_root(tmp_path)
    one = side(tmp_path, "old", "", "2.4")
    probes = [
        Probe("/user", user=ProbeUser("u")),
        Probe("/tls", tls=TlsFacts()),
        Probe("/far", client="10.0.0.1", client_host="c.test", address="10.0.0.2", environment=(("K", "1"),)),
        Probe("/near", client="127.0.0.9"),
        Probe("/near", client="127.0.0.9"),
    ]
    result = VerifyResult(("old", "new"))
    examples = [Example(probe, Difference(()), Answer(200), Answer(200)) for probe in probes]
    result.groups.append(DifferenceGroup("response", Cause((), ()), examples))
    sent = [
        probe
        for probe in _sendable(one, SideLines(one), result)
        if probe.target[1:] in ("user", "tls", "far", "near")
    ]
    assert sent == [
        Probe("/far", client="127.0.0.1", address="127.0.0.1"),
        Probe("/near", client="127.0.0.9", address="127.0.0.1"),
    ]


@pytest.mark.parametrize(
    ("value", "port", "written", "shown"),
    [
        ("http://a:1080/b", 1080, 80, "http://a/b"),
        ("http://a:1081/b", 1081, 8080, "http://a:8080/b"),
        ("http://a:10/b", 1080, 80, "http://a:10/b"),
    ],
)
def test_the_port_of_a_redirect_is_that_of_the_configuration(
    value: str, port: int, written: int, shown: str
) -> None:
    assert _with_port(value, port, written) == shown
