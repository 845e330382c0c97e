-- namespaces returns the names of the chains of a thread.
--  1 origin
local was = call('HMGET', thread, '@', 'ns')
if was[1] and was[1] ~= arg[1] then return {'U', was[1]} end
local fields = {}
for i = 1, tonumber(was[2] or 0) do fields[i] = 'ns/' .. i end
return {'K', get(fields)}
