-- blob_stage notes that an upload has a chunk.
--  1 upload  2 number
local n = call('ZSCORE', u, arg[1])
if tonumber(arg[2]) > 0 and not n then return 'N' end
if not n or tonumber(n) <= tonumber(arg[2]) then call('ZADD', u, arg[2] + 1, arg[1]) end
return 'K'
