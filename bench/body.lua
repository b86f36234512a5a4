-- Sends a method with a body: wrk ... URL -- METHOD BODY.
function init(args)
  wrk.method = args[1]
  wrk.body = args[2]
end
