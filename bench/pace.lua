-- Sends at a constant rate: wrk -s pace.lua ... URL -- RATE [SCRIPT ARGUMENT...]. A connection that is free takes the
-- next sending time of the rate. SCRIPT prepares the requests. Prints the histogram of latencies.
local ffi = require("ffi")
ffi.cdef("typedef struct { long s, us; } pace_time; int gettimeofday(pace_time *, void *);")
local clock, period, due = ffi.new("pace_time"), 0, nil
function init(args)
  period = 1000 / tonumber(args[1])
  if args[2] then
    init = nil
    dofile(args[2])
    if init then init({unpack(args, 3)}) end
  end
end
function delay()
  ffi.C.gettimeofday(clock, nil)
  local now = tonumber(clock.s) * 1000 + tonumber(clock.us) / 1000
  due = (due or now) + period
  return due > now and math.floor(due - now) or 0
end
function done(summary, latency, requests)
  io.write(string.format("microseconds %d requests %d\n", summary.duration, summary.requests))
  for number = 1, #latency do
    io.write(string.format("latency %d %d\n", latency(number)))
  end
end
