-- memory_any tells whether anything in the namespace is alive.
if call('HLEN', items) > call('ZCARD', ends) then return 1 end
if call('ZCOUNT', ends, '(' .. decimal(now), '+inf') > 0 then return 1 end
return 0
