"""Scripts of mod_lua that never end, or whose clients go away."""

from __future__ import annotations

import socket
import time
from importlib.util import find_spec

import pytest
from tests.server.conftest import ServerProcess, everything, reset, within

if find_spec("lupa") is None:
    pytest.skip("lupa is not installed", allow_module_level=True)

CONF = """\
LoadModule lua_module m/mod_lua.so
StartServers 1
ServerLimit 1
ThreadsPerChild 4
MaxRequestWorkers 4
LuaInputFilter COPY {root}/htdocs/filter.lua copy
AddHandler lua-script .lua
LuaHookFixups {root}/htdocs/hook.lua fix
<Files body.lua>
SetInputFilter COPY
</Files>
<Directory {root}>
Require all granted
</Directory>
"""
FILES = {
    "endless.lua": "function handle(r) r:puts('x') r:flush() local n = 0 while true do n = n + 1 end end",
    "stubborn.lua": "function handle(r) r:puts('x') r:flush()\n"
    "local function inner() while true do end end\n"
    "while true do pcall(function() while true do coroutine.wrap(inner)() end end) end end",
    "short.lua": "function handle(r) r:puts('short') return 0 end",
    "body.lua": "function handle(r) r:puts(#(r:requestbody() or '')) return 0 end",
    "filter.lua": "function copy(r) coroutine.yield() while bucket do coroutine.yield(bucket) end end",
    "hook.lua": "function fix(r)\n"
    "if r.args == 'flush' then r:puts(('y'):rep(200000)) r:flush() r:puts('z') end\nreturn -1 end",
    "socket.lua": "function handle(r) if r:wsupgrade() then r:wswrite('bye') end return 0 end",
    "x.txt": "text",
}


@pytest.fixture
def site(server: ServerProcess) -> ServerProcess:
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root))
    for name, text in FILES.items():
        (server.root / "htdocs" / name).write_text(text)
    server.changes = (
        "from whimbrel.modules.lua.mod_lua import request_api\nrequest_api.ABANDON_GRACE = 0.5\n"
        "from whimbrel.server.worker import runtime\nruntime.MAX_SCRIPTS = 4\n"
    )
    server.start()
    return server


def begin(site: ServerProcess, path: str) -> socket.socket:
    """Begin a request and return the connection after the first bytes of the response."""
    wire = site.connect()
    wire.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert wire.recv(9) == b"HTTP/1.1 "
    return wire


@pytest.mark.parametrize("name", ["endless", "stubborn"])
def test_scripts_whose_clients_have_gone_make_room(site: ServerProcess, name: str) -> None:
    for wire in [begin(site, f"/{name}.lua") for _ in range(4)]:
        reset(wire)
    assert b"short" in site.get("/short.lua")


def test_many_scripts_that_read_bodies_through_a_script(site: ServerProcess) -> None:
    wires = [site.connect() for _ in range(8)]
    for wire in wires:
        wire.sendall(
            b"POST /body.lua HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 4\r\n\r\nab"
        )
    time.sleep(0.5)
    for wire in wires:
        wire.sendall(b"cd")
    assert [everything(wire)[-1:] for wire in wires] == [b"4"] * 8


def test_a_hook_that_writes_and_flushes_much_does_not_wait_for_the_client(site: ServerProcess) -> None:
    begun = time.monotonic()
    reply = site.get("/x.txt?flush")
    assert b"yz" in reply and time.monotonic() - begun < 20


def test_the_server_stops_beside_an_endless_script(site: ServerProcess) -> None:
    with begin(site, "/endless.lua"):
        site.signal(15)
        assert within(site.ended)


def test_a_websocket_ends_with_its_script(site: ServerProcess) -> None:
    fields = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: MDAwMDAwMDAwMDAwMDAwMA==\r\n"
    reply = site.ask(b"GET /socket.lua HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n")
    assert reply.startswith(b"HTTP/1.1 101 ") and reply.endswith(b"\x81\x03bye")
