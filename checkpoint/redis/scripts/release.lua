-- release gives a lease back, if it is still there. The log of leases stays.
--  1 origin  2 fence
if call('HGET', thread, 'f') == arg[2] then call('HDEL', thread, 'f', 'o', 'l') end
return 'K'
