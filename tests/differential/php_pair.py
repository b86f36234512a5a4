"""apache2 with libphp and Whimbrel with the same configuration of PHP."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.differential.servers import APACHE, MODULE_DIR, Program, ProgramProcess
from whimbrel.modules.php.mod_php.interpreter import find_interpreter
from whimbrel.testing.ports import free_port

_CHUNK_SIZE = re.compile(rb"([0-9a-f]+)\r\n").match
LIBRARIES = sorted(Path(MODULE_DIR).glob("libphp8*.so"))
CONF = """
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule mime_module {modules}/mod_mime.so
LoadModule alias_module {modules}/mod_alias.so
LoadModule php_module {library}
ServerName localhost
{user}
Listen 127.0.0.1:{port}
PidFile {run}/pid
ErrorLog {run}/error_log
StartServers 1
MaxRequestWorkers 4
DocumentRoot {site}/htdocs
TypesConfig /dev/null
AddHandler application/x-httpd-php .php
Alias /above {site}/above.php
<Directory {site}>
    AllowOverride All
</Directory>
"""


def missing() -> str:
    """Return what this machine lacks for a comparison, "" for nothing."""
    found = find_interpreter(8)
    if found is None or not found.is_fpm:
        return "php-fpm is not installed"
    if not LIBRARIES:
        return "libphp (libapache2-mod-php) is not installed"
    return "" if APACHE.present else "needs apache2"


def start(
    stack: ExitStack, program: Program, base: Path, more: str, environment: Mapping[str, str]
) -> ProgramProcess:
    """Start *program* for the site below *base* with the lines *more*, on a port of its own."""
    run, port = base / program.name, free_port()
    run.mkdir()
    user = "User www-data\nGroup www-data\n" if os.getuid() == 0 else ""
    text = CONF.format(
        modules=MODULE_DIR, library=LIBRARIES[-1], port=port, run=run, site=base / "site", user=user
    )
    (run / "conf").write_bytes((text + more).encode("latin-1"))
    server = ProgramProcess(program, base, run / "conf", run, port)
    server.environment = environment
    stack.enter_context(server)
    assert server.started, server.output
    return server


def exchange(
    port: int, target: str, *fields: str, version: str = "1.1", host: str = "localhost"
) -> tuple[list[bytes], bytes]:
    """Return the lines of the head, without Date and Server, and the body without its chunks."""
    lines = [f"GET {target} HTTP/{version}", f"Host: {host}", "Connection: close", *fields, "", ""]
    data = b""
    with socket.create_connection(("127.0.0.1", port), 20) as wire:
        wire.sendall("\r\n".join(lines).encode())
        while piece := wire.recv(65536):
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    shown = [line for line in head.split(b"\r\n") if not line.startswith((b"Date:", b"Server:"))]
    return shown, without_chunks(body) if b"Transfer-Encoding: chunked" in shown else body


def without_chunks(body: bytes) -> bytes:
    """Return the content of a chunked body; raises AssertionError for one that is cut."""
    out = b""
    while match := _CHUNK_SIZE(body):
        size = int(match[1], 16)
        if not size:
            return out
        out += body[match.end() : match.end() + size]
        body = body[match.end() + size + 2 :]
    raise AssertionError(f"no last chunk: {body[:100]!r}")
