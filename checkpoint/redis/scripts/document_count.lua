-- document_count returns how many documents a range of a partition has.
--  1 from  2 to, as ZLEXCOUNT wants them
return call('ZLEXCOUNT', order, arg[1], arg[2])
