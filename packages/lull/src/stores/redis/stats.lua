#!lua flags=allow-oom
-- Numbers of some shards together.
-- KEYS: meta, ids, due, parked and handed of each shard. ARGV: identity, clock ('': the server's).
-- Answer: kind (stats | lost), now, conversations, timers, due, the earliest timer ('': none), parked, handed off.
local now = ARGV[2]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
local conversations, timers, due, parked, handed = 0, 0, 0, 0, 0
local earliest = nil
for at = 1, #KEYS, 5 do
  local identity = redis.call('HGET', KEYS[at], 'identity')
  if identity ~= ARGV[1] then return {'lost', now, 0, identity or ''} end
  conversations = conversations + redis.call('ZCARD', KEYS[at + 1])
  timers = timers + redis.call('ZCARD', KEYS[at + 2])
  due = due + redis.call('ZCOUNT', KEYS[at + 2], '-inf', now)
  local soonest = redis.call('ZRANGE', KEYS[at + 2], 0, 0, 'WITHSCORES')[2]
  if soonest and (earliest == nil or tonumber(soonest) < earliest) then earliest = tonumber(soonest) end
  parked = parked + redis.call('ZCARD', KEYS[at + 3])
  handed = handed + redis.call('ZCARD', KEYS[at + 4])
end
return {'stats', now, conversations, timers, due, earliest and string.format('%.0f', earliest) or '', parked, handed}
