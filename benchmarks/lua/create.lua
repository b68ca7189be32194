-- wrk's side of `bench create`: collections of many merchants, no two alike. Arguments: a word that no other run
-- uses, the number of merchants, the most requests, and the milliseconds each connection rests between two requests.

local head = "POST /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: mlp_live_"
local names = {"Asha Juma", "Neema Said", "Baraka John", "Rehema Ally", "Daudi Peter", "Zawadi Paul", "Juma Hassan"}
local n = 0

function init(args)
   run, merchants, most, rest = args[1], tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
   math.randomseed(os.time())
   if rest > 0 then
      -- Uneven, so that requests do not come in step: a crowd is not a drill.
      function delay() return math.random(0, 2 * rest) end
   end
end

function request()
   n = n + 1
   if n > most then wrk.thread:stop() end
   local body = string.format(
      '{"amount":%d,"channel":"MPESA","buyerPhone":"+2557%08d","buyerName":"%s",'
         .. '"description":"Sukari kilo %d","metadata":{"orderId":"A-%d"}}',
      500 + n * 7919 % 99500, n * 104729 % 100000000, names[n % #names + 1], n % 50 + 1, n)
   return string.format("%s%040d\r\nIdempotency-Key: %s-%d\r\nContent-Length: %d\r\n\r\n%s",
                        head, n % merchants + 1, run, n, #body, body)
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      'RESULT {"answers":%d,"seconds":%.6f,"p50_ms":%.3f,"p99_ms":%.3f,"most_ms":%.3f,"refused":%d,"broken":%d}\n',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
      latency.max / 1e3, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
