-- expire sets when a thread ends.
--  1 origin  2 ms, or 0 for never
local origin = call('HGET', thread, '@')
if not origin then return {'N'} end
if origin ~= arg[1] then return {'U', origin} end
if arg[2] == '0' then call('PERSIST', thread) else call('PEXPIRE', thread, arg[2]) end
return 'K'
