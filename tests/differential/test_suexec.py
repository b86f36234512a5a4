"""suEXEC: programs of servers, directories of users and pages, run by apache2 and Whimbrel with one suexec.

Owner, mode, place and identity of a program decide; both servers give suexec the same command, so status,
output, error log and suexec's own log are equal.
"""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.differential.raw_exchange import exchange
from tests.differential.servers import APACHE, MODULE_DIR, WHIMBREL, Program, ProgramProcess
from whimbrel.modules.support.cgi.suexec import WRAPPER_24, disabled_reason
from whimbrel.testing.ports import free_port

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="needs root: programs of several users"),
    pytest.mark.skipif(not APACHE.present, reason="needs apache2"),
    pytest.mark.skipif(bool(disabled_reason(WRAPPER_24)), reason="needs suexec (apache2-suexec-pristine)"),
]
PROGRAM = """#!/bin/sh
printf 'Content-Type: text/plain\\n\\n'
id -u; id -g; id -G; pwd; echo "$0" "$@"
env | sort | grep -v -e PORT= -e SERVER_S -e UNIQUE
"""
PAGE = (
    '<!--#exec cmd="x.cgi" -->|<!--#exec cmd="id -u" -->|<!--#exec cmd="./x.cgi a b" -->|'
    '<!--#exec cgi="x.cgi" -->|<!--#include virtual="x.cgi?a+b" -->|<!--#exec cmd="/bin/ls" -->|'
)
OTHER = next((entry for entry in pwd.getpwall() if 100 <= entry.pw_uid < 60000), None)
BELOW = next(entry for entry in pwd.getpwall() if 0 < entry.pw_uid < 100)


class SetUp(NamedTuple):
    """One virtual host: user and group of its SuexecUserGroup ("" for no line), owner and mode of its
    program, mode of its directory, and where the program is.
    """

    user: str = "#USER"
    group: str = "#GROUP"
    owner: str = "USER"
    mode: int = 0o755
    directory_mode: int = 0o755
    place: str = "below"


SET_UPS = {
    "owner": SetUp(),
    "no-line": SetUp(user=""),
    "root": SetUp(user="#0"),
    "root-group": SetUp(group="#0"),
    "minimum": SetUp(user=f"#{BELOW.pw_uid}", owner=str(BELOW.pw_uid)),
    "minimum-group": SetUp(group=f"#{BELOW.pw_uid}"),
    "unknown": SetUp(user="#4242"),
    "largest": SetUp(user="#4294967295"),
    "other-owner": SetUp(owner="0"),
    "group-writes": SetUp(mode=0o775),
    "all-write": SetUp(mode=0o757),
    "setuid": SetUp(mode=0o4755),
    "setgid": SetUp(mode=0o2755),
    "no-execution": SetUp(mode=0o644),
    "closed": SetUp(mode=0o700),
    "directory-all": SetUp(directory_mode=0o777),
    "directory-group": SetUp(directory_mode=0o775),
    "outside": SetUp(place="outside"),
    "link": SetUp(place="link"),
    "link-outside": SetUp(place="link-outside"),
    "directory-link": SetUp(place="directory-link"),
}


def write_host(base: Path, outside: Path, name: str, one: SetUp) -> str:
    """Write the files of a virtual host; return its configuration."""
    assert OTHER is not None
    owner = int(one.owner.replace("USER", str(OTHER.pw_uid)))
    root = (outside if one.place == "outside" else base) / name
    root.mkdir()
    target = {"link": root / "y.cgi", "link-outside": outside / f"{name}.cgi"}.get(one.place, root / "x.cgi")
    target.write_text(PROGRAM)
    os.chown(target, owner, OTHER.pw_gid)
    target.chmod(one.mode)
    if target.parent != root or target.name != "x.cgi":
        (root / "x.cgi").symlink_to(target)
    (root / "s.shtml").write_text(PAGE)
    os.chown(root, owner, OTHER.pw_gid)
    root.chmod(one.directory_mode)
    if one.place == "directory-link":
        real, root = root, base / "linked"
        root.symlink_to(real)
    user = one.user.replace("USER", str(OTHER.pw_uid))
    line = f"SuexecUserGroup {user} {one.group.replace('GROUP', str(OTHER.pw_gid))}\n" if user else ""
    return (
        f"<VirtualHost *>\nServerName {name}\nDocumentRoot {root}\n{line}<Directory {root}>\n"
        "Options ExecCGI Includes FollowSymLinks\nRequire all granted\n</Directory>\n</VirtualHost>\n"
    )


def write_users(base: Path) -> str:
    """Write a directory for two users that mod_userdir finds; return the configuration."""
    assert OTHER is not None
    for entry in (OTHER, BELOW):
        root = base / "users" / entry.pw_name
        root.mkdir(parents=True)
        (root / "x.cgi").write_text(PROGRAM)
        (root / "x.cgi").chmod(0o755)
        (root / "s.shtml").write_text(PAGE)
        for path in (root, root / "x.cgi"):
            os.chown(path, entry.pw_uid, entry.pw_gid)
    return (
        f"UserDir {base}/users/*\n<Directory {base}/users>\nOptions ExecCGI Includes\nRequire all granted\n"
        "</Directory>\n"
    )


class Side:
    """One server, and what its logs have had since the last request."""

    def __init__(self, process: ProgramProcess, suexec_log: Path) -> None:
        self.process, self._logs = process, (process.run / "error_log", suexec_log)

    def ask(self, host: str, target: str) -> tuple[bytes, str, list[str], list[str]]:
        """Return status line, body, lines of the error log and of suexec's log."""
        starts = [path.stat().st_size if path.exists() else 0 for path in self._logs]
        wire = f"GET {target} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode()
        head, _, body = exchange(self.process.port, wire).partition(b"\r\n\r\n")
        status = head.split(b"\r\n")[0]
        end = time.monotonic() + 5  # the error output of a program may come after the response
        while b" 500 " in status and time.monotonic() < end and not self._error_since(starts[0]):
            time.sleep(0.01)
        errors, decisions = (self._since(path, at) for path, at in zip(self._logs, starts, strict=True))
        shown = "\n".join(
            line
            for line in body.decode("latin-1").replace(str(self.process.port), "PORT").split("\n")
            if not line.startswith(("REMOTE_", "<address"))
        )
        return status, shown, errors, decisions

    def _error_since(self, start: int) -> bool:
        return "End of script output" in "".join(self._since(self._logs[0], start))

    def _since(self, path: Path, start: int) -> list[str]:
        if not path.exists():
            return []
        text = path.read_bytes()[start:].decode("latin-1")
        place = re.compile(r"^\[[^]]*\]:? |\[pid [^]]*\] |client [0-9.]+:\d+")
        return sorted(place.sub("", line) for line in text.splitlines())


def start(stack: ExitStack, program: Program, base: Path, conf: str, kind: str) -> ProgramProcess:
    """Start *program* with *conf*."""
    run, port = base / f"{program.name}-{kind}", free_port()
    run.mkdir()
    mpm = "prefork" if kind == "cgi" else "event"
    names = (f"mpm_{mpm}", "authz_core", "suexec", "userdir", "include", "env", "mime", "alias", kind)
    loads = "".join(f"LoadModule {name}_module {MODULE_DIR}/mod_{name}.so\n" for name in names)
    sock = f"ScriptSock {run}/sock\n" if kind == "cgid" else ""
    (run / "conf").write_text(
        f"{loads}{sock}TypesConfig /dev/null\nServerName localhost\nUser www-data\nGroup www-data\n"
        f"Listen 127.0.0.1:{port}\nPidFile {run}/pid\nErrorLog {run}/error_log\nAddHandler cgi-script .cgi\n"
        "AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\nSetEnv ODD_NAME 1\nSetEnv HTTP_OK 2\n"
        f"SetEnv LD_PRELOAD x\n{conf}"
    )
    process = ProgramProcess(program, base, run / "conf", run, port)
    stack.enter_context(process)
    assert process.started, process.output
    return process


def setting(name: str) -> str:
    """Return a setting that suexec was built with."""
    done = subprocess.run([WRAPPER_24, "-V"], capture_output=True, check=True, text=True)
    match = re.search(f'-D {name}="(.*)"', done.stderr + done.stdout)
    return match[1] if match else ""


@pytest.fixture(scope="module", params=["cgi", "cgid"])
def sides(request: pytest.FixtureRequest) -> Iterator[tuple[Side, Side]]:
    if OTHER is None or not Path(setting("AP_DOC_ROOT")).is_dir():
        pytest.skip("no user above the smallest number, or no document root of suexec")
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=setting("AP_DOC_ROOT"))))
        outside = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for path in (base, outside):
            path.chmod(0o755)
        conf = write_users(base)
        conf += "".join(write_host(base, outside, name, one) for name, one in SET_UPS.items())
        log = Path(setting("AP_LOG_EXEC"))
        apache, whimbrel = (
            Side(start(stack, program, outside, conf, request.param), log) for program in (APACHE, WHIMBREL)
        )
        yield apache, whimbrel


@pytest.mark.parametrize("name", SET_UPS)
def test_suexec_decides_alike(sides: tuple[Side, Side], name: str) -> None:
    for target in ("/x.cgi?a+b", "/s.shtml"):
        theirs, ours = (side.ask(name, target) for side in sides)
        assert ours == theirs, target


def test_directories_of_users(sides: tuple[Side, Side]) -> None:
    assert OTHER is not None
    for user in (OTHER.pw_name, BELOW.pw_name, "no-such-user"):
        for target in (f"/~{user}/x.cgi", f"/~{user}/s.shtml"):
            theirs, ours = (side.ask("owner", target) for side in sides)
            assert ours == theirs, target


def test_a_program_of_its_owner_runs_and_one_that_others_may_write_does_not(sides: tuple[Side, Side]) -> None:
    assert OTHER is not None
    status, body, _errors, _decisions = sides[1].ask("owner", "/x.cgi")
    assert (status[9:12], body.split("\n")[0]) == (b"200", str(OTHER.pw_uid))
    for name in ("all-write", "other-owner", "minimum", "root", "setuid"):
        assert sides[1].ask(name, "/x.cgi")[0][9:12] == b"500"
