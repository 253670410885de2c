#!lua flags=allow-oom
-- Removes all of one conversation.
-- KEYS: record, log, seen, then every set that may name it. ARGV: id. Answer: 1, or 0: there was nothing.
local removed = redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
for index = 4, #KEYS do removed = removed + redis.call('ZREM', KEYS[index], ARGV[1]) end
return removed > 0 and 1 or 0
