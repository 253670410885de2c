#!lua flags=allow-oom
-- What is due in some shards.
-- KEYS: meta of the first shard, then due of each. ARGV: identity, bucket, clock ('': the server's), until, most of each
-- shard, then how many of each shard to pass over.
-- Answer: kind (due | lost), now, count of the first shard, pause ('': none), then for each shard that has some: its
-- place in KEYS (from 0), and id and time of each timer, soonest first.
-- Most calls find nothing, twice a second in every process: what is asked of each shard is kept to one command.
-- Not marked as reading only: a replica must refuse it.
local now = ARGV[3]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
local found = redis.call('HMGET', KEYS[1], 'identity', ARGV[2], 'pause')
if found[1] ~= ARGV[1] then return {'lost', now, 0, ''} end
local answer = {'due', now, tonumber(found[2] or '0'), found[3] or ''}
local untilMs, most = ARGV[4], ARGV[5]
for index = 2, #KEYS do
  local part = redis.call('ZRANGEBYSCORE', KEYS[index], '-inf', untilMs, 'WITHSCORES', 'LIMIT', ARGV[4 + index], most)
  if #part > 0 then
    table.insert(part, 1, index - 2)
    answer[#answer + 1] = part
  end
end
return answer
