-- Every request has a cookie that no other one has.
local number = 0
request = function()
  number = number + 1
  wrk.headers["Cookie"] = "session=" .. number .. "; theme=dark"
  return wrk.format()
end
