-- memory_list notes that a namespace may hold something, and when that was noted last.
--  1 namespace
redis.call('ZADD', KEYS[1], 0, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], redis.call('TIME')[1])
return 'K'
