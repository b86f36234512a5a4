"""Bodies of forms as scripts get them; results are those of httpd 2.4.71."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

pytest.importorskip("lupa.lua53", reason="lupa is not installed")

CONF = "LoadModule lua_module m/mod_lua.so\nAddHandler lua-script .lua\n"
FORM = """function handle(r)
local first = r:parsebody(tonumber(r.args))
local names = {}
for name, value in pairs(first) do names[#names + 1] = name:sub(1, 9) .. "=" .. #value end
table.sort(names)
r:puts(table.concat(names, " "))
return 0 end
"""
TYPE = "Content-Type: multipart/form-data; boundary=b"


def part(name: str, value: str) -> str:
    return f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'


def form(root: Path, body: str, query: str = "") -> str:
    engine = build_engine(root, CONF, {"htdocs/a.lua": FORM})
    return fetch(engine, "/a.lua" + query, TYPE, method="POST", body=body).body


@pytest.mark.parametrize(
    ("body", "query", "expected"),
    [
        (part("a", "1") + "--b--", "", "a=1"),
        (part("a", "1") + part("c", "xyz") + "--b--", "", "a=1 c=3"),
        (part("a", "1"), "", ""),
        (part("a", "x" * 9000) + "--b--", "", ""),
        (part("a", "x" * 9000) + "--b--", "?10000", "a=9000"),
        (part("a", "x" * 9000) + "--b--", "?0", "a=9000"),
        (part("a", "1") + "--b--", "?-1", ""),
        (part("a", "") + part("c", "1") + "--b--", "", ""),
        (part("n" * 400, "v") + "--b--", "", "nnnnnnnnn=1"),
        (part("a", "x\0y") + "--b--", "", "a=3"),
        (part("a\0c", "xy") + "--b--", "", ""),
        ("--b\r\n\r\nx\r\n--b--", "", ""),
    ],
)
def test_parts_of_a_form(tmp_path: Path, body: str, query: str, expected: str) -> None:
    assert form(tmp_path, body, query) == expected


def test_the_number_of_fields_is_bounded(tmp_path: Path) -> None:
    found = form(tmp_path, "".join(part(f"k{n}", "v") for n in range(700)) + "--b--", "?0")
    assert len(found.split()) == 499


def test_a_body_of_boundaries_takes_little_time(tmp_path: Path) -> None:
    begun = time.monotonic()
    assert form(tmp_path, "b" * 4_000_000, "?0") == ""
    assert time.monotonic() - begun < 5


def test_output_of_puts_ends_at_a_nul(tmp_path: Path) -> None:
    script = "function handle(r) r:puts('a\\0b', 'c') r:write('d\\0e') return 0 end"
    engine = build_engine(tmp_path, CONF, {"htdocs/a.lua": script})
    assert fetch(engine, "/a.lua").body == "acd\0e"
