-- memory_any returns whether the namespace has an item that has not expired.
if call('HLEN', items) > call('ZCARD', ends) then return 1 end
if call('ZCOUNT', ends, '(' .. decimal(now), '+inf') > 0 then return 1 end
return 0
