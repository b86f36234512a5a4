-- The documents of a directory one after the other, without end: wrk ... URL/ -- COUNT.
local count, number = 1, 0
function init(args)
  count = tonumber(args[1])
end
function request()
  number = (number + 1) % count
  return wrk.format(nil, wrk.path .. "page-" .. number .. ".html")
end
