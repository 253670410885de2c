#!lua
-- Makes one shard, unless it is there; and marks it, once all of them are made.
-- KEYS: meta. ARGV: identity, number of shards, layout, mark ('1': all are made).
-- Answer: what is there now: identity, shards, layout.
-- Always writes, so that a WAIT behind it waits for what was there already, too.
if ARGV[4] == '1' then
  if redis.call('HGET', KEYS[1], 'identity') == ARGV[1] then redis.call('HSET', KEYS[1], 'ready', 1) end
else
  redis.call('HINCRBY', KEYS[1], 'opened', 1)
  redis.call('HSETNX', KEYS[1], 'identity', ARGV[1])
  redis.call('HSETNX', KEYS[1], 'shards', ARGV[2])
  redis.call('HSETNX', KEYS[1], 'layout', ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'identity', 'shards', 'layout')
