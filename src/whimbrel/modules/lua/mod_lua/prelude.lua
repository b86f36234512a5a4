-- The request of mod_lua as Lua sees it. The chunk gets the functions of the server:
--   call(name, ...), get(name), set(name, value), table_get(table, key), table_set(table, key, value):
--   each returns true and its results, or false and a message;
--   note_use(name, kind): logs the use of a function or table;
--   must_end(): returns true if the script has to end, with the error gone; asked after each step instructions.
local call, get, set, table_get, table_set, note_use, must_end, gone, step, method_names, plain_names, table_names = ...
local pack, unpack, select, type, error, setmetatable = table.pack, table.unpack, select, type, error, setmetatable
local resume, create, wrap, status = coroutine.resume, coroutine.create, coroutine.wrap, coroutine.status
local pcall, sethook, time = pcall, debug.sethook, os.time

-- A count hook ends a script whose client has gone. It looks at the clock and asks once a second. Then each
-- further instruction fails, so that no pcall keeps the script running.
local second, is_over = time(), false

local function check()
    local now = time()
    if is_over or now ~= second then
        second, is_over = now, is_over or must_end()
        if is_over then
            sethook(check, "", 1)
            error(gone, 0)
        end
    end
end

local function watched(make, name) -- hooks belong to one coroutine
    return function(...)
        local f = ...
        if type(f) ~= "function" then
            local got = select("#", ...) == 0 and "no value" or type(f)
            error(("bad argument #1 to '%s' (function expected, got %s)"):format(name, got), 2)
        end
        return make(function(...)
            sethook(check, "", step)
            return f(...)
        end)
    end
end

sethook(check, "", step)
coroutine.create, coroutine.wrap = watched(create, "create"), watched(wrap, "wrap")

local function results(found)
    if found[1] then return unpack(found, 2, found.n) end
    error(found[2], 2) -- a tail call: level 2 is the script
end

local request, functions, tables, is_traced = {}, {}, {}, false

for name in method_names:gmatch("%S+") do
    functions[name] = function(self, ...)
        if self ~= request then
            error(("bad argument #1 to '%s' (Apache2.Request expected, got %s)"):format(name, type(self)), 2)
        end
        local found = pack(call(name, ...))
        return results(found)
    end
end

for name in plain_names:gmatch("%S+") do
    functions[name] = function(...)
        local found = pack(call(name, ...))
        return results(found)
    end
end

for name in table_names:gmatch("%S+") do
    tables[name] = setmetatable({}, {
        __index = function(_, key)
            local found = pack(table_get(name, key))
            return results(found)
        end,
        __newindex = function(_, key, value)
            local found = pack(table_set(name, key, value))
            return results(found)
        end,
        __name = "Apr.Table",
        __len = function() error("attempt to get length of a Apr.Table value", 2) end,
        __pairs = function()
            error("bad argument #1 to 'for iterator' (table expected, got Apr.Table)", 3)
        end,
    })
end

setmetatable(request, {
    __index = function(_, name)
        local found = functions[name]
        if found then
            if is_traced then note_use(name, "lua_CFunction") end
            return found
        end
        found = tables[name]
        if found then
            if is_traced then note_use(name, "apr table") end
            return found
        end
        found = pack(get(name))
        return results(found)
    end,
    __newindex = function(_, name, value)
        local found = pack(set(name, value))
        if not found[1] and found[2]:find("^Property") then error(found[2], 0) end
        return results(found)
    end,
    __name = "Apache2.Request",
})

local function run(f, ...) return pcall(f, request, ...) end

local function start(f)
    local thread = coroutine.create(f)
    return function()
        local found = pack(resume(thread, request))
        return status(thread), unpack(found, 1, found.n)
    end
end

return run, start, request, function(value) is_traced = value end
