-- put stores pending entries.
--  1 origin  2 N  3 head  4 fence, then for each entry its name, 1 if one that is
--  there stays, and its data. No name comes twice.

local ns = arg[2]
local was = call('HMGET', thread, '@', 'h/' .. ns, 'f', 'w/' .. ns)
local why = refused(was[1], number(was[2]), arg[3], was[3], arg[4])
if why then return why end
if not was[2] then return {'N'} end

local count, new = tonumber(was[4] or 0), {}
for i = 5, #arg, 3 do
	local field = 'e/' .. ns .. '/' .. arg[i]
	local there = call('HEXISTS', thread, field) == 1
	if not there then
		count = count + 1
		new[#new + 1] = 'w/' .. ns .. '/' .. count
		new[#new + 1] = arg[i]
	end
	if not there or arg[i + 1] == '0' then
		new[#new + 1] = field
		new[#new + 1] = arg[i + 2]
	end
end
if #new > 0 then
	new[#new + 1] = 'w/' .. ns
	new[#new + 1] = count
	set(new)
end
return 'K'
