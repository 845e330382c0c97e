-- memory_keep stores the vectors of an item, unless it has another version by now.
--  1 name of the vectors  2 key  3 version, then the vectors
local name, key, version = arg[1], arg[2], arg[3]
local r = take(key)
if not alive(r) or decimal(r.version) ~= version then return 'K' end
forget(name, key)
local set, of = keysOf(name)
for i = 4, #arg do
  call('VADD', set, 'FP32', arg[i], version .. ' ' .. (i - 4) .. ' ' .. key, 'NOQUANT')
end
call('HSET', of, key, version .. ' ' .. (#arg - 3))
call('SADD', names, name)
local at = call('PEXPIRETIME', items)
limitVectors(at > 0 and at or nil)
return 'K'
