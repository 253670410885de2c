#!lua flags=allow-oom
-- Drops old entries from the beginning of one log, if the record is still the one that was judged.
-- KEYS: record, log, logs. ARGV: id, revision, seq from which on entries are needed, time before which they are old, most.
-- Answer: how many were dropped, and 1 if its log still begins before that time, else 0.
local stored = redis.call('GET', KEYS[1])
if not stored then
  redis.call('ZREM', KEYS[3], ARGV[1])
  return {0, 0}
end
local first, rest = string.match(stored, '^(%d+)( .*)$')
local headEnd = string.find(stored, '\n', 1, true)
local revision = string.match(string.sub(stored, 1, headEnd - 1), '^%d+ %d+ %d (.*)$')
if revision ~= ARGV[2] then return {0, 1} end
local before = tonumber(ARGV[4])
local most = math.min(tonumber(ARGV[3]) - tonumber(first), tonumber(ARGV[5]))
local dropped, young = 0, false
while dropped < most and not young do
  local entries = redis.call('LRANGE', KEYS[2], dropped, math.min(dropped + 99, most - 1))
  if #entries == 0 then break end
  for _, entry in ipairs(entries) do
    if tonumber(string.match(entry, '^%S+')) >= before then
      young = true
      break
    end
    dropped = dropped + 1
  end
end
if dropped > 0 then
  redis.call('LTRIM', KEYS[2], dropped, -1)
  redis.call('SET', KEYS[1], string.format('%.0f', first + dropped) .. rest)
end
local head = redis.call('LINDEX', KEYS[2], 0)
if not head then
  redis.call('ZREM', KEYS[3], ARGV[1])
  return {dropped, 0}
end
local begins = string.match(head, '^%S+')
if dropped > 0 then redis.call('ZADD', KEYS[3], begins, ARGV[1]) end
return {dropped, tonumber(begins) < before and 1 or 0}
