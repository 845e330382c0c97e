-- blob_finish makes an upload a blob and claims it.
--  1 upload  2 hash  3 size  4 chunks  5 owner  6 time
local there = call('HGET', h, arg[2])
if not there then
	local n = call('ZSCORE', u, arg[1])
	if not n or tonumber(n) ~= tonumber(arg[4]) then return 'N' end
	call('HSET', h, arg[2], arg[1] .. ' ' .. arg[3] .. ' ' .. arg[4])
	call('ZREM', u, arg[1])
end
claim(arg[5], arg[2], arg[6])
if there and string.sub(there, 1, #arg[1] + 1) ~= arg[1] .. ' ' then return 'O' end
return 'K'
