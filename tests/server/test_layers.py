"""Layers of a connection that stack: PROXY header, dumpio, HTTP/1 and HTTP/2.

The lines are those of 2.4.71 with the same modules.
"""

from __future__ import annotations

import importlib
import struct

import pytest
from tests.server.conftest import ServerProcess, everything

from whimbrel.server.connection.proxy_protocol import SIGNATURE

CONF = """\
LoadModule remoteip_module m/mod_remoteip.so
LoadModule dumpio_module m/mod_dumpio.so
LoadModule include_module m/mod_include.so
LoadModule http2_module m/mod_http2.so
Protocols h2c http/1.1
RemoteIPProxyProtocol On
DumpIOInput On
DumpIOOutput On
LogLevel warn dumpio:trace7
ErrorLogFormat "%M"
<Directory {root}>
    Options +Includes
    Require all granted
    AddOutputFilter INCLUDES .shtml
</Directory>
"""
FIRST = b"PROXY TCP4 10.1.2.3 10.9.9.9 5555 80\r\n"
SECOND = (
    SIGNATURE + struct.pack(">BBH", 0x21, 0x11, 12) + bytes([10, 1, 2, 3, 10, 9, 9, 9]) + b"\x15\xb3\0\x50"
)
PAGE = '<!--#echo var="DOCUMENT_NAME" -->abc\n'
READ = [
    "dumpio_in [getline-blocking] 0 readbytes",
    " dumpio_in (data-HEAP): 23 bytes",
    " dumpio_in (data-HEAP): GET /p.shtml HTTP/1.1\\r\\n",
    "dumpio_in [getline-blocking] 0 readbytes",
    " dumpio_in (data-HEAP): 17 bytes",
    " dumpio_in (data-HEAP): Host: localhost\\r\\n",
]
WRITTEN = [
    "dumpio_out",
    " dumpio_out (data-TRANSIENT): 3 bytes",
    " dumpio_out (data-TRANSIENT): b\\r\\n",
    " dumpio_out (data-HEAP): 11 bytes",
    " dumpio_out (data-HEAP): p.shtmlabc\\n",
    " dumpio_out (data-IMMORTAL): 2 bytes",
    " dumpio_out (data-IMMORTAL): \\r\\n",
    " dumpio_out (data-IMMORTAL): 5 bytes",
    " dumpio_out (data-IMMORTAL): 0\\r\\n\\r\\n",
    " dumpio_out (metadata-EOS): 0 bytes",
    "dumpio_out",
    " dumpio_out (metadata-EOR): 0 bytes",
    "dumpio_out",
    " dumpio_out (metadata-FLUSH): 0 bytes",
    " dumpio_out (metadata-EOC): 0 bytes",
]


@pytest.fixture
def site(server: ServerProcess) -> ServerProcess:
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root))
    (server.root / "htdocs/p.shtml").write_text(PAGE)
    server.start()
    return server


def dumped(site: ServerProcess) -> list[str]:
    lines = (site.root / "logs/error_log").read_text().splitlines()
    return [line.partition("mod_dumpio: ")[2] for line in lines if "mod_dumpio" in line]


@pytest.mark.parametrize("header", [FIRST, SECOND])
def test_http1_behind_both_layers(site: ServerProcess, header: bytes) -> None:
    got = site.ask(header + b"GET /p.shtml HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert got.endswith(b"\r\n\r\nb\r\np.shtmlabc\n\r\n0\r\n\r\n")
    site.wait_for(lambda: dumped(site)[-1:] == WRITTEN[-1:])
    lines = dumped(site)
    assert lines[: len(READ)] == READ
    assert lines[-len(WRITTEN) :] == WRITTEN
    assert "PROXY" not in "".join(lines)
    line = "10.1.2.3 GET /p.shtml HTTP/1.1 200 11\n"
    site.wait_for(lambda: (site.root / "logs/access_log").read_text() == line)


@pytest.mark.parametrize("header", [FIRST, SECOND])
def test_http2_behind_both_layers(site: ServerProcess, header: bytes) -> None:
    pytest.importorskip("h2", reason="the optional package h2 is not installed")
    http2 = importlib.import_module("tests.server.test_http2")
    peer = http2.Peer(site, begin=False)
    peer.socket.sendall(header)
    peer.wire.initiate_connection()
    for number in (1, 3):
        peer.ask(number, "/big.bin" if number == 1 else "/")
    peer.read(http2.StreamEnded, 2)
    assert len(peer.body(1)) == 256 * 40_000
    assert peer.body(3) == b"hello\n"
    lines = dumped(site)
    assert "dumpio_in [readbytes-nonblocking] 131072 readbytes" in lines
    assert lines.count(" dumpio_out (metadata-FLUSH): 0 bytes") > 2
    peer.socket.close()
    site.wait_for(lambda: (site.root / "logs/access_log").read_text().count("\n") == 2)
    for line in (site.root / "logs/access_log").read_text().splitlines():
        assert line.startswith("10.1.2.3 GET /")


def test_a_file_passes_through_the_layer(site: ServerProcess) -> None:
    request = b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with site.connect() as wire:
        wire.sendall(FIRST + request)
        assert everything(wire).endswith(bytes(range(256)) * 40_000)
    site.wait_for(lambda: dumped(site)[-1:] == WRITTEN[-1:])
    lines = dumped(site)
    assert f" dumpio_out (data-FILE): {256 * 40_000} bytes" in lines
    shown = [line for line in lines if line.startswith(" dumpio_out (data-MMAP): ")]
    assert len(shown) == -(-256 * 40_000 // 1968)
    assert (site.root / "logs/access_log").read_text() == "10.1.2.3 GET /big.bin HTTP/1.1 200 10240000\n"
