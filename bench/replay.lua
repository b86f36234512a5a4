-- The requests of an access log in its order, again and again: wrk ... URL -- FILE. From the second pass on, each client
-- has the agent of another one, so that heads repeat as rarely as in the log.
local agents, clients, before, after = {}, {}, {}, {}
local number, shift = 0, 0
function init(args)
  for line in io.lines(args[1]) do
    local agent = line:match("^agent\t(.*)$")
    if agent then
      agents[#agents + 1] = agent == "" and "" or agent .. "\r\n"
    else
      local client, head, rest = line:match("^request\t(%d+)\t%d+\t([^\t]*)\t([^\t]*)$")
      clients[#clients + 1] = tonumber(client)
      before[#before + 1], after[#after + 1] = head:gsub("\1", "\r\n"), rest:gsub("\1", "\r\n")
    end
  end
end
function request()
  number = number + 1
  if number > #before then
    number, shift = 1, shift + 1
  end
  return before[number] .. agents[(clients[number] + shift) % #agents + 1] .. after[number]
end
