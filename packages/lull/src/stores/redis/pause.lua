#!lua flags=allow-oom
-- Sets the pause of some shards, or lifts it.
-- KEYS: meta of each. ARGV: identity, bucket, clock ('': the server's), pause ('': none).
-- Answer: kind (paused | lost), now, identity found.
local now = ARGV[3]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
for _, meta in ipairs(KEYS) do
  local identity = redis.call('HGET', meta, 'identity')
  if identity ~= ARGV[1] then return {'lost', now, identity or ''} end
end
for _, meta in ipairs(KEYS) do
  redis.call('HINCRBY', meta, ARGV[2], 1)
  if ARGV[4] == '' then redis.call('HDEL', meta, 'pause') else redis.call('HSET', meta, 'pause', ARGV[4]) end
end
return {'paused', now, ARGV[1]}
