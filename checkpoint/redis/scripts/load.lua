-- load returns a commit with the blobs that it names, and the pending entries of a head.
--  1 origin  2 N  3 number, 0 for the head
-- It answers K, head, number, commit, names and data of entries, and the blobs in pages.

local ns = arg[2]
local was = call('HMGET', thread, '@', 'h/' .. ns, 'w/' .. ns)
if was[1] and was[1] ~= arg[1] then return {'U', was[1]} end
local head = number(was[2])
local seq = arg[3] == '0' and head or arg[3]
local record = call('HGET', thread, 'c/' .. ns .. '/' .. seq)
if not record then return {'N', head, seq} end

-- After the nonce comes a line of references: F/base/chunks,F/base/chunks
local fields, room = {}, call('HLEN', thread)
for f, base, chunks in string.gmatch(string.match(record, '^[^\n]*', 9), '([^/,]*)/(%d+)/(%d+)') do
	if #fields + tonumber(chunks) >= room then return {'B', head, seq} end -- more than the thread holds
	for k = 0, tonumber(chunks) do fields[#fields + 1] = 'b/' .. ns .. '/' .. f .. '/' .. base .. '/' .. k end
end
local list, data = {}, {}
if seq == head then list, data = entries(ns, was[3]) end
local answer = {'K', head, seq, record, list, data}
in_parts(fields, function(...) answer[#answer + 1] = call('HMGET', thread, ...) end)
return answer
