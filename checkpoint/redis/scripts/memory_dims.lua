-- memory_dims returns the length of the vectors of a name, which is set once.
--  1 name  2 length
redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[2], ARGV[1])
