-- memory_mend takes a namespace that was found empty off the list, unless it was noted not
-- long ago: then somebody may be about to write.
--  1 namespace  2 seconds
local noted = redis.call('HGET', KEYS[2], ARGV[1])
if noted and tonumber(noted) + tonumber(ARGV[2]) > tonumber(redis.call('TIME')[1]) then return 'K' end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 'K'
