"""Requests as bytes, each on a connection of its own, to apache2 and Whimbrel; replies as text."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import MTIME, GeneratedSite, ServerProcess, documents, htaccess

SCRIPT = 0o755  # mode of documents that are scripts
CONNECTIONS = 8  # at the same time, to each server
_IDENTITY = re.compile(r"(?:Date|Server): .*?\r\n")
_PRODUCT = re.compile(r"(?:Apache|Whimbrel)/[0-9.]+ \([^)]*\)")
_ALLOW = re.compile(r"Allow: (.*?)\r")
_BOUNDARY = re.compile(r"boundary=(\w+)")
_LENGTH = re.compile(r"Content-Length: \d+")
Masking = Callable[[str], str]


@dataclass(frozen=True)
class Documents:
    """Documents by name; those of *scripts* can be executed."""

    plain: Mapping[str, str]
    scripts: Mapping[str, str] = field(default_factory=dict)


def exchange(port: int, data: bytes) -> bytes:
    """Return all that the server sends until it closes."""
    out = b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(data)
        try:
            while piece := connection.recv(65536):
                out += piece
        except ConnectionResetError:
            pass
    return out


def masked(data: bytes, port: int) -> str:
    """Return a reply without what differs from server to server: identity, time, port, the order of a hash, a
    random boundary and the length of a body with it.
    """
    text = _PRODUCT.sub("PRODUCT", _IDENTITY.sub("", data.decode("latin-1").replace(str(port), "PORT")))
    text = _ALLOW.sub(lambda found: f"Allow: {','.join(sorted(found[1].split(',')))}\r", text)
    boundary = _BOUNDARY.search(text)
    return (
        text if boundary is None else _LENGTH.sub("Content-Length: N", text.replace(boundary[1], "BOUNDARY"))
    )


@contextmanager
def both(conf: str, files: Documents) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """Run both servers on one document root; skip the test without apache2.  %MODULES% is their directory."""
    if not APACHE.present:
        pytest.skip("no apache2 on this machine: nothing to compare with")
    with TemporaryDirectory(prefix="whimbrel-raw-") as folder:
        os.chmod(folder, 0o755)
        root = Path(folder, "site")
        documents(root)
        for name, text in {**files.plain, **files.scripts}.items():
            path = root / "htdocs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("latin-1"))
        htaccess(root, {})
        for name in files.scripts:
            (root / "htdocs" / name).chmod(SCRIPT)
            os.utime(root / "htdocs" / name, (MTIME, MTIME))
        with _process(APACHE, conf, root) as apache, _process(WHIMBREL, conf, root) as whimbrel:
            assert apache.started, apache.output
            assert whimbrel.started, whimbrel.output
            yield apache, whimbrel


def _process(program: Program, conf: str, root: Path) -> ServerProcess:
    return ServerProcess(program, GeneratedSite(conf.replace("%MODULES%", program.module_dir)), root)


def differences(
    servers: tuple[ServerProcess, ServerProcess], requests: Mapping[str, str], mask: Masking = str
) -> dict[str, tuple[str, str]]:
    """Return the replies of both servers to the requests that they answer differently, by name."""
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        sent = {
            name: [pool.submit(exchange, server.port, text.encode("latin-1")) for server in servers]
            for name, text in requests.items()
        }
        out = {}
        for name, replies in sent.items():
            want, got = (
                mask(masked(reply.result(), server.port))
                for reply, server in zip(replies, servers, strict=True)
            )
            if want != got:
                out[name] = (want, got)
        return out
