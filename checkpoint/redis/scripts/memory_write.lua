-- memory_write makes all changes to a namespace or none. It returns the records, '' for
-- those that are gone; or 'C', the place of the change that conflicts, and the version; or
-- 'X' and the place of a record that cannot be read, which only a deletion may remove; or 'L' if it
-- must not begin the namespace.
--  1 id of the write  2 '1' if the namespace was put on the list by an earlier write and must have
--    something, else '', then six for each change:
--    P to put, D to delete, T to touch  key  the version it must have, or ''
--    how long it lives, 0 for ever  how long from each read on  value
local id = arg[1]
if arg[2] == '1' and call('EXISTS', items) == 0 then return 'L' end

local sets = call('SMEMBERS', names)

local function drop(key)
  for _, name in ipairs(sets) do forget(name, key) end
  call('HDEL', items, key)
  call('ZREM', keys, key)
  call('ZREM', ends, key)
end

local function put(key, r, value)
  local text = table.concat({decimal(r.version), decimal(r.created), decimal(r.updated), decimal(r.expires), decimal(r.refresh), r.id}, ' ')
  text = text .. '\n' .. value
  call('HSET', items, key, text)
  call('ZADD', keys, 0, key)
  if r.expires > 0 then call('ZADD', ends, decimal(r.expires), key) else call('ZREM', ends, key) end
  return text
end

local function touch(key, old)
  if not alive(old) then return '' end
  if old.refresh == 0 then return old.text end
  old.expires = now + old.refresh
  return put(key, old, string.sub(old.text, old.value))
end

local before, done = {}, false
for i = 3, #arg, 6 do
  local r = take(arg[i + 1])
  before[i] = r
  if r and not r.id and (arg[i] ~= 'D' or arg[i + 2] ~= '') then return {'X', (i - 3) / 6} end
  if r and r.id == id then done = true end
end

local reply = {'K'}
if done then
  for i = 3, #arg, 6 do
    reply[#reply + 1] = alive(before[i]) and arg[i] ~= 'D' and before[i].text or ''
  end
  return reply
end

for i = 3, #arg, 6 do
  local version = alive(before[i]) and before[i].version or 0
  if arg[i + 2] ~= '' and tonumber(arg[i + 2]) ~= version then return {'C', (i - 3) / 6, decimal(version)} end
end

for i = 3, #arg, 6 do
  local kind, key, old = arg[i], arg[i + 1], before[i]
  local text = ''
  if kind == 'D' then
    drop(key)
  elseif kind == 'T' then
    text = touch(key, old)
  else
    local ttl = tonumber(arg[i + 3])
    local r = {version = now, created = now, updated = now, expires = 0, refresh = tonumber(arg[i + 4]), id = id}
    if old and old.version >= r.version then r.version = old.version + 1 end
    if alive(old) then r.created = old.created end
    if ttl > 0 then r.expires = now + ttl end
    text = put(key, r, arg[i + 5])
  end
  reply[#reply + 1] = text
end

-- A few that have ended go for good.
for _, key in ipairs(call('ZRANGEBYSCORE', ends, '-inf', decimal(now), 'LIMIT', 0, 32)) do drop(key) end

-- When all that is left ends some time, Redis removes the keys.
local count, at = call('HLEN', items), nil
if count > 0 and call('ZCARD', ends) == count then
  local last = call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')
  at = decimal(math.ceil(tonumber(last[2]) / 1000))
end
limit(items, at)
limit(keys, at)
limit(ends, at)
limitVectors(at)
return reply
