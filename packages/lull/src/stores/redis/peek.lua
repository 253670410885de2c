#!lua flags=allow-oom
-- Some conversations of one shard (outside a cluster: of any).
-- KEYS: due and record of each. ARGV: their ids.
-- Answer: for each: its time ('': no timer), and what is stored as its record ('': none).
local answer = {}
for index, id in ipairs(ARGV) do
  answer[2 * index - 1] = redis.call('ZSCORE', KEYS[2 * index - 1], id) or ''
  answer[2 * index] = redis.call('GET', KEYS[2 * index]) or ''
end
return answer
