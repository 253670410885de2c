#!lua
-- Replaces log entries that exist, if the record is still the one that was judged.
-- KEYS: record, log, logs. ARGV: id, revision, then seq, time and text of each entry.
-- Answer: 1; 0: the record has changed; or minus the seq of an entry that is not there (then nothing was written).
local stored = redis.call('GET', KEYS[1])
if not stored then return 0 end
local headEnd = string.find(stored, '\n', 1, true)
local first, seq, revision = string.match(string.sub(stored, 1, headEnd - 1), '^(%d+) (%d+) %d (.*)$')
if revision ~= ARGV[2] then return 0 end
first, seq = tonumber(first), tonumber(seq)
for index = 3, #ARGV, 3 do
  local at = tonumber(ARGV[index])
  if at < first or at > seq then return -at end
end
for index = 3, #ARGV, 3 do
  redis.call('LSET', KEYS[2], tonumber(ARGV[index]) - first, ARGV[index + 1] .. ' ' .. ARGV[index + 2])
end
local head = redis.call('LINDEX', KEYS[2], 0)
if head and #ARGV > 2 then redis.call('ZADD', KEYS[3], string.match(head, '^%S+'), ARGV[1]) end
return 1
