#!lua
-- Sets or removes one timer, if the record is still the one that was judged.
-- KEYS: record, due, active. ARGV: id, revision, wake-up ('': none). Answer: 1, or 0: the record has changed.
local stored = redis.call('GET', KEYS[1])
if not stored then return 0 end
local headEnd = string.find(stored, '\n', 1, true)
local first, seq, flags, revision = string.match(string.sub(stored, 1, headEnd - 1), '^(%d+) (%d+) (%d) (.*)$')
if revision ~= ARGV[2] then return 0 end
local marks = tonumber(flags) % 4
if ARGV[3] ~= '' then marks = marks + 4 end
redis.call('SET', KEYS[1], first .. ' ' .. seq .. ' ' .. marks .. ' ' .. revision .. string.sub(stored, headEnd))
if ARGV[3] == '' then
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
else
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
  redis.call('ZADD', KEYS[3], 0, ARGV[1])
end
return 1
