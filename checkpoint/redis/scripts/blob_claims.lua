-- blob_claims returns claims of an owner: hash, time, and the blob or ''.
--  1 owner  2 hash after which to begin  3 limit
local from = '[' .. arg[1] .. '/'
if arg[2] ~= '' then from = '(' .. arg[1] .. '/' .. arg[2] end
local list = {}
for _, name in ipairs(call('ZRANGEBYLEX', c, from, '(' .. arg[1] .. '0', 'LIMIT', 0, arg[3])) do
	local hash = string.sub(name, #arg[1] + 2)
	list[#list + 1] = hash
	list[#list + 1] = call('HGET', a, name) or '0'
	list[#list + 1] = call('HGET', h, hash) or ''
end
return list
