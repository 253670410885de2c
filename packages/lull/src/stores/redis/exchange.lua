#!lua
-- The compare-and-exchange: everything or nothing, in one call.
-- KEYS: meta, record, log, seen, ids, due, active, parked, handed, logs, expiries.
-- ARGV: identity, bucket, clock ('': the server's), touch, when the caller decided, how far that may be off; id,
-- expected ('': must not exist), revision, seq of the first entry (without any: seq + 1), seq, flags (1 parked, 2 handed
-- off, 4 has a timer), record, wake-up ('': none), log from ('': no log); number of seen keys, then key, expiry and value
-- of each; number of entries, then time and text of each. Revisions and keys are JSON: no line breaks in them.
-- Answer: kind, now, count, text, number, rest…
--   lost (text: the identity found) | skewed | duplicate (text: record; rest: key and value of each repeated key) |
--   conflict (text: record) | gap (number: stored seq) | damaged (number: entries stored) |
--   stored (text 'again' if it was before this call; number: seq of the first entry that follows, then the log)
-- A record is '<seq of the first entry kept> <seq> <flags> <revision>', a line break, and its JSON.
-- HINCRBY comes before every other write: out of memory, it is refused, and then nothing was written.
local meta, record, log, seen, ids, due, active, parked, handed, logs, expiries = unpack(KEYS)
local identity, bucket, now, touch, callerMs, skewMs, id, expected, revision = unpack(ARGV, 1, 9)
local firstSeq, seq, flags, text, wakeAt, logFrom = unpack(ARGV, 10, 15)

local found = redis.call('HMGET', meta, 'identity', bucket)
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
local nowMs = tonumber(now)
if found[1] ~= identity then return {'lost', now, 0, found[1] or '', 0} end
local count = tonumber(found[2] or '0')
if math.abs(callerMs - nowMs) > tonumber(skewMs) then return {'skewed', now, count, '', 0} end

local stored = redis.call('GET', record)
local first, storedSeq, storedFlags, storedRevision, storedText = 1, 0, 0, '', ''
if stored then
  local headEnd = string.find(stored, '\n', 1, true)
  first, storedSeq, storedFlags, storedRevision = string.match(string.sub(stored, 1, headEnd - 1), '^(%d+) (%d+) (%d) (.*)$')
  first, storedSeq, storedFlags = tonumber(first), tonumber(storedSeq), tonumber(storedFlags)
  storedText = string.sub(stored, headEnd + 1)
end

local function withLog(answer)
  if logFrom ~= '' then
    local from = math.max(tonumber(logFrom), first)
    answer[5] = from
    for _, entry in ipairs(redis.call('LRANGE', log, from - first, -1)) do answer[#answer + 1] = entry end
  end
  return answer
end

-- Asked again by a client that lost the answer.
if storedRevision == revision then
  if touch == '1' then count = redis.call('HINCRBY', meta, bucket, 1) end
  return withLog({'stored', now, count, 'again', 0})
end

local at = 16
local seenCount = tonumber(ARGV[at])
local repeated = {}
for index = 1, seenCount do
  local key = ARGV[at + 3 * index - 2]
  local kept = redis.call('HGET', seen, key)
  if kept then
    local space = string.find(kept, ' ', 1, true)
    if tonumber(string.sub(kept, 1, space - 1)) > nowMs then
      repeated[#repeated + 1] = key
      repeated[#repeated + 1] = string.sub(kept, space + 1)
    end
  end
end
if #repeated > 0 then
  if touch == '1' then count = redis.call('HINCRBY', meta, bucket, 1) end
  local answer = {'duplicate', now, count, storedText, 0}
  for _, value in ipairs(repeated) do answer[#answer + 1] = value end
  return answer
end

if storedRevision ~= expected then return {'conflict', now, count, storedText, 0} end
if tonumber(firstSeq) ~= storedSeq + 1 then return {'gap', now, count, '', storedSeq} end
local length = redis.call('LLEN', log)
if length ~= storedSeq - first + 1 then return {'damaged', now, count, '', length} end

count = redis.call('HINCRBY', meta, bucket, 1)
redis.call('SET', record, string.format('%.0f', first) .. ' ' .. seq .. ' ' .. flags .. ' ' .. revision .. '\n' .. text)
if not stored then redis.call('ZADD', ids, 0, id) end

for index = 1, seenCount do
  local key, expiresAt, value = unpack(ARGV, at + 3 * index - 2, at + 3 * index)
  if tonumber(expiresAt) > nowMs then
    redis.call('HSET', seen, key, expiresAt .. ' ' .. value)
    redis.call('ZADD', expiries, 'LT', expiresAt, id)
  end
end

at = at + 3 * seenCount + 1
local entryCount = tonumber(ARGV[at])
for index = 1, entryCount do
  redis.call('RPUSH', log, ARGV[at + 2 * index - 1] .. ' ' .. ARGV[at + 2 * index])
end
if entryCount > 0 and length == 0 then redis.call('ZADD', logs, ARGV[at + 1], id) end

if wakeAt == '' then redis.call('ZREM', due, id) else redis.call('ZADD', due, wakeAt, id) end
local function mark(set, bit)
  local is = math.floor(tonumber(flags) / bit) % 2
  if is == math.floor(storedFlags / bit) % 2 then return end
  if is == 1 then redis.call('ZADD', set, 0, id) else redis.call('ZREM', set, id) end
end
mark(parked, 1)
mark(handed, 2)
mark(active, 4)
return withLog({'stored', now, count, '', 0})
