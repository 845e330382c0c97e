-- The keys of the names and claims of blobs:
--  u  the uploads that are not finished, with their numbers of chunks
--  g  the uploads that are garbage, with their numbers of chunks
--  h  by hash: the upload, the size and the number of chunks
--  c  the claims as OWNER/HASH, in order; an owner is hexadecimal
--  d  the claims as HASH/OWNER, in order
--  a  by OWNER/HASH: when the claim was made, in milliseconds
local u, g, h, c, d, a = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local arg, call = ARGV, redis.call

local function claim(owner, hash, at)
	call('ZADD', c, 0, owner .. '/' .. hash)
	call('ZADD', d, 0, hash .. '/' .. owner)
	call('HSET', a, owner .. '/' .. hash, at)
end

