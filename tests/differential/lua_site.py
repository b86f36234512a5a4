"""A site of scripts in Lua, and the requests that try them on apache2 and on Whimbrel."""

from __future__ import annotations

from typing import Final

CONFIGURATION: Final = """
LoadModule lua_module %MODULES%/mod_lua.so
LoadModule authn_core_module %MODULES%/mod_authn_core.so
LoadModule auth_basic_module %MODULES%/mod_auth_basic.so
LogLevel warn lua:debug
ErrorLogFormat "[%m:%l] %M"
AddHandler lua-script .lua
LuaRoot %BASE%/scripts
LuaMapHandler ^/map/(\\w+)/(\\w+)$ %BASE%/scripts/$1.lua handle_$2
LuaMapHandler ^/mapped$ map.lua
LuaAuthzProvider near authz.lua near
LuaAuthzProvider broken authz.lua broken
LuaAuthzProvider silent authz.lua silent
LuaAuthzProvider odd authz.lua odd
LuaAuthzProvider absent authz.lua absent
LuaOutputFilter UPPER filters.lua upper
LuaOutputFilter FAILING filters.lua failing
LuaOutputFilter LEAVING filters.lua leaving
LuaInputFilter REVERSED filters.lua reversed
LuaHookTranslateName hooks.lua translate
LuaQuickHandler hooks.lua quick
<Directory "%ROOT%">
Require all granted
</Directory>
%SECTIONS%
<Location /inline-named>
<LuaHookFixups named>
function named(r)
 r.headers_out["X-Inline"] = "named"
 return apache2.OK
end
</LuaHookFixups>
</Location>
<Location /inline-late>
<LuaHookAccessChecker refuse late>
function refuse(r) return 403 end
</LuaHookAccessChecker>
</Location>
<Location /inline-text>
<LuaHookFixups>
 return apache2.DECLINED
</LuaHookFixups>
</Location>
"""
SECTIONS: Final = {
    "early": "LuaHookAccessChecker hooks.lua access early",
    "fields": "LuaHookFixups hooks.lua fields",
    "no-function": "LuaHookFixups hooks.lua no_such_function",
    "no-file": "LuaHookFixups no-file.lua fields",
    "bad-syntax": "LuaHookFixups syntax.lua fields",
    "failing": "LuaHookFixups hooks.lua failing",
    "typed": "LuaHookTypeChecker hooks.lua typed",
    "stored": "LuaHookMapToStorage hooks.lua stored",
    "login": "AuthType Basic\nAuthName birds\nLuaHookCheckUserID hooks.lua login\n"
    "LuaHookAuthChecker hooks.lua only_ann\nRequire valid-user",
    "near": "Require near 127.0.0.1 joe",
    "far": "Require near 192.0.2.1 joe",
    "broken": "Require broken",
    "silent": "Require silent",
    "odd": "Require odd",
    "absent": "Require absent",
    "upper": "SetOutputFilter UPPER",
    "broken-filter": "SetOutputFilter FAILING",
    "leaving": "SetOutputFilter LEAVING",
    "unlogged": "LuaHookLog hooks.lua unlogged",
    "both": "LuaHookFixups hooks.lua first",
    "both/inner": "LuaHookFixups hooks.lua second",
    "both/last": "LuaInherit parent-last\nLuaHookFixups hooks.lua second",
    "both/none": "LuaInherit none\nLuaHookFixups hooks.lua second",
}
SCRIPTS: Final = {
    "map.lua": """
function handle(r) r.content_type = "text/plain" r:puts("at ", r.uri) return apache2.OK end
function handle_ok(r) r:puts("a", 1, 2.5, "\\n") return apache2.OK end
function handle_nothing(r) r:puts("none") end
function handle_text(r) return "text" end
function handle_status(r) return 404 end
function handle_declined(r) return apache2.DECLINED end
function handle_done(r) r:puts("done") return apache2.DONE end
function handle_own(r) r.status = 405 r:puts("own page") return apache2.OK end
function handle_empty(r) r.status = 204 return apache2.OK end
function handle_error(r) r:puts("lost") error("a fault") end
function handle_index(r) local x = nil; x.y = 1 end
function handle_readonly(r) r.method = "POST" end
function handle_nil(r) r:puts(nil) end
function handle_table(r) r:puts({}) end
function handle_iterate(r) for k in pairs(r.headers_in) do r:puts(k) end end
function handle_size8000(r) r:puts(("x"):rep(8000)) return 0 end
function handle_size8001(r) r:puts(("x"):rep(8001)) return 0 end
""",
    "hooks.lua": """
function access(r) if r.args == "no" then return 403 end return apache2.OK end
function translate(r)
  if r.uri == "/renamed" then r.uri = "/plain.txt" end
  if r.uri == "/placed" then r.filename = r.document_root .. "/plain.txt" return apache2.OK end
  return apache2.DECLINED
end
function quick(r) if r.uri == "/quick" then r:puts("quick") return apache2.OK end return apache2.DECLINED end
function fields(r) r.headers_out["X-A"] = "1" r.err_headers_out["X-B"] = "2" return apache2.DECLINED end
function failing(r) nothing.x = 1 end
function typed(r) r.content_type = "text/x-bird" return apache2.OK end
function stored(r) r:write("from the store") return apache2.DONE end
function unlogged(r) if r.args == "x" then return apache2.DONE end r.uri = "/other" return apache2.OK end
function login(r)
  if not r.headers_in["Authorization"] then
    r.err_headers_out["WWW-Authenticate"] = 'Basic realm="birds"'
    return 401
  end
  r.user = r.basic_auth_pw == "secret" and "ann" or "bob"
  return apache2.OK
end
function only_ann(r) if r.user == "ann" then return apache2.OK end return 403 end
function add(r, text) r.headers_out["X-Order"] = (r.headers_out["X-Order"] or "") .. text end
function first(r) add(r, "1") return apache2.DECLINED end
function second(r) add(r, "2") return apache2.DECLINED end
""",
    "syntax.lua": "function x(",
    "authz.lua": """
require "apache2"
function near(r, address, name)
  if r.useragent_ip == address then return apache2.AUTHZ_GRANTED end
  if r.user == nil then return apache2.AUTHZ_DENIED_NO_USER end
  return r.user == name and apache2.AUTHZ_GRANTED or apache2.AUTHZ_DENIED
end
function broken(r) error("no") end
function silent(r) end
function odd(r) return 77 end
""",
    "filters.lua": """
function upper(r)
  coroutine.yield("begin\\n")
  while bucket do coroutine.yield(bucket:upper()) end
  coroutine.yield("end\\n")
end
function failing(r) coroutine.yield("x") error("filter") end
function leaving(r) return end
function reversed(r)
  coroutine.yield()
  while bucket do coroutine.yield(bucket:reverse()) end
end
""",
}
DOCUMENTS: Final = {
    "plain.txt": "plain\n",
    "form.lua": """
local function sorted(t)
  local out = {}
  for k, v in pairs(t) do out[#out + 1] = k .. "=" .. (type(v) == "table" and table.concat(v, ",") or v) end
  table.sort(out)
  return table.concat(out, ";")
end
function handle(r)
  r.content_type = "text/plain"
  local one, all
  if r.method == "GET" then one, all = r:parseargs() else one, all = r:parsebody() end
  r:puts(sorted(one), " ", sorted(all))
  return apache2.OK
end
""",
    "body.lua": "function handle(r) r:puts(r:requestbody()) return apache2.OK end",
    "many.lua": """
local function shown(...)
  local out = {}
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    out[i] = (math.type(v) or type(v)) .. ":" .. (type(v) == "table" and #v or tostring(v))
  end
  return table.concat(out, " ")
end
local tests = {
  function(r) return r:base64_encode("a bird"), r:base64_decode("YSBiaXJk"), r:base64_decode("YSBp*XJk") end,
  function(r) return r:md5("bird"), r:sha1("bird") end,
  function(r) return r:escape("a b/c?&+~"), r:unescape("a+b%2Fc") end,
  function(r) return r:unescape("%zz") end,
  function(r) return r:escape_html("<&\\">"), r:os_escape_path("/a b:c"), r:escape_logitem("a\\"\\n") end,
  function(r) return r:construct_url("/x"), r:get_server_name_for_url() end,
  function(r) return r:expr("1 -eq 1"), r:expr("1 -eq 2"), r:expr("((") end,
  function(r) return r:regex("a bird", "(b)(x)?ird")[1], r:regex("A", "(a)", 1)[0], r:regex("x", "y") end,
  function(r) return r.strcmp_match("www.birds.org", "*.birds.org"), r.strcmp_match("x", "y*") end,
  function(r) return r.date_parse_rfc("Sun, 06 Nov 1994 08:49:37 GMT"), r.date_parse_rfc("x") end,
  function(r) r:ivm_set("n", 2) r:ivm_set("s", "x") return r:ivm_get("n"), r:ivm_get("s") end,
  function(r) r:ivm_set("b", true) return r:ivm_get("b") end,
  function(r) return r:ivm_get("never set") end,
  function(r) return #r:htpassword("x"), r:htpassword("x", 1) end,
  function(r) return #r:htpassword("x", 2, 4), #r:htpassword("x", 3) end,
  function(r) return r:stat(r.filename).filetype, r:stat(r.document_root).filetype end,
  function(r) return r:stat("/no/such/file") end,
  function(r) return r:get_direntries("/no/such/directory") end,
  function(r) return r:getcookie("a"), r:getcookie("none") end,
  function(r) r:setcookie{key="k", value="v w;", secure=true, httponly=true, path="/p", domain="d"} end,
  function(r) r:setcookie{key="later", value="x", expires=1234567890} end,
  function(r) r:setcookie("plain", "x") end,
  function(r) return type(r.module_info("mod_lua.c").commands), r.module_info("mod_none.c") end,
  function(r) return r.exists_config_define("NONE"), r.mpm_query(2), r:loaded_modules()[1] end,
  function(r) r.headers_out["X-A"] = "1" return r:headers_out_table()["X-A"], r.headers_out["x-a"] end,
  function(r) r.headers_out["X-A"] = "a\\nb" return r.headers_out["X-A"] end,
  function(r) r.headers_out["X-A"] = nil return r.headers_out["X-A"] end,
  function(r) r.headers_out["X-N"] = 5 return r.headers_out["X-N"] end,
  function(r) r.notes.a = "b" return r.notes.a, r.subprocess_env["NONE"], r.notes.A end,
  function(r) r.headers_out["X"] = {} ; return 1 end,
  function(r) local x = r:md5() ; return x end,
  function(r) r.status = "abc" ; return 1 end,
  function(r) r.user = nil ; return 1 end,
  function(r) r.uri = "/changed" ; return r.uri end,
  function(r) return r:write("w"), r:set_keepalive() end,
  function(r) r:set_document_root("/x/y") return r.document_root end,
  function(r) r:set_context_info("/p", "/q") return r.context_prefix, r.context_document_root end,
  function(r) return r.allowoverrides, r.args, r.assbackwards, r.content_type, r.handler, r.hostname end,
  function(r) return r.is_https, r.is_initial_req, r.limit_req_body, r.method, r.options, r.path_info end,
  function(r) return r.protocol, r.proxyreq, r.remaining, r.status, r.the_request, r.unparsed_uri end,
  function(r) return r.user, r.useragent_ip, r.ap_auth_type, r.auth_name, r.basic_auth_pw, r.nonsense end,
  function(r) return r:dbacquire("none") end,
  function(r) return r:wsupgrade() end,
}
function handle(r)
  r.content_type = "text/plain"
  for i, test in ipairs(tests) do
    local found = table.pack(pcall(test, r))
    r:puts(i, " ", shown(table.unpack(found, 1, found.n)), "\\n")
  end
  for _, name in ipairs{"OK", "DECLINED", "DONE", "PROXYREQ_REVERSE", "AUTHZ_DENIED_NO_USER"} do
    r:puts(name, "=", shown(apache2[name]), "\\n")
  end
  return apache2.OK
end
""",
}
FORM: Final = "application/x-www-form-urlencoded"


def configuration() -> str:
    """Return the lines of both servers."""
    sections = "\n".join(f"<Location /{name}>\n{text}\n</Location>" for name, text in SECTIONS.items())
    return CONFIGURATION.replace("%SECTIONS%", sections)


def requests() -> list[tuple[str, str, dict[str, str], bytes]]:
    """Return method, path, fields and body of each request."""
    handlers = (
        "ok nothing text status declined done own empty error index readonly nil table iterate size8000 "
        "size8001 no_such_function"
    )
    paths = [f"/map/map/{name}" for name in handlers.split()]
    paths += ["/map/no_file/x", "/map/syntax/x", "/mapped", "/missing.lua", "/renamed", "/placed", "/quick"]
    paths += [f"/{name}" for name in SECTIONS] + ["/early?no", "/unlogged?x", "/form.lua?a=1&b=%20x&a=2&c"]
    paths += ["/inline-named", "/inline-late", "/inline-text", "/many.lua?q=1"]
    found: list[tuple[str, str, dict[str, str], bytes]] = [
        ("GET", path, {"Cookie": "a=b; c=d"}, b"") for path in paths
    ]
    found += [("HEAD", path, {}, b"") for path in ("/form.lua", "/mapped")]
    found.append(("POST", "/form.lua", {"Content-Type": FORM}, b"x=1&y=a%20b&x=2"))
    found.append(("POST", "/form.lua", {"Content-Type": "text/plain"}, b"x=1"))
    found.append(("POST", "/body.lua", {}, b"a body"))
    for password in ("secret", "wrong"):
        credentials = {"secret": "Ym9iOnNlY3JldA==", "wrong": "Ym9iOndyb25n"}[password]
        found.append(("GET", "/login", {"Authorization": f"Basic {credentials}"}, b""))
    return found
