"""Machines of mod_lua: scopes, bounds, and what a script cannot reach."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import StartError
from whimbrel.base.programs import without_programs
from whimbrel.verify.loading import load_side
from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

pytest.importorskip("lupa.lua53", reason="lupa is not installed")

from whimbrel.modules.lua.mod_lua import body_functions, machines
from whimbrel.modules.lua.mod_lua.machine import Machine, new_runtime

CONF = "LoadModule lua_module m/mod_lua.so\nAddHandler lua-script .lua\n"
COUNTER = "count = 0\nfunction handle(r) count = count + 1 r:puts(count) return 0 end"


def pages(root: Path, conf: str, script: str, number: int = 3) -> list[str]:
    """Return the responses of some requests for one script."""
    engine = build_engine(root, CONF + conf, {"htdocs/a.lua": script})
    return [fetch(engine, "/a.lua").body for _ in range(number)]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("once", ["1"] * 3),
        ("request", ["1"] * 3),
        ("thread", ["1", "2", "3"]),
        ("server 1 2", ["1", "2", "3"]),
    ],
)
def test_scopes(tmp_path: Path, scope: str, expected: list[str]) -> None:
    assert pages(tmp_path, f"LuaScope {scope}", COUNTER) == expected


def test_a_changed_script_is_loaded_again(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, CONF + "LuaScope thread", {"htdocs/a.lua": COUNTER})
    assert fetch(engine, "/a.lua").body == "1"
    (tmp_path / "htdocs/a.lua").write_text("function handle(r) r:puts('new') return 0 end")
    assert fetch(engine, "/a.lua").body == "new"


def test_code_that_is_cached_forever(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, CONF + "LuaScope thread\nLuaCodeCache forever", {"htdocs/a.lua": COUNTER})
    assert fetch(engine, "/a.lua").body == "1"
    (tmp_path / "htdocs/a.lua").write_text("function handle(r) r:puts('new') return 0 end")
    assert fetch(engine, "/a.lua").body == "2"


@pytest.mark.parametrize(
    "expression",
    [
        "python",
        "package.loaded.python",
        "select(2, pcall(function() return debug.getupvalue(getmetatable(r).__index, 5).__globals__ end))",
        "select(2, pcall(function() return getmetatable(r).__index.__class__ end))",
    ],
)
def test_no_object_of_python_is_open(tmp_path: Path, expression: str) -> None:
    script = f"function handle(r) local x = {expression} r:puts(type(x), tostring(x)) return 0 end"
    found = pages(tmp_path, "", script, 1)[0]
    assert found == "nilnil" or found.startswith("string") or "AttributeError" in found, found


def test_functions_behind_the_request_have_no_attributes() -> None:
    runtime = new_runtime()
    runtime.globals().f = lambda: None
    for name in ("__globals__", "__class__", "__code__", "x"):
        assert runtime.eval(f'pcall(function() return f["{name}"] end)')[0] is False
    assert runtime.eval('pcall(function() f["x"] = 1 end)')[0] is False


def test_the_memory_of_a_machine_is_bounded() -> None:
    runtime = new_runtime()
    is_run, _ = runtime.eval(
        'pcall(function() local t = {} while true do t[#t+1] = ("x"):rep(1e6) .. #t end end)'
    )
    assert not is_run and runtime.get_memory_used(total=True) < 300_000_000


def test_idle_machines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = machines.Machines()
    for number in range(machines.MAX_IDLE + 10):
        idle.put((number,), Machine("/a.lua", (), (), ""))
    assert len(idle._idle) == machines.MAX_IDLE and idle.take((0,)) is None
    monkeypatch.setattr(machines, "MAX_IDLE_BYTES", 3 * Machine("/a.lua", (), (), "").size)
    idle.put(("last",), Machine("/a.lua", (), (), ""))
    assert len(idle._idle) <= 3 and idle.take(("last",)) is not None


def test_request_bodies_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_functions, "MAX_BODY", 10)
    script = "function handle(r) local b, e = r:requestbody() r:puts(tostring(b), ' ', e) return 0 end"
    engine = build_engine(tmp_path, CONF, {"htdocs/a.lua": script})
    assert fetch(engine, "/a.lua", method="POST", body="x" * 10).body == "xxxxxxxxxx 10"
    text = "nil Request body was larger than the permitted size."
    assert fetch(engine, "/a.lua", method="POST", body="x" * 11).body == text


def test_variables_are_bounded(tmp_path: Path) -> None:
    script = "function handle(r) r:ivm_set('a', ('x'):rep(2 * 1024 * 1024)) return 0 end"
    assert fetch(build_engine(tmp_path, CONF, {"htdocs/a.lua": script}), "/a.lua").status == 500


@pytest.mark.parametrize("value", ["1/0", "0/0", "-1/0", "2^70", "{}", "nil", "1.5"])
def test_odd_numbers_are_errors_of_the_script(tmp_path: Path, value: str) -> None:
    script = f"function handle(r) r:puts(tostring(pcall(r.usleep, {value}))) return 0 end"
    assert pages(tmp_path, "", script, 1) == ["false"]


def test_tools_run_no_script(tmp_path: Path) -> None:
    (tmp_path / "hooks.lua").write_text("function f(r) local x = io.open('@/ran', 'w') x:close() end")
    conf = "LuaHookAccessChecker @/hooks.lua f\nLuaHookFixups @/hooks.lua f"
    engine = build_engine(tmp_path, CONF + conf, {"htdocs/a.txt": "x", "htdocs/a.lua": COUNTER})
    with without_programs():
        assert fetch(engine, "/a.txt").status == fetch(engine, "/a.lua").status == 500
    assert not (tmp_path / "ran").exists()


def test_a_comparison_does_not_decide_about_scripts(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, CONF + "LuaHookFixups @/hooks.lua f")
    options = engine.configuration.options
    sides = load_side(options, "2.4", name="old"), load_side(options, "2.4", name="new")
    result = verify(*sides, limit=20)
    assert result.verdict is Verdict.NOT_DECIDED
    assert all("answers depend on a script" in one.reason for one in result.not_decided)


def test_without_the_library_the_start_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.modules.lua.mod_lua.find_spec", lambda _name: None)
    with pytest.raises(StartError, match=r"pip install 'whimbrel\[lua\]'"):
        build_engine(tmp_path, CONF)


@pytest.mark.parametrize("scope", ["once", "server 1 2"])
def test_machines_are_freed_without_the_collector(
    tmp_path: Path, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "MAX_IDLE", 0)
    script = """
kept = setmetatable({}, {__gc = function() for n = 1, 50000 do n = n + 1 end end})
function handle(r) r:puts(r.args or "") return r.args == "fail" and error(kept) or handle end
LuaFilter = function(r) coroutine.yield() while bucket do coroutine.yield(bucket) end end
"""
    conf = f"{CONF}LuaScope {scope}\nLuaOutputFilter COPY {tmp_path}/htdocs/a.lua LuaFilter\n"
    conf += f"LuaOutputFilter MISSING {tmp_path}/htdocs/a.lua no_function\n"
    conf += (
        "<Files x.txt>\nSetOutputFilter COPY\n</Files>\n<Files y.txt>\nSetOutputFilter MISSING\n</Files>\n"
    )
    engine = build_engine(
        tmp_path,
        conf,
        {"htdocs/a.lua": script, "htdocs/x.txt": "text", "htdocs/bad.lua": "error({})", "htdocs/y.txt": "y"},
    )
    gc.collect()
    gc.disable()
    try:
        for path in ("/a.lua", "/a.lua?fail", "/x.txt", "/bad.lua", "/y.txt") * 2:
            fetch(engine, path)
        found = [each for each in gc.get_objects() if type(each).__name__ == "LuaRuntime"]
        assert not found
    finally:
        gc.enable()
