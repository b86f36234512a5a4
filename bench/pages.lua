-- The documents of a directory one after the other, without end: wrk ... URL/page-0.html -- COUNT.
local directory, count, number = "", 1, 0
function init(args)
  directory, count = wrk.path:match("^(.*/)"), tonumber(args[1])
end
function request()
  number = (number + 1) % count
  return wrk.format(nil, directory .. "page-" .. number .. ".html")
end
