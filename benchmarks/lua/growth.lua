-- wrk's side of `bench growth`: the ordinary mix, of many merchants, no two alike. Of a hundred payments 15 are payouts, and of
-- the collections 9 are declined. Arguments: a word that no other run uses, the number of merchants, the most requests, and the
-- milliseconds each connection rests between two requests (not used).

local head = "POST /v1/payments%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: mlp_live_%040d\r\n"
local names = {"Asha Juma", "Neema Said", "Baraka John", "Rehema Ally", "Daudi Peter", "Zawadi Paul", "Juma Hassan"}
local n = 0

function init(args)
   merchants, most = tonumber(args[2]), tonumber(args[3])
   math.randomseed(os.time() * 1000 + tonumber(args[1]))
end

-- A UUID, as most clients send it.
local function key()
   local function hex(count) return string.format("%0" .. count .. "x", math.random(0, 16 ^ count - 1)) end
   return table.concat({hex(4) .. hex(4), hex(4), hex(4), hex(4), hex(6) .. hex(6)}, "-")
end

function request()
   n = n + 1
   if n > most then wrk.thread:stop() end
   local is_payout = n % 100 >= 85
   -- The simulator knows what a phone does by its last three digits: 101 declines, those from 200 on approve.
   local last = n % 100 < 9 and 101 or 200 + n % 800
   local who = is_payout and "recipient" or "buyer"
   local body = string.format(
      '{"amount":%d,"channel":"AIRTEL_MONEY","%sPhone":"+25568%04d%03d","%sName":"%s",'
         .. '"description":"Sukari kilo %d","metadata":{"orderId":"A-%d"}}',
      500 + n * 7919 % 99500, who, math.random(0, 9999), last, who, names[n % #names + 1], n % 50 + 1, n)
   return string.format(head .. "Idempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
                        is_payout and "/disburse" or "", n % merchants + 1, key(), #body, body)
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      'RESULT {"answers":%d,"seconds":%.6f,"p50_ms":%.3f,"p99_ms":%.3f,"most_ms":%.3f,"refused":%d,"broken":%d}\n',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
      latency.max / 1e3, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
