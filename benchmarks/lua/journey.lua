-- wrk's side of `bench journey`: collections of many merchants, no two alike, that come at a rate of their own and not
-- as fast as they are answered. Arguments: a word that no other run uses, the number of merchants, payments a second
-- (0: as fast as they are answered), the number of the first payment, and the ports that take them, a thread each.

local ffi = require("ffi")
ffi.cdef[[
   struct journey_time { int64_t seconds; int32_t microseconds; int32_t rest; };
   int gettimeofday(struct journey_time *, void *);
]]

local head = "POST /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: mlp_live_"
local names = {"Asha Juma", "Neema Said", "Baraka John", "Rehema Ally", "Daudi Peter", "Zawadi Paul", "Juma Hassan"}
local threads = 0

function setup(thread)
   thread:set("number", threads)
   threads = threads + 1
end

function init(args)
   run, merchants, rate, n = args[1], tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
   ports = #args - 4
   wrk.thread.addr = wrk.lookup("127.0.0.1", args[5 + number])[1]
   n = n + number - ports
   math.randomseed(os.time() + number)
   if rate > 0 then
      local time = ffi.new("struct journey_time")
      local due
      -- Each payment comes when it comes, whatever became of those before it: as of customers who do not know each other.
      function delay()
         ffi.C.gettimeofday(time, nil)
         local now = tonumber(time.seconds) * 1000 + time.microseconds / 1000
         due = (due or now) - math.log(1 - math.random()) * 1000 * ports / rate
         return math.max(0, due - now)
      end
   end
end

function request()
   n = n + ports
   -- The simulator knows what a phone does by its last three digits: those from 200 on approve.
   local body = string.format(
      '{"amount":%d,"channel":"AIRTEL_MONEY","buyerPhone":"+25568%04d%03d","buyerName":"%s",'
         .. '"description":"Sukari kilo %d","metadata":{"orderId":"A-%d"}}',
      500 + n * 7919 % 99500, math.floor(n / 800) % 10000, 200 + n % 800, names[n % #names + 1], n % 50 + 1, n)
   return string.format("%s%040d\r\nIdempotency-Key: %s-%d\r\nContent-Length: %d\r\n\r\n%s",
                        head, n % merchants + 1, run, n, #body, body)
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      'RESULT {"answers":%d,"seconds":%.6f,"p50_ms":%.3f,"p99_ms":%.3f,"refused":%d,"broken":%d}\n',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
      errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
