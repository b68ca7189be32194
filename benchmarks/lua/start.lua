-- wrk's side of `bench start`: collections on all four networks, from phones that approve. Arguments as in create.lua; how
-- many merchants there are plays no part, and the last one is the API key.

local networks = {{"MPESA", "75"}, {"AIRTEL_MONEY", "68"}, {"TIGO_PESA", "71"}, {"HALOPESA", "62"}}
local n = 0

function init(args)
   run, most, rest, key = args[1], tonumber(args[3]), tonumber(args[4]), args[5]
   math.randomseed(os.time())
   if rest > 0 then
      -- Uneven, so that requests do not come in step: a crowd is not a drill.
      function delay() return math.random(0, 2 * rest) end
   end
end

function request()
   n = n + 1
   if n > most then wrk.thread:stop() end
   local network = networks[n % #networks + 1]
   -- The last three digits say what a phone does, and from 200 on it approves.
   local body = string.format(
      '{"amount":%d,"channel":"%s","buyerPhone":"+255%s%04d%03d","buyerName":"Asha Juma","metadata":{"orderId":"A-%d"}}',
      500 + n % 500, network[1], network[2], n * 7919 % 10000, n % 800 + 200, n)
   return string.format(
      "POST /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: %s\r\n"
         .. "Idempotency-Key: %s-%d\r\nContent-Length: %d\r\n\r\n%s", key, run, n, #body, body)
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      'RESULT {"answers":%d,"seconds":%.6f,"p50_ms":%.3f,"p99_ms":%.3f,"most_ms":%.3f,"refused":%d,"broken":%d}\n',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
      latency.max / 1e3, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
