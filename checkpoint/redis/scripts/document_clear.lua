-- document_clear removes a partition.
call('DEL', items, order)
return 'K'
