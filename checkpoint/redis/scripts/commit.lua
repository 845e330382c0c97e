-- commit appends a commit if the head is still the one it was made for.
--  1 origin  2 N  3 the number of the head it is for, and a space  4 fence
--  5 ms to live, or 0  6 nonce of the call  7 '' if it goes on with a chain and is
--  plain: number head + 1, no pending entries, not many blobs; else '+' and the namespace
--  8 how many fields to read, then these: @, h/N, f, w/N and those of the blobs;
--  then the fields to write, each with its value: h/N, the commit's and the blobs';
--  then for each entry its name and data.
-- It answers K when the commit is stored, also when it was before, and else why not.

-- Nearly every commit is done with these two calls.
local was = redis.call('HMGET', KEYS[1], unpack(ARGV, 9, math.min(ARGV[8], 4000) + 8))
if ARGV[7] == '' and was[2] and string.sub(was[2], 1, #ARGV[3]) == ARGV[3]
	and was[1] == ARGV[1] and (was[3] or '') == ARGV[4] and not was[4] then
	local new = true
	for i = 5, #was do new = new and not was[i] end
	if new then
		redis.call('HSET', KEYS[1], unpack(ARGV, 9 + ARGV[8]))
		if ARGV[5] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
		return 'K'
	end
end
