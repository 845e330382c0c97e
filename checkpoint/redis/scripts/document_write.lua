-- document_write makes all changes to a partition or none. It returns 'K' and the heads of
-- the records, '' for those that are gone; or 'D' and whole records when this very write was
-- made before; or 'C', the place of the change that conflicts, and the version; or 'X' and
-- the place of a record that cannot be read, which only a deletion may remove; or 'L' if it must not
-- begin the partition.
--  1 name of the write  2 '1' if the partition was put on the list by an earlier write and must have
--    something, else '', then five for each change:
--    P to put, D to delete  id  the version it must have, or ''  order  value
local name = arg[1]
if arg[2] == '1' and call('EXISTS', items) == 0 then return 'L' end
local before, done = {}, false
for i = 3, #arg, 5 do
  local r = take(arg[i + 1])
  before[i] = r
  if r and not r.name and (arg[i] ~= 'D' or arg[i + 2] ~= '') then return {'X', (i - 3) / 5} end
  if r and r.name == name then done = true end
end

local reply = {'K'}
if done then
  reply[1] = 'D'
  for i = 3, #arg, 5 do
    reply[#reply + 1] = arg[i] == 'P' and before[i] and before[i].text or ''
  end
  return reply
end

for i = 3, #arg, 5 do
  local version = before[i] and before[i].version or 0
  if arg[i + 2] ~= '' and tonumber(arg[i + 2]) ~= version then return {'C', (i - 3) / 5, decimal(version)} end
end

local clock = call('TIME')
local number = math.max(tonumber(call('HGET', items, '') or '0'), clock[1] * 1000000 + clock[2])
for i = 3, #arg, 5 do
  local id, old = arg[i + 1], before[i]
  if old then
    call('HDEL', items, id)
    if old.name then call('ZREM', order, member(old, id)) end
  end
  if arg[i] == 'D' then
    reply[#reply + 1] = ''
  else
    number = number + 1
    local r = {order = arg[i + 3], seq = old and old.seq or number}
    local head = table.concat({decimal(number), decimal(r.seq), decimal(#r.order), name}, ' ')
    call('HSET', items, id, head .. '\n' .. r.order .. arg[i + 4])
    call('ZADD', order, 0, member(r, id))
    reply[#reply + 1] = head
  end
end
if call('ZCARD', order) > 0 then
  call('HSET', items, '', decimal(number))
elseif call('HLEN', items) <= 1 then
  call('DEL', items)
end
return reply
