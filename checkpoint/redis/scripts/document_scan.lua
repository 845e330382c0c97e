-- document_scan returns 1 if there may be more, and then ids and records.
--  1 F for forwards, R for backwards  2 from  3 to, as ZRANGEBYLEX wants them
--  4 how many at most  5 after how many bytes to stop
local limit, most, list = tonumber(arg[4]), tonumber(arg[5])
if arg[1] == 'R' then
  list = call('ZREVRANGEBYLEX', order, arg[3], arg[2], 'LIMIT', 0, limit + 1)
else
  list = call('ZRANGEBYLEX', order, arg[2], arg[3], 'LIMIT', 0, limit + 1)
end
local reply, size = {0}, 0
for i, m in ipairs(list) do
  if i > limit or size > most then
    reply[1] = 1
    break
  end
  local id = string.sub(m, string.find(m, '\0', 1, true) + 17)
  local text = call('HGET', items, id) or ''
  reply[#reply + 1] = id
  reply[#reply + 1] = text
  size = size + #text
end
return reply
