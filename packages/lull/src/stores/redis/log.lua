#!lua flags=allow-oom
-- A page of a log.
-- KEYS: meta, record, log. ARGV: identity, bucket, clock ('': the server's), from, before ('': to the end), most, newest
-- ('1': the last ones before `before`).
-- Answer: as load.lua, without the record.
local found = redis.call('HMGET', KEYS[1], 'identity', ARGV[2])
local now = ARGV[3]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
if found[1] ~= ARGV[1] then return {'lost', now, 0, found[1] or '', 0} end
local answer = {'loaded', now, tonumber(found[2] or '0'), '', 0}
local stored = redis.call('GET', KEYS[2])
if not stored then return answer end
local first, seq = string.match(stored, '^(%d+) (%d+)')
first, seq = tonumber(first), tonumber(seq)
local low = math.max(tonumber(ARGV[4]), first)
local high = seq
if ARGV[5] ~= '' then high = math.min(tonumber(ARGV[5]) - 1, seq) end
local most = tonumber(ARGV[6])
if ARGV[7] == '1' then low = math.max(low, high - most + 1) else high = math.min(high, low + most - 1) end
if low > high then return answer end
answer[5] = low
for _, entry in ipairs(redis.call('LRANGE', KEYS[3], low - first, high - first)) do answer[#answer + 1] = entry end
return answer
