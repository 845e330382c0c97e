-- A namespace of long-term memory is three keys in one slot: a hash of the records by key,
-- a sorted set of the keys, all of score 0, and one of those that end, by when. Where there are
-- vectors there are more: see memory_vectors.lua.
-- A record is "version created updated expires refresh id", a new line, and the value.
-- Times are microseconds; expires is 0 for never.
local call, arg = redis.call, ARGV
local items, keys, ends = KEYS[1], KEYS[2], KEYS[3]
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function decimal(n) return string.format('%.0f', n) end

-- take reads a record, nil if there is none. One that cannot be read is passed on as it is,
-- with version 0: the caller that gets it reports it.
local function take(key)
  local text = call('HGET', items, key)
  if not text then return nil end
  local version, created, updated, expires, refresh, id, value = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%w+)\n()')
  if not id then return {text = text, version = 0, expires = 0} end
  return {
    text = text, version = tonumber(version), created = tonumber(created), updated = tonumber(updated),
    expires = tonumber(expires), refresh = tonumber(refresh), id = id, value = value,
  }
end

local function alive(r) return r and (r.expires == 0 or r.expires > now) end
