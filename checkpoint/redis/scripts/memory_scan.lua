-- memory_scan returns the last key that was looked at, 1 if there may be more, and then the
-- keys and records that are alive.
--  1 from where, as ZRANGEBYLEX wants it  2 how many at most  3 after how many bytes to stop
local limit, most = tonumber(arg[2]), tonumber(arg[3])
local list = call('ZRANGEBYLEX', keys, arg[1], '+', 'LIMIT', 0, limit)
local reply, size, more = {'', 0}, 0, #list == limit
for i, key in ipairs(list) do
  reply[1] = key
  local r = take(key)
  if alive(r) then
    reply[#reply + 1] = key
    reply[#reply + 1] = r.text
    size = size + #r.text
  end
  if size > most and i < #list then
    more = true
    break
  end
end
if more then reply[2] = 1 end
return reply
