#!lua flags=allow-oom
-- Drops expired keys of one conversation, a piece at a time.
-- KEYS: seen, expiries. ARGV: id, clock ('': the server's), time up to which expired keys go, most, cursor, the earliest
-- expiry that an earlier piece has kept ('': none).
-- Answer: cursor ('0': done), how many were dropped, the earliest expiry kept ('': none).
local now = ARGV[2]
if now == '' then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local untilMs = math.min(tonumber(ARGV[3]), tonumber(now))
local most = tonumber(ARGV[4])
local least = tonumber(ARGV[6])
local scanned = redis.call('HSCAN', KEYS[1], ARGV[5], 'COUNT', 500)
local dropped = 0
for index = 1, #scanned[2], 2 do
  local expiresAt = tonumber(string.match(scanned[2][index + 1], '^%S+'))
  if expiresAt <= untilMs and dropped < most then
    dropped = dropped + redis.call('HDEL', KEYS[1], scanned[2][index])
  elseif least == nil or expiresAt < least then
    least = expiresAt
  end
end
if scanned[1] == '0' then
  if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('ZREM', KEYS[2], ARGV[1])
  elseif least ~= nil then
    redis.call('ZADD', KEYS[2], string.format('%.0f', least), ARGV[1])
  end
end
return {scanned[1], dropped, least and string.format('%.0f', least) or ''}
