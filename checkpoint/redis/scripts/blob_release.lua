-- blob_release ends claims of an owner. It makes the blobs garbage that have none left, and returns
-- them.
--  1 owner  2 time before which the claims were made  3 … hashes
local freed = {}
for i = 3, #arg do
	local hash = arg[i]
	local name = arg[1] .. '/' .. hash
	local at = call('HGET', a, name)
	if at and tonumber(at) < tonumber(arg[2]) then
		call('HDEL', a, name)
		call('ZREM', c, name)
		call('ZREM', d, hash .. '/' .. arg[1])
	end
	local there = call('HGET', h, hash)
	if there and call('ZLEXCOUNT', d, '[' .. hash .. '/', '(' .. hash .. '0') == 0 then
		local upload, chunks = string.match(there, '^(%S+) %S+ (%S+)$')
		call('HDEL', h, hash)
		call('ZADD', g, chunks, upload)
		freed[#freed + 1] = there
	end
end
return freed
