-- document_read returns a record, or nil.
--  1 id
return call('HGET', items, arg[1])
