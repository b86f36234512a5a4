-- Every URL ends in a number that no other one has: wrk ... URL -- TEXT SEED.
local before, number = "", 0
function init(args)
  before = wrk.path .. args[1] .. args[2] .. "-"
end
function request()
  number = number + 1
  return wrk.format(nil, before .. number)
end
