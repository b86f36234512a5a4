"""A real httpd beside the comparison: its process."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
from pathlib import Path

from tests.unit.upgrade.config_trees import laid

from whimbrel.config.options import LoadOptions
from whimbrel.verify.answer import Answer
from whimbrel.verify.loading import load_side
from whimbrel.verify.probe import Probe
from whimbrel.verify.real_server import compare_with_httpd, send
from whimbrel.verify.verification import VerifyResult

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
    assert [item.reason for item in result.not_decided] == [f"{tmp_path}/httpd: ended with status 1"]
    assert int((tmp_path / "group").read_text()) != os.getpgrp()


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
