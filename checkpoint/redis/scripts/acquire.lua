-- acquire takes or renews the lease of a thread.
--  1 origin  2 owner  3 ms  4 fence to renew, or ''  5 fence for a new lease  6 force, 0
--  or 1  7 from whom, or ''  8 ms to live for a thread that has nothing but a lease
--  9 how many leases to remember
-- The time is the server's. It answers K, fence and owner, or why not.

local was, now = call('HMGET', thread, '@', 'f', 'o', 'l', 'g'), call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
if was[1] and was[1] ~= arg[1] then return {'U', was[1]} end
local fence, owner, log = arg[5], arg[2], was[5] or ''
if arg[4] ~= '' then
	if was[2] ~= arg[4] then return {'F', was[3] or ''} end
	fence, owner = was[2], was[3]
elseif was[2] ~= fence then
	if string.find(' ' .. log .. ' ', ' ' .. fence .. ' ', 1, true) then return {'F', was[3] or ''} end
	local left = was[2] and tonumber(was[4]) - now or 0
	local takes = arg[6] == '1' and (arg[7] == '' or arg[7] == was[3])
	if left > 0 and not takes then return {'B', was[3], text(left)} end
	local list = {fence}
	for one in string.gmatch(log, '%S+') do
		if #list < tonumber(arg[9]) then list[#list + 1] = one end
	end
	log = table.concat(list, ' ')
end
call('HSET', thread, 'f', fence, 'o', owner, 'l', text(now + tonumber(arg[3])), 'g', log)
if not was[1] then call('PEXPIRE', thread, arg[8]) end
return {'K', fence, owner}
