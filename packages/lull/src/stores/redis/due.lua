#!lua flags=allow-oom
-- What is due in some shards.
-- KEYS: meta and due of each shard. ARGV: identity, bucket, clock ('': the server's), until, most of each shard, then
-- how many of each shard to pass over.
-- Answer: now, then for each shard: kind (due | lost), count, pause ('': none), then id and time of each timer, soonest
-- first.
-- Not marked as reading only: a replica must refuse it.
local now = ARGV[3]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
local answer = {now}
for index = 1, #KEYS / 2 do
  local found = redis.call('HMGET', KEYS[2 * index - 1], 'identity', ARGV[2], 'pause')
  if found[1] ~= ARGV[1] then
    answer[index + 1] = {'lost', 0, ''}
  else
    local part = redis.call('ZRANGEBYSCORE', KEYS[2 * index], '-inf', ARGV[4], 'WITHSCORES', 'LIMIT', ARGV[5 + index], ARGV[5])
    table.insert(part, 1, 'due')
    table.insert(part, 2, tonumber(found[2] or '0'))
    table.insert(part, 3, found[3] or '')
    answer[index + 1] = part
  end
end
return answer
