-- The vectors of a namespace: a set of their names, and for each name a vector set, whose
-- elements are "version part key", and a hash that has "version parts" by the key of an item.
-- Their keys begin with KEYS[4], so they are in the same slot.
local names = KEYS[4]

local function keysOf(name) return names .. ':' .. name, names .. ':' .. name .. ':of' end

-- forget removes the vectors of an item.
local function forget(name, key)
  local set, of = keysOf(name)
  local was = call('HGET', of, key)
  if not was then return end
  local version, parts = string.match(was, '^(%d+) (%d+)$')
  for part = 0, tonumber(parts) - 1 do call('VREM', set, version .. ' ' .. part .. ' ' .. key) end
  call('HDEL', of, key)
  if call('EXISTS', of) == 0 then call('SREM', names, name) end
end

-- limit lets a key expire at a time in milliseconds, or last.
local function limit(key, at)
  if at then call('PEXPIREAT', key, at) else call('PERSIST', key) end
end

local function limitVectors(at)
  limit(names, at)
  for _, name in ipairs(call('SMEMBERS', names)) do
    local set, of = keysOf(name)
    limit(set, at)
    limit(of, at)
  end
end
