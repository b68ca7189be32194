-- wrk's side of `bench pay-pages`: customers who open the page of a link, each from an address of its own. Arguments: a word
-- (not used), the number of customers, the most requests, and the milliseconds each of them looks at a page.

local n = 0

function init(args)
   customers, most, rest = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
   math.randomseed(os.time())
   if rest > 0 then
      function delay() return math.random(0, 2 * rest) end
   end
end

function request()
   n = n + 1
   if n > most then wrk.thread:stop() end
   local who = n % customers
   return wrk.format("GET", nil, {
      ["Host"] = "127.0.0.1", ["Accept-Encoding"] = "gzip", ["Accept-Language"] = "sw",
      ["X-Forwarded-For"] = string.format("10.1.%d.%d", math.floor(who / 250), who % 250 + 1)})
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      'RESULT {"answers":%d,"seconds":%.6f,"p50_ms":%.3f,"p99_ms":%.3f,"most_ms":%.3f,"refused":%d,"broken":%d}\n',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
      latency.max / 1e3, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
