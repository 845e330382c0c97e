-- acquire takes or renews the lease of a thread.
--  1 origin  2 owner  3 ms  4 fence to renew, or ''  5 fence for a new lease  6 force, 0
--  or 1  7 ms to live for a thread that has nothing but a lease
-- The time is the server's.

local was, now = call('HMGET', thread, '@', 'f', 'o', 'l'), call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
if was[1] and was[1] ~= arg[1] then return {'U', was[1]} end
local fence = arg[5]
if arg[4] ~= '' then
	fence = arg[4]
	if was[2] ~= fence then return {'F', was[3] or ''} end
elseif was[2] and was[2] ~= fence and arg[6] == '0' then
	local left = tonumber(was[4]) - now
	if left > 0 then return {'B', was[3], text(left)} end
end
call('HSET', thread, 'f', fence, 'o', arg[2], 'l', text(now + tonumber(arg[3])))
if not was[1] then call('PEXPIRE', thread, arg[7]) end
return {'K', fence}
