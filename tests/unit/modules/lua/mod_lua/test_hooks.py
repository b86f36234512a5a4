"""Results of scripts that close access or show an error; statuses and texts are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import error_log, fetch
from tests.support.engine import build_engine

pytest.importorskip("lupa", reason="no lupa on this machine: scripts cannot run")
LOAD = "LoadModule lua_module modules/mod_lua.so\n"
SCRIPT = """
function silent(r) end
function texts(r) return "ok" end
function handle(r) error("bad <b>") end
"""


@pytest.mark.parametrize("function", ["silent", "texts"])
@pytest.mark.parametrize("hook", ["AccessChecker", "Fixups"])
def test_a_result_that_is_no_number_is_an_error(tmp_path: Path, hook: str, function: str) -> None:
    conf = f"{LOAD}LuaHook{hook} {tmp_path}/htdocs/s.lua {function}\n"
    serving = build_engine(tmp_path, conf, {"htdocs/s.lua": SCRIPT, "htdocs/x": "secret"})
    reply = fetch(serving, "/x")
    assert reply.status == 500
    assert "secret" not in reply.body
    assert f"AH03017: Lua hook {tmp_path}/htdocs/s.lua:{function} for phase" in error_log(serving)


def test_the_page_of_an_error_is_escaped(tmp_path: Path) -> None:
    conf = f"{LOAD}<Files s.lua>\nSetHandler lua-script\n</Files>\n"
    serving = build_engine(tmp_path, conf, {"htdocs/s.lua": SCRIPT})
    reply = fetch(serving, "/s.lua")
    assert reply.status == 500
    assert reply.body.startswith("<h3>Error!</h3>\n<pre>")
    assert reply.body.endswith("/htdocs/s.lua:4: bad &lt;b&gt;</pre>\n")
