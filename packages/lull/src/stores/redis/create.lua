#!lua
-- Makes one shard, unless it is there.
-- KEYS: meta. ARGV: identity, number of shards, layout. Answer: what is there now: identity, shards, layout.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'identity', ARGV[1], 'shards', ARGV[2], 'layout', ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'identity', 'shards', 'layout')
