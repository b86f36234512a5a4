-- Posts its argument: wrk ... URL -- BODY.
function init(args)
  wrk.method = "POST"
  wrk.body = args[1]
end
