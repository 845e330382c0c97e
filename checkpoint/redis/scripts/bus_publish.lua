-- bus_publish appends an event to a topic: a stream whose ids are n-0, without gaps.
--  1 data  2 how many events to keep, about
-- It answers the number of the event.
local newest, n = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1], 1
if newest then n = tonumber(string.match(newest[1], '^%d+')) + 1 end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], string.format('%.0f-0', n), 'd', ARGV[1])
return string.format('%.0f', n)
