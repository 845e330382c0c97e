-- memory_mend removes a namespace that was found empty from the list, unless it was noted
-- recently: then a write may be under way.
--  1 namespace  2 seconds
local noted = redis.call('HGET', KEYS[2], ARGV[1])
if noted and tonumber(noted) + tonumber(ARGV[2]) > tonumber(redis.call('TIME')[1]) then return 'K' end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 'K'
