-- memory_read returns a record, or nil.
--  1 key
local r = take(arg[1])
if alive(r) then return r.text end
return false
