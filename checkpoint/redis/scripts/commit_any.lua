-- The rest of commit: first commits, gaps, entries, many blobs, and refusals.

local ns, from = arg[2], 9 + arg[8]
local last = from + 3 + 2 * (arg[8] - 4)
local head, want = number(was[2]), number(arg[3])
local new_head, seq = arg[from + 1], number(arg[from + 1])

-- A lost reply: this very call, repeated on the way, has put the commit into the chain.
-- Others may have gone on since, or taken the thread over.
if was[2] and head ~= want then
	local record = call('HGET', thread, arg[from + 2])
	if record and string.sub(record, 1, 8) == arg[6] then return 'K' end
end
-- A writer with the lease, or of a thread without one, may also repeat it by another call.
local why = refused(was[1], head, want, was[3], arg[4])
if why and why[1] == 'C' and was[2] == new_head then return 'K' end
if why then return why end
for i = from + 4, last, 2 do
	if call('HEXISTS', thread, arg[i]) == 1 then return {'X', arg[i]} end
end

-- Blobs come first, which nothing names yet, and the head last.
local new, fresh, count = {}, {}, 0
local function add(field, value)
	new[#new + 1] = field
	new[#new + 1] = value
end
for i = from + 2, last, 2 do add(arg[i], arg[i + 1]) end
if not was[1] then add('@', arg[1]) end
if head == '0' then
	local spaces = (call('HGET', thread, 'ns') or 0) + 1
	add('ns', spaces)
	add('ns/' .. spaces, string.sub(arg[7], 2))
end
if tonumber(seq) - 1 ~= tonumber(head) then
	add('p/' .. ns .. '/' .. seq, head)
	add('n/' .. ns .. '/' .. head, seq)
end
for i = last + 1, #arg, 2 do
	count = count + 1
	fresh[arg[i]] = true
	add('w/' .. ns .. '/' .. count, arg[i])
	add('e/' .. ns .. '/' .. arg[i], arg[i + 1])
end
if count > 0 then add('w/' .. ns, count) end
add('h/' .. ns, new_head)
local old = names(ns, was[4])
set(new)

-- Remove the pending entries of the old head.
local gone = {}
for i = 1, #old do
	if not fresh[old[i]] then gone[#gone + 1] = 'e/' .. ns .. '/' .. old[i] end
	if i > count then gone[#gone + 1] = 'w/' .. ns .. '/' .. i end
end
if was[4] and count == 0 then gone[#gone + 1] = 'w/' .. ns end
remove(gone)

if arg[5] ~= '0' then
	call('PEXPIRE', thread, arg[5])
elseif not was[1] then
	call('PERSIST', thread) -- until now there was nothing, or nothing but a lease
end
return 'K'
