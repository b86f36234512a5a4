-- Every request is one of another visitor: cookie, agent, the page that led here, and the campaign in the query differ.
local number = 0
request = function()
  number = number + 1
  wrk.headers["Cookie"] = "session=" .. number .. "; theme=dark"
  wrk.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:" .. number % 500 .. ".0) Gecko/20100101 Firefox/128.0"
  wrk.headers["Referer"] = "http://localhost/page" .. number % 97
  return wrk.format(nil, wrk.path .. "?campaign=" .. number % 1000)
end
