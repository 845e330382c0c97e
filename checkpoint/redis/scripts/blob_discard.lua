-- blob_discard makes an upload garbage that is not finished. It returns its number of chunks.
--  1 upload
local n = call('ZSCORE', u, arg[1])
if n then
	call('ZADD', g, n, arg[1])
	call('ZREM', u, arg[1])
end
return tonumber(call('ZSCORE', g, arg[1]) or 0)
