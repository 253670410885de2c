#!lua flags=allow-oom
-- One conversation: its record, and its log from a point on, as of one moment.
-- KEYS: meta, record, log. ARGV: identity, bucket, clock ('': the server's), touch, log from ('': no log).
-- Answer: kind (loaded | lost), now, count, record ('': none), seq of the first entry, entries…
-- Not marked as reading only: a replica must refuse it, for its answers are old. With touch '1' it writes, so that a
-- WAIT behind it waits for all that it saw.
local found = redis.call('HMGET', KEYS[1], 'identity', ARGV[2])
local now = ARGV[3]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
if found[1] ~= ARGV[1] then return {'lost', now, 0, found[1] or '', 0} end
local count = tonumber(found[2] or '0')
if ARGV[4] == '1' then count = redis.call('HINCRBY', KEYS[1], ARGV[2], 1) end

local stored = redis.call('GET', KEYS[2])
if not stored then return {'loaded', now, count, '', 0} end
local headEnd = string.find(stored, '\n', 1, true)
local answer = {'loaded', now, count, string.sub(stored, headEnd + 1), 0}
if ARGV[5] ~= '' then
  local first = tonumber(string.match(stored, '^%d+'))
  local from = math.max(tonumber(ARGV[5]), first)
  answer[5] = from
  for _, entry in ipairs(redis.call('LRANGE', KEYS[3], from - first, -1)) do answer[#answer + 1] = entry end
end
return answer
