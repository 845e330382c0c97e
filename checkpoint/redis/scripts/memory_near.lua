-- memory_near returns the records of some items, '' for one that has another version by now. The
-- list is shorter when it has too many bytes.
--  1 after how many bytes to stop, then two for each item: version  key
local reply, size = {}, 0
for i = 2, #arg, 2 do
  local r = take(arg[i + 1])
  if alive(r) and decimal(r.version) == arg[i] then
    reply[#reply + 1] = r.text
    size = size + #r.text
  else
    reply[#reply + 1] = ''
  end
  if size > tonumber(arg[1]) then break end
end
return reply
