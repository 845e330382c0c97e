-- history returns commits without blobs, newest first.
--  1 origin  2 N  3 only numbers below this one, 0 for from the head  4 how many
--  5 how many steps to look for the first  6 where to go on looking, or 0
-- It answers K, head, names and data of the head's entries if it is among them, and then
-- the number and record of each; W and a number when it has not found the first yet.

local ns, below, steps, x = arg[2], tonumber(arg[3]), tonumber(arg[5]), tonumber(arg[6])
local was = call('HMGET', thread, '@', 'h/' .. ns, 'w/' .. ns)
if was[1] and was[1] ~= arg[1] then return {'U', was[1]} end
local head = number(was[2])
if head == '0' then return {'K', head, {}, {}} end

local function previous(x) return before(x, call('HGET', thread, 'p/' .. ns .. '/' .. text(x))) end
local function there(x) return call('HEXISTS', thread, 'c/' .. ns .. '/' .. text(x)) == 1 end

-- The first is the one before a known number, or just below it, or is looked for.
if below == 0 or below > tonumber(head) then
	x = tonumber(head)
elseif x == 0 and there(below) then
	x = previous(below)
elseif x == 0 and there(below - 1) then
	x = below - 1
else
	if x == 0 then x = tonumber(head) end
	while x >= below do
		if steps == 0 then return {'W', text(x)} end
		steps, x = steps - 1, previous(x)
	end
end

local list, data = {}, {}
if text(x) == head then list, data = entries(ns, was[3]) end
local answer = {'K', head, list, data}
for _ = 1, tonumber(arg[4]) do
	if x < 1 then break end
	local at = text(x)
	local got = call('HMGET', thread, 'c/' .. ns .. '/' .. at, 'p/' .. ns .. '/' .. at)
	answer[#answer + 1] = at
	answer[#answer + 1] = got[1]
	if not got[1] then break end
	local next = before(x, got[2])
	if next >= x then break end
	x = next
end
return answer
