-- A partition of documents is two keys in one slot: a hash of the records by id, and a sorted
-- set, all of score 0, of "order", a zero byte, 16 digits of seq, and the id. The hash has
-- the last number that was given under the empty name.
-- A record is "version seq length-of-order name", a new line, the order, and the value.
local call, arg = redis.call, ARGV
local items, order = KEYS[1], KEYS[2]

local function decimal(n) return string.format('%.0f', n) end

-- take reads a record, nil if there is none. One that cannot be read has no name.
local function take(id)
  local text = call('HGET', items, id)
  if not text then return nil end
  local version, seq, length, name, rest = string.match(text, '^(%d+) (%d+) (%d+) (%w+)\n()')
  if not name then return {text = text, version = 0} end
  return {
    text = text, version = tonumber(version), seq = tonumber(seq), name = name,
    order = string.sub(text, rest, rest + tonumber(length) - 1),
  }
end

local function member(r, id) return r.order .. '\0' .. string.format('%016.0f', r.seq) .. id end
