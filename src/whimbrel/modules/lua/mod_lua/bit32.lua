-- The library bit32 (Lua 5.2, section 6.7), which Debian's Lua 5.3 has; lupa's interpreter is built without it.
local ONES, BITS = 0xffffffff, 32
local select, type, error, tointeger, tonumber = select, type, error, math.tointeger, tonumber
local library = {}

-- *level*: of the script that calls the library, seen from the caller of `refuse`
local function refuse(level, name, index, text)
    error("bad argument #" .. index .. " to '" .. name .. "' (" .. text .. ")", level + 1)
end

local function integer(level, name, index, value)
    local number = tonumber(value)
    local whole = number and tointeger(number)
    if not number then
        local kind = value == nil and "no value" or type(value)
        refuse(level + 1, name, index, "number expected, got " .. kind)
    elseif not whole then
        refuse(level + 1, name, index, "number has no integer representation")
    end
    return whole
end

local function unsigned(name, index, value)
    return integer(3, name, index, value) & ONES
end

local function folded(name, start, combine, is_test)
    return function(...)
        local result = start
        for index = 1, select("#", ...) do
            result = combine(result, unsigned(name, index, (select(index, ...))))
        end
        if is_test then
            return result ~= 0
        end
        return result
    end
end

library.band = folded("band", ONES, function(a, b) return a & b end)
library.bor = folded("bor", 0, function(a, b) return a | b end)
library.bxor = folded("bxor", 0, function(a, b) return a ~ b end)
library.btest = folded("btest", ONES, function(a, b) return a & b end, true)

function library.bnot(x)
    local value = unsigned("bnot", 1, x)
    return ~value & ONES
end

local function shifted(value, by) -- to the left; logical
    if by <= -BITS or by >= BITS then
        return 0
    end
    return (by < 0 and value >> -by or value << by) & ONES
end

function library.lshift(x, by)
    local count = integer(2, "lshift", 2, by) -- the first to be checked, as in C
    local value = unsigned("lshift", 1, x)
    return shifted(value, count)
end

function library.rshift(x, by)
    local count = integer(2, "rshift", 2, by) -- the first to be checked, as in C
    local value = unsigned("rshift", 1, x)
    return shifted(value, -count)
end

function library.arshift(x, by)
    local value, count = unsigned("arshift", 1, x), integer(2, "arshift", 2, by)
    if count < 0 or value & 0x80000000 == 0 then
        return shifted(value, -count)
    end
    return count >= BITS and ONES or (value >> count | ~(ONES >> count)) & ONES
end

local function rotated(value, by)
    by = by & (BITS - 1)
    return (value << by | value >> BITS - by) & ONES
end

function library.lrotate(x, by)
    local count = integer(2, "lrotate", 2, by) -- the first to be checked, as in C
    local value = unsigned("lrotate", 1, x)
    return rotated(value, count)
end

function library.rrotate(x, by)
    local count = integer(2, "rrotate", 2, by) -- the first to be checked, as in C
    local value = unsigned("rrotate", 1, x)
    return rotated(value, -count)
end

local function field(name, first, start, width)
    local at = integer(3, name, first, start)
    local count = width == nil and 1 or integer(3, name, first + 1, width)
    if at < 0 then
        refuse(3, name, first, "field cannot be negative")
    elseif count <= 0 then
        refuse(3, name, first + 1, "width must be positive")
    elseif at + count > BITS then
        error("trying to access non-existent bits", 3)
    end
    return at, ~(-1 << count)
end

function library.extract(x, start, width)
    local value = unsigned("extract", 1, x)
    local at, mask = field("extract", 2, start, width)
    return value >> at & mask
end

function library.replace(x, new, start, width)
    local value, given = unsigned("replace", 1, x), unsigned("replace", 2, new)
    local at, mask = field("replace", 3, start, width)
    return (value & ~(mask << at) | (given & mask) << at) & ONES
end

return library
