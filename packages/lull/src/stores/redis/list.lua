#!lua flags=allow-oom
-- Ids of one shard, in the order of their bytes, that pass a filter.
-- KEYS: the set to walk (all of them, or the smallest one that holds all matches), active, parked, handed.
-- ARGV: after ('': from the start), prefix ('': any), active, parked and handed ('', '0' or
-- '1'), most ids wanted, most ids to look at.
-- Answer: the last id looked at, if there may be more behind it (else ''), then the ids.
local after, prefix = ARGV[1], ARGV[2]
local most, budget = tonumber(ARGV[6]), tonumber(ARGV[7])
local from = '-'
if after ~= '' then from = '(' .. after elseif prefix ~= '' then from = '[' .. prefix end
-- No byte of UTF-8 is 255.
local to = '+'
if prefix ~= '' then to = '(' .. prefix .. '\255' end

local answer = {''}
local looked = 0
while true do
  local chunk = math.min(250, budget - looked)
  local ids = redis.call('ZRANGEBYLEX', KEYS[1], from, to, 'LIMIT', 0, chunk)
  for _, id in ipairs(ids) do
    local fits = true
    for filter = 3, 5 do
      local wanted = ARGV[filter]
      if wanted ~= '' and (redis.call('ZSCORE', KEYS[filter - 1], id) and '1' or '0') ~= wanted then fits = false end
    end
    if fits then
      answer[#answer + 1] = id
      if #answer > most then
        answer[1] = id
        return answer
      end
    end
  end
  if #ids < chunk then return answer end
  looked = looked + #ids
  from = '(' .. ids[#ids]
  if looked >= budget then
    answer[1] = ids[#ids]
    return answer
  end
end
