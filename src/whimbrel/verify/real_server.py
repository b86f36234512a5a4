"""A real httpd beside the engine: started on loopback with the configuration of a side, asked, and ended.

The configuration is written out as it was executed, without Include and conditional blocks. Addresses, logs
and files of the process are replaced by such below a temporary directory; everything else stays as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.utils import formatdate, mktime_tz, parsedate_tz
from http.client import HTTPException, HTTPResponse
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.loopback import LOOPBACK, free_port
from whimbrel.base.programs import programs_permitted, require_programs
from whimbrel.config.load import catalogue_of
from whimbrel.directives.node import Node
from whimbrel.engine.deps.copied_files import path_number
from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Cause
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.derive.probes import ProbeSource
from whimbrel.verify.difference import compare
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side
from whimbrel.verify.verification import DifferenceGroup, Example, NotDecided, VerifyResult

MAX_REQUESTS: Final = 2000
START_SECONDS: Final = 15.0
_TIMEOUT: Final = 10.0
_MAX_BODY: Final = 1 << 20
_DROPPED: Final = frozenset(
    "pidfile errorlog customlog transferlog globallog scriptlog forensiclog cookielog mutex lockfile"
    " scoreboardfile listen defaultruntimedir scriptsock coredumpdirectory loadmodule serverroot loadfile"
    " gracefulshutdowntimeout chrootdir listenbacklog rewritelog rewriteloglevel sslmutex"
    " suexecusergroup".split()
)
_DIRECTORIES: Final = (
    "modules",
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
)
_NEVER_SENT: Final = frozenset("TRACE PUT DELETE PATCH MKCOL MOVE COPY PROPPATCH LOCK".split())


class NoServer(Exception):
    """The server does not start; the message has its own words."""


def compare_with_httpd(program: str, side: Side, result: VerifyResult) -> None:
    """Add to *result* how *program*, an httpd 2.4, answers otherwise than the engine of *side*."""
    try:
        if side.options.image:
            raise NoServer(
                f"it would read this machine, and not the image {side.options.image}: run whimbrel verify "
                "on the machine of the image, or in a container with it as /"
            )
        with running(program, side) as ports:
            _compare_all(side, result, ports)
    except NoServer as problem:
        text = f"{program} got no request: {problem}"
        result.failures += (f"not tested with httpd: {text}",)
        result.not_decided.append(NotDecided(text))
    except OSError as problem:
        result.not_decided.append(NotDecided(f"{program}: {problem}"))


def _compare_all(side: Side, result: VerifyResult, ports: dict[int, int]) -> None:
    lines = SideLines(side)
    sent_count = 0
    unanswered: list[Probe] = []
    groups: dict[str, DifferenceGroup] = {}
    for probe in _sendable(side, lines, result):
        if sent_count >= MAX_REQUESTS:
            result.limits.append(f"the real server got {MAX_REQUESTS} requests only")
            break
        ours = side.answer(probe)
        is_foreign = ours.file.startswith("proxy:") or ours.runs_program
        if is_foreign or side.probing.is_assumed(ours.file) or probe.port not in ports:
            continue
        sent_count += 1
        theirs = send(probe, ports[probe.port], ours, side.runtime.time)
        if theirs is None:
            unanswered.append(probe)
            continue
        difference = compare(_with_inode(ours, side), theirs)
        if difference is None:
            continue
        key = str(difference.names) + (str(difference) if difference.names[0] == "status" else "")
        group = groups.setdefault(key, DifferenceGroup("httpd", Cause((), ())))
        group.count += 1
        if len(group.examples) < 3:
            group.examples.append(
                Example(probe, difference, ours, theirs, "the real server answers otherwise")
            )
    result.limits.append(
        f"the real server got {sent_count} requests: {sum(g.count for g in groups.values())} differ"
    )
    result.groups += groups.values()
    if unanswered:
        text = f"the real server answered {len(unanswered)} of {sent_count} requests not at all"
        result.not_decided.append(NotDecided(text, unanswered[0]))


def _sendable(side: Side, lines: SideLines, result: VerifyResult) -> Iterator[Probe]:
    """Yield what can be sent to a server on loopback: without passwords, TLS and assumptions."""
    examples = (example.probe for group in result.groups for example in group.examples)
    seen: set[Probe] = set()
    for probe in (*examples, *ProbeSource((lines, lines), MAX_REQUESTS).probes()):
        if probe.tls is None and probe.user is None and probe.method not in _NEVER_SENT:
            client = probe.client if probe.client.startswith("127.") else LOOPBACK
            sent = replace(probe, client=client, client_host="", address=LOOPBACK, environment=())
            if sent not in seen:
                seen.add(sent)
                yield sent


def send(probe: Probe, port: int, ours: Answer, now: float) -> Answer | None:
    """Return the answer of the real server at *port*, None if it gives none; what it does not show is as in
    *ours*, and times are as of *now*."""
    with socket.socket() as connection:
        connection.settimeout(_TIMEOUT)
        try:
            connection.bind((probe.client, 0))
            connection.connect((LOOPBACK, port))
            connection.sendall(probe.head().replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            response = HTTPResponse(connection, method=probe.method)
            response.begin()
            body = response.read()
        except (OSError, HTTPException, ValueError):
            return None
    fields = tuple((name, _as_of(now, name, value, response)) for name, value in response.getheaders())
    is_worded = ours.is_built_in and ours.status == response.status  # the page names the program
    digest = ours.body
    if len(body) <= _MAX_BODY:
        digest = hashlib.blake2b(body, digest_size=8).hexdigest() if body else ""
    return replace(
        ours,
        status=response.status,
        fields=tuple((name, _with_port(value, port, probe.port)) for name, value in fields),
        body=ours.body if is_worded else digest,
        length=ours.length if is_worded else len(body),
    )


def _with_inode(ours: Answer, side: Side) -> Answer:
    """Return *ours* with the inode of its file in the ETag, where FileETag wants one.

    Sides are compared with a number that depends on the path alone, because copies have other inodes.
    """
    number = f"{path_number(ours.file):x}"
    try:
        inode = f"{os.stat(to_bytes(side.loaded.disk.on_disk(ours.file))).st_ino:x}"
    except (OSError, ValueError):
        return ours
    fields = (
        (name, re.sub(rf'^((?:W/)?"){number}(?=[-"])', rf"\g<1>{inode}", value) if name == "ETag" else value)
        for name, value in ours.fields
    )
    return replace(ours, fields=tuple(fields))


def _as_of(now: float, name: str, value: str, response: HTTPResponse) -> str:
    """Return the field as it would be at the time *now*: Expires at the same distance from Date."""
    expires = parsedate_tz(value)
    theirs = parsedate_tz(response.getheader("Date") or "")
    if name.lower() != "expires" or expires is None or theirs is None:
        return value
    return formatdate(int(now) + mktime_tz(expires) - mktime_tz(theirs), usegmt=True)


def _with_port(value: str, port: int, written: int) -> str:
    return value.replace(f":{port}/", "/" if written == 80 else f":{written}/")


# the process --------------------------------------------------------------------------------------
@contextmanager
def running(program: str, side: Side) -> Iterator[dict[int, int]]:
    """Run *program* with the configuration of *side*; yield the port for each of its ports.

    Raises NoServer. The process is ended by its pid.
    """
    holder = _directory()
    try:
        ports, process = _started(program, side, holder.name)
        try:
            _wait(process, next(iter(ports.values())), holder.name)
            yield ports
        finally:
            process.terminate()
            try:
                process.wait(_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    finally:
        with programs_permitted():
            holder.cleanup()


def _directory() -> tempfile.TemporaryDirectory[str]:
    """Return a directory for the server's files."""
    with programs_permitted():
        holder = tempfile.TemporaryDirectory(prefix="whimbrel-verify-")
        os.chmod(holder.name, 0o755)
        os.mkdir(os.path.join(holder.name, "run"))
    return holder


def _started(program: str, side: Side, directory: str) -> tuple[dict[int, int], subprocess.Popen[bytes]]:
    """Start the server that the user named; return the port for each of its ports, and the process."""
    ports = {listener.port: free_port() for listener in side.loaded.spec.listeners} or {80: free_port()}
    path = os.path.join(directory, "httpd.conf")
    text = "\n".join(adapted(program, side, ports, directory)) + "\n"
    command = [program, "-DFOREGROUND", "-f", path, "-E", os.path.join(directory, "startup")]
    with programs_permitted():
        require_programs()
        with open(path, "wb") as file:
            file.write(to_bytes(text))
        with open(os.path.join(directory, "stderr"), "w+b") as errors:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, start_new_session=True
            )  # httpd signals its whole process group when it stops
    return ports, process


def _wait(process: subprocess.Popen[bytes], port: int, directory: str) -> None:
    """Wait until the server listens: its PidFile is written after that.

    Before, another program may have taken the free port.
    """
    ends = time.monotonic() + START_SECONDS
    pid_file = os.path.join(directory, "pid")
    while time.monotonic() < ends:
        if process.poll() is not None:
            raise NoServer(_reason(directory) or f"ended with status {process.returncode}")
        with socket.socket() as probe:
            if os.path.exists(pid_file) and probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.05)
    raise NoServer(f"no answer within {START_SECONDS:.0f} seconds")


def _reason(directory: str) -> str:
    texts = []
    for name in ("startup", "stderr", "error_log"):
        try:
            with open(os.path.join(directory, name), encoding="latin-1") as file:
                texts.append(file.read(2000).strip())
        except OSError:
            continue
    return "; ".join(line for text in texts for line in text.splitlines()[:3])


# the configuration --------------------------------------------------------------------------------
def adapted(program: str, side: Side, ports: dict[int, int], directory: str) -> Iterator[str]:
    """Yield the lines of the configuration for *program*."""
    yield f'ServerRoot "{side.loaded.root}"'
    yield from _load_lines(program, side)
    yield f'PidFile "{directory}/pid"'
    yield f'ErrorLog "{directory}/error_log"'
    yield f'DefaultRuntimeDir "{directory}/run"'
    yield from (f"Listen {LOOPBACK}:{port}" for port in ports.values())
    if not any(node.name.lower() == "user" for node in side.loaded.tree) and os.getuid() == 0:
        yield from ("User daemon", "Group daemon")
    root = side.loaded.default_document_root
    if not any(node.name.lower() == "documentroot" for node in side.loaded.tree) and os.path.isdir(root):
        yield f'DocumentRoot "{root}"'
    yield from _text(side.loaded.tree, ports, "")


def _text(nodes: Sequence[Node], ports: dict[int, int], indent: str) -> Iterator[str]:
    for node in nodes:
        low = node.name.lower()
        if low in _DROPPED:
            continue
        if low == "<virtualhost":
            args = re.sub(r":(\d+)", lambda found: f":{ports.get(int(found[1]), int(found[1]))}", node.args)
            args = re.sub(r"(^| )[0-9.]+:", r"\g<1>*:", args)
            yield f"{indent}{node.name} {args}"
        else:
            yield f"{indent}{node.name} {node.args}"
        if low.startswith("<"):
            yield from _text(node.children, ports, indent + "    ")
            yield f"{indent}</{node.name[1:]}>"


def _load_lines(program: str, side: Side) -> Iterator[str]:
    """Yield the LoadModule lines of the modules that *program* has not compiled in; raises NoServer.

    Libraries that are not httpd's own have any name: the text has it.
    """
    with programs_permitted():
        require_programs()
        try:
            listed = subprocess.run([program, "-l"], capture_output=True, timeout=_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            raise NoServer(f"no list of modules within {_TIMEOUT:.0f} seconds") from None
    libraries = _foreign_libraries(side)
    built_in = set(re.findall(r"\b\w+\.c\b", listed.stdout.decode("latin-1")))
    for name, module in side.loaded.loaded_by_directive:
        if module.source in built_in:
            continue
        row = catalogue_of(side.dialect).module(name)
        file = libraries.get(name) or (f"{row.file}.so" if row is not None else module.source)
        files = dict.fromkeys((file, os.path.basename(file)))
        places = [
            os.path.join(side.loaded.root, place, file) for file in files for place in ("", *_DIRECTORIES)
        ]
        found = next((place for place in places if os.path.isfile(place)), None)
        if found is None:
            raise NoServer(f"it does not start without {name}, and no {os.path.basename(file)} was found")
        yield f"LoadModule {name} {found}"


def _foreign_libraries(side: Side) -> dict[str, str]:
    """Return the files of modules that are not httpd's own, as the text has them, by the modules' names."""
    catalogue = catalogue_of(side.dialect)
    found = {}
    for path in side.loaded.foreign_libraries.values():
        row = catalogue.module_of_file(os.path.basename(path).removesuffix(".so"))
        if row is not None:
            found[row.identifier] = path
    return found
