-- blob_owners returns owners in order. A 0 follows the slash.
--  1 owner after which to begin  2 limit
local from, list = '-', {}
if arg[1] ~= '' then from = '[' .. arg[1] .. '0' end
while #list < tonumber(arg[2]) do
	local name = call('ZRANGEBYLEX', c, from, '+', 'LIMIT', 0, 1)[1]
	if not name then break end
	local owner = string.match(name, '^[^/]*')
	list[#list + 1] = owner
	from = '[' .. owner .. '0'
end
return list
