-- blob_claim claims blobs. It returns the hashes that have none.
--  1 owner  2 time  3 … hashes
local missing = {}
for i = 3, #arg do
	if call('HEXISTS', h, arg[i]) == 1 then
		claim(arg[1], arg[i], arg[2])
	else
		missing[#missing + 1] = arg[i]
	end
end
return missing
