"""Scripts of the kinds that the manual of mod_lua shows, written for these tests, and requests for them."""

from __future__ import annotations

from typing import Final

CONF: Final = """LoadModule lua_module %MODULES%/mod_lua.so
LuaRoot "%ROOT%"
AddHandler lua-script .lua
LuaMapHandler ^/mapped/(\\w+)/(\\w+)$ "%ROOT%/$1.lua" map_$2
LuaMapHandler ^/direct$ "handlers.lua" map_direct
LuaHookTranslateName hooks.lua translate_name early
LuaAuthzProvider lua-word hooks.lua check_word
LuaOutputFilter UPPER filters.lua upper
LuaOutputFilter LEAVES filters.lua leaves
LuaOutputFilter BREAKS filters.lua breaks
LuaInputFilter SWAP filters.lua swap
LuaQuickHandler hooks.lua quick
<Directory "%ROOT%">
    Require all granted
</Directory>
<Location /fixed>
    LuaHookFixups hooks.lua fixups
</Location>
<Location /failing>
    LuaHookFixups hooks.lua failing
</Location>
<Location /silent>
    LuaHookFixups hooks.lua silent
</Location>
<Location /missing>
    LuaHookFixups hooks.lua no_such_function
</Location>
<Location /denied>
    LuaHookAccessChecker hooks.lua deny late
</Location>
<Location /typed>
    LuaHookTypeChecker hooks.lua typed
</Location>
<Location /word>
    <RequireAll>
        Require lua-word one two
    </RequireAll>
</Location>
<Location /noword>
    Require lua-word three
</Location>
<Location /badword>
    Require lua-word bad
</Location>
<Location /basic>
    AuthType Basic
    AuthName here
    Require valid-user
    LuaHookCheckUserID hooks.lua check_user
</Location>
<Location /inline>
    <LuaHookFixups>
        r.headers_out["X-Inline"] = "yes"
        return apache2.OK
    </LuaHookFixups>
</Location>
<Location /named>
    <LuaHookFixups go>
        function go(r)
            r.headers_out["X-Inline"] = "yes"
            return apache2.OK
        end
    </LuaHookFixups>
</Location>
<Location /returned>
    <LuaHookAccessChecker>
        return function() return 403 end
    </LuaHookAccessChecker>
</Location>
<Location /upper>
    SetOutputFilter UPPER
</Location>
<Location /leaves>
    SetOutputFilter LEAVES
</Location>
<Location /breaks>
    SetOutputFilter BREAKS
</Location>
<Location /swap>
    SetInputFilter SWAP
</Location>
<Location /inherits>
    LuaInherit none
    LuaScope server 1 2
    LuaCodeCache forever
</Location>
"""

HANDLERS: Final = r"""
require "string"
function handle(r)
    r.content_type = "text/plain"
    if r.method == "GET" then
        r:puts("Hello Lua World!\n")
        local first, all = r:parseargs()
        for _, name in ipairs({"a", "b", "c"}) do
            r:puts(name, "=", tostring(first[name]), " ", tostring(all[name] and #all[name]), "\n")
        end
    elseif r.method == "POST" then
        for _, name in ipairs({"a", "b", "file"}) do
            local first, all = r:parsebody()
            r:puts(name, "=", tostring(first[name]), "\n")
            break
        end
    elseif r.method == "PUT" then
        local body, size = r:requestbody()
        r:puts(tostring(body), " ", tostring(size), "\n")
    else
        return 501
    end
    return apache2.OK
end
function map_direct(r) r:puts("direct ", r.uri, "\n") return apache2.OK end
function map_none(r) r:puts("no value\n") end
function map_code(r) return 403 end
function map_declined(r) return apache2.DECLINED end
function map_error(r) r:puts("begun") r.foo.bar = 1 end
function map_table(r)
    local names = {}
    for name, value in pairs(apache2) do
        local text = name == "version" and "" or type(value) == "table" and "table" or tostring(value)
        names[#names + 1] = name .. "=" .. text
    end
    table.sort(names)
    local required = require("apache2")
    r:puts(table.concat(names, "\n"), tostring(apache2 == package.loaded), tostring(next(required)))
    return apache2.OK
end
function map_bits(r)
    local values = {0, 1, -1, 5.0, "7", 0x7fffffff, 0x80000000, 0xffffffff, 2^40 + 3, -2^31, 1.5, "x", {}, 31}
    values[15] = 32
    local names = {}
    for name in pairs(bit32) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
        local source = "return function(...) local result = bit32." .. name .. "(...) return result end"
        local call = load(source)()
        local function tried(...) return tostring(select(2, pcall(call, ...))) .. " " end
        r:puts(name, ":", tried())
        for _, a in ipairs(values) do
            r:puts(tried(a))
            for at, b in ipairs(values) do
                r:puts(tried(a, b), tried(a, b, values[(at * 7) % 15 + 1]), tried(a, b, at, (at * 5) % 9))
            end
        end
        r:puts("\n")
    end
    return apache2.OK
end
function map_version(r) r:puts(tostring(apache2.version ~= nil)) return apache2.OK end
function map_fields(r)
    r.content_type = "text/plain"
    r.status = 203
    r.headers_out["X-Host"] = r.headers_in["Host"]
    r.err_headers_out["X-Err"] = "e"
    r.notes["n"] = "note"
    r.subprocess_env["E"] = "env"
    r:puts(r.notes.N, r.subprocess_env.e, r.headers_out["x-host"], "\n")
    r:setcookie{key = "k y", value = "v;1", expires = 1700000000, secure = true, httponly = true}
    r:setcookie("old", "x", false, 1700000000)
    r:puts(tostring(r:getcookie("c")), "\n")
    local m = r:regex("foo bar", [[(\w+) (\w+)]])
    r:puts(m[0], "|", m[1], "|", m[2], "|", tostring(r:regex("x", "y")), "\n")
    r:puts(tostring(r:expr("%{REQUEST_METHOD} == 'GET'")), tostring(r:expr("false")), "\n")
    r:puts(r:md5("a"), r:sha1("a"), r:base64_encode("a\0b"), r:base64_decode("YWJj"), "\n")
    r:puts(r:escape("a b&"), r:unescape("a+b%20"), r:escape_html("<&>"), r:escape_logitem("a\"\1"), "\n")
    r:puts(tostring(r.strcmp_match("foo.bar", "foo*")), r:os_escape_path("a b:c"), "\n")
    r:ivm_set("text", "shared") r:ivm_set("number", 3)
    r:puts(r:ivm_get("text"), r:ivm_get("number"), tostring(r:ivm_get("other")), "\n")
    r:puts(tostring(r.date_parse_rfc("Mon, 13 Feb 2012 10:00:00 GMT")), "\n")
    r:puts(tostring(r:stat(r.document_root .. "/a.txt").size), tostring(r:stat("/nope")), "\n")
    r:puts(tostring(pcall(function() r.foo = 1 end)), select(2, pcall(function() r:puts({}) end)), "\n")
    r:puts(tostring(r.is_initial_req), tostring(r.args), r.protocol, r.handler, tostring(r.user), "\n")
    return apache2.OK
end
function map_large(r)
    for i = 1, 300 do r:puts(string.rep("x", 999), "\n") end
    return apache2.OK
end
function map_flushed(r) r:puts("one") r:flush() r:puts("two") return apache2.OK end
function map_logs(r) r:err("an error") r:warn("a warning") r:notice("a notice") return apache2.OK end
function map_sent(r) r:sendfile(r.document_root .. "/a.txt") return apache2.OK end
function map_custom(r) r:custom_response(404, "own text") return 404 end
function map_redirect(r)
    r.headers_out["Location"] = "/elsewhere"
    return apache2.HTTP_MOVED_TEMPORARILY
end
"""
HOOKS: Final = r"""
require 'apache2'
function translate_name(r)
    if r.uri == "/translate-me" then r.uri = "/a.txt" end
    if r.uri == "/to-file" then r.filename = r.document_root .. "/a.txt" return apache2.OK end
    return apache2.DECLINED
end
function fixups(r) r.headers_out["X-Fixed"] = r.uri r.handler = "lua-script" return apache2.DECLINED end
function failing(r) error("bad <b>") end
function silent(r) end
function deny(r) return 403 end
function typed(r) r.content_type = "text/x-lua" return apache2.OK end
function quick(r)
    if r.uri == "/quick" then r.content_type = "text/plain" r:puts("quick\n") return apache2.OK end
    return apache2.DECLINED
end
function check_word(r, a, b)
    if a == "one" and b == "two" then return apache2.AUTHZ_GRANTED end
    if a == "bad" then return "no number" end
    return apache2.AUTHZ_DENIED
end
function check_user(r)
    if r.headers_in["Authorization"] then r.user = "lua" return apache2.OK end
    return 401
end
"""
FILTERS: Final = r"""
function upper(r)
    coroutine.yield("<")
    while bucket ~= nil do coroutine.yield(string.upper(bucket)) end
    coroutine.yield(">")
end
function leaves(r) return end
function breaks(r) coroutine.yield() error("broken") end
function swap(r)
    coroutine.yield()
    while bucket do coroutine.yield((bucket:gsub("a", "b"))) end
    coroutine.yield("!")
end
"""
PLAIN: Final = {
    "handlers.lua": HANDLERS,
    "hooks.lua": HOOKS,
    "filters.lua": FILTERS,
    "syntax.lua": "function handle(",
    "nohandle.lua": "x = 1\n",
    "fails.lua": "function handle(r) r:puts('begun') error('bad <b>') end\n",
    "fails-early.lua": "function handle(r) r:puts(nil) end\n",
    "chunk-fails.lua": "function handle(r) r:puts('in spite') return 0 end error('early')\n",
    "setheaders.lua": 'function handle(r)\n r.headers_out["X-Compat"] = "compat"\nend\n',
    "number.lua": "function handle(r) r.content_type='text/plain' r:puts('x') return 404 end\n",
    **{
        f"{name}/a.txt": f"text of {name}\n"
        for name in (
            "fixed typed denied word noword badword basic inline named returned upper leaves breaks missing"
        ).split()
    },
    "swap/echo.lua": (
        "function handle(r) r.content_type = 'text/plain' r:puts(tostring(r:requestbody())) return 0 end\n"
    ),
    "inherits/n.lua": "n = 0\nfunction handle(r) n = n + 1 r:puts('ok') return apache2.OK end\n",
}


def _get(target: str, *fields: str) -> str:
    lines = [f"GET {target} HTTP/1.1", "Host: here", *fields, "Connection: close", "", ""]
    return "\r\n".join(lines)


def _send(method: str, target: str, body: str, kind: str = "application/x-www-form-urlencoded") -> str:
    head = f"{method} {target} HTTP/1.1\r\nHost: here\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"


_PARTS: Final = (
    '--BB\r\nContent-Disposition: form-data; name="a"\r\n\r\none\r\n'
    '--BB\r\nContent-Disposition: form-data; name="b"\r\n\r\ntwo\r\n--BB--\r\n'
)
_MAPPED: Final = (
    *"none code declined error table bits version fields large flushed".split(),
    *"logs sent custom redirect nosuch".split(),
)


def requests() -> dict[str, str]:
    """Return the requests by name."""
    targets = """/handlers.lua
        /handlers.lua?a=1&b=2&a=3&c /syntax.lua /nohandle.lua /fails.lua /fails-early.lua
        /chunk-fails.lua /setheaders.lua /number.lua
        /direct /translate-me /to-file /quick /fixed/a.txt /failing /silent /missing/a.txt /denied/a.txt
        /typed/a.txt /word/a.txt /noword/a.txt /badword/a.txt /basic/a.txt /inline/a.txt
        /named/a.txt /returned/a.txt /upper/a.txt
        /leaves/a.txt /inherits/n.lua /nope.lua /mapped/nofile/x""".split()
    return {
        **{target: _get(target) for target in targets},
        **{f"mapped {name}": _get(f"/mapped/handlers/{name}", "Cookie: c=d; e=f") for name in _MAPPED},
        "with user": _get("/basic/a.txt", "Authorization: Basic YTpi"),
        "post": _send("POST", "/handlers.lua", "a=1&b=x+y%21"),
        "parts": _send("POST", "/handlers.lua", _PARTS, "multipart/form-data; boundary=BB"),
        "put": _send("PUT", "/handlers.lua", "body"),
        "swap": _send("PUT", "/swap/echo.lua", "banana", "text/plain"),
        "delete": _send("DELETE", "/handlers.lua", ""),
        "head": "HEAD /handlers.lua HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
    }
