-- drop removes commits and blobs from the past of a chain, or all of it.
--  1 origin  2 N  3 head  4 fence  5 whether all, 0 or 1  6 the namespace
--  7 number of commits, then their numbers, then the fields of blobs
-- Removing comes first: it needs no room, so a full server lets the rest pass too.

local ns, last = arg[2], 7 + tonumber(arg[7])
local was = call('HMGET', thread, '@', 'h/' .. ns, 'f')
local why = refused(was[1], number(was[2]), arg[3], was[3], arg[4])
if why then return why end

-- All: whatever has the namespace in its field, and its name in the list of them.
if arg[5] == '1' then
	if not was[2] then return 'K' end
	local gone, count, at = {}, tonumber(call('HGET', thread, 'ns')), nil
	for _, f in ipairs(call('HKEYS', thread)) do
		if string.match(f, '^[hcpnbwe]/([^/]*)') == ns then gone[#gone + 1] = f end
	end
	for i = 1, count do
		if call('HGET', thread, 'ns/' .. i) == arg[6] then at = i end
	end
	gone[#gone + 1] = 'ns/' .. count
	if count == 1 then gone[#gone + 1] = 'ns'; gone[#gone + 1] = '@' end
	local other = call('HGET', thread, 'ns/' .. count)
	remove(gone)
	if at and at < count then call('HSET', thread, 'ns/' .. at, other) end
	if count > 1 then
		call('HSET', thread, 'ns', count - 1)
	else
		call('PEXPIRE', thread, 86400000) -- there is nothing left but leases
	end
	return 'K'
end

local function field(kind, x) return kind .. '/' .. ns .. '/' .. text(x) end

-- link writes down that one number is next to another, unless that goes without saying.
local function link(kind, x, other, usual)
	if other == usual then call('HDEL', thread, field(kind, x)) else call('HSET', thread, field(kind, x), text(other)) end
end

for i = 8, last do
	local x = tonumber(arg[i])
	local got = call('HMGET', thread, field('p', x), field('n', x))
	if call('HDEL', thread, field('c', x), field('p', x), field('n', x)) > 0 then
		local prev, next = tonumber(got[1] or x - 1), tonumber(got[2] or x + 1)
		link('p', next, prev, next - 1)
		link('n', prev, next, prev + 1)
	end
end
local blobs = {}
for i = last + 1, #arg do blobs[#blobs + 1] = arg[i] end
remove(blobs)
return 'K'
