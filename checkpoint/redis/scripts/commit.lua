-- commit appends a commit if the head is still the one it was made for.
--  1 origin  2 N  3 the head it is for  4 the new head, with its id  5 fence
--  6 ms to live, or 0  7 nonce of the call  8 the namespace, for a first commit
--  9 number of blobs, then for each its field and data; after them the field and data of
--  the commit; then for each entry its name and data.
-- It answers K when the commit is stored, also when it was before, and else why not.

local ns, last = arg[2], 9 + 2 * tonumber(arg[9])
local ask = {'@', 'h/' .. ns, 'f', 'w/' .. ns}
local given = #ask
for i = 10, last, 2 do ask[#ask + 1] = arg[i] end
local was = get(ask)
local head, seq = number(was[2]), number(arg[4])

-- A lost reply: the head is this very commit; or this very call, which was repeated
-- on the way, has put it into the chain and others have gone on.
if was[2] == arg[4] then return 'K' end
if head ~= arg[3] and head ~= '0' then
	local record = call('HGET', thread, arg[last + 1])
	if record and string.sub(record, 1, 8) == arg[7] then return 'K' end
end
local why = refused(was[1], head, arg[3], was[3], arg[5])
if why then return why end
for i = given + 1, #ask do
	if was[i] then return {'X', ask[i]} end
end

-- Blobs come first, which nothing names yet, and the head last.
local new, fresh = {}, {}
for i = 10, last + 2 do new[#new + 1] = arg[i] end
if not was[1] then new[#new + 1] = '@'; new[#new + 1] = arg[1] end
if head == '0' then
	local count = (call('HGET', thread, 'ns') or 0) + 1
	for _, v in ipairs({'ns', count, 'ns/' .. count, arg[8]}) do new[#new + 1] = v end
end
if tonumber(seq) - 1 ~= tonumber(head) then
	for _, v in ipairs({'p/' .. ns .. '/' .. seq, head, 'n/' .. ns .. '/' .. head, seq}) do new[#new + 1] = v end
end
local count = 0
for i = last + 3, #arg, 2 do
	count = count + 1
	fresh[arg[i]] = true
	for _, v in ipairs({'w/' .. ns .. '/' .. count, arg[i], 'e/' .. ns .. '/' .. arg[i], arg[i + 1]}) do new[#new + 1] = v end
end
if count > 0 then new[#new + 1] = 'w/' .. ns; new[#new + 1] = count end
new[#new + 1] = 'h/' .. ns
new[#new + 1] = arg[4]
local old = was[4] and names(ns, was[4]) or {}
set(new)

-- What stood beside the old head goes.
local gone = {}
for i = 1, #old do
	if not fresh[old[i]] then gone[#gone + 1] = 'e/' .. ns .. '/' .. old[i] end
	if i > count then gone[#gone + 1] = 'w/' .. ns .. '/' .. i end
end
if was[4] and count == 0 then gone[#gone + 1] = 'w/' .. ns end
remove(gone)

if arg[6] ~= '0' then
	call('PEXPIRE', thread, arg[6])
elseif not was[1] and was[3] then
	call('PERSIST', thread) -- until now there was nothing but a lease
end
return 'K'
