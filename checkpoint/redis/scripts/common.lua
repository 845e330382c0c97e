-- The common part of the scripts; it precedes each of them.
--
-- A thread is one hash, KEYS[1]. N is the encoded name of a namespace, F of a field.
--   @            layout version, then the thread's id    (from the first commit on)
--   f o l        fence, owner and end of the lease       (ms since 1970, by the server)
--   g            the newest leases, see LeaseLog         (outlives them)
--   ns  ns/i     how many namespaces there are, and the name of the i-th
--   h/N          head: its number, a space, the commit's id
--   c/N/x        commit number x
--   p/N/x n/N/x  the numbers before and after x, where they are not x-1 and x+1
--   b/N/F/x/k    chunk k of the base that commit x wrote
--   w/N  w/N/i   how many entries are pending, and the name of the i-th
--   e/N/name     the entry's data
-- No number is above 2^53, so Lua can add one.

local call, thread, arg = redis.call, KEYS[1], ARGV
local many = 4000 -- unpack takes less than 8000

local function text(number) return string.format('%.0f', number) end

-- number returns the number in a head, '0' for none.
local function number(head) return head and string.match(head, '^%d+') or '0' end

-- in_parts calls f with parts of a list that are short enough for unpack.
local function in_parts(list, f)
	for i = 1, #list, many do f(unpack(list, i, math.min(i + many - 1, #list))) end
end

-- get returns the values of any number of fields.
local function get(fields)
	if #fields <= many then return #fields > 0 and call('HMGET', thread, unpack(fields)) or {} end
	local values = {}
	in_parts(fields, function(...)
		for _, v in ipairs({call('HMGET', thread, ...)}) do
			for i = 1, #v do values[#values + 1] = v[i] end
		end
	end)
	return values
end

-- set writes any number of fields and values: one HSET, unless there are too many.
local function set(pairs) in_parts(pairs, function(...) call('HSET', thread, ...) end) end

local function remove(fields) in_parts(fields, function(...) call('HDEL', thread, ...) end) end

-- names returns the names of the pending entries of a head.
local function names(ns, count)
	local fields = {}
	for i = 1, tonumber(count or 0) do fields[i] = 'w/' .. ns .. '/' .. i end
	return get(fields)
end

-- entries returns names and data of the pending entries of a head.
local function entries(ns, count)
	local list, fields = names(ns, count), {}
	for i = 1, #list do fields[i] = 'e/' .. ns .. '/' .. (list[i] or '') end
	return list, get(fields)
end

-- before returns the number of the commit before x, given what p/N/x holds.
local function before(x, link) return tonumber(link or x - 1) end

-- refused returns why a writer must not write, or nil.
local function refused(origin, head, want, fence, given)
	if origin and origin ~= arg[1] then return {'U', origin} end
	if (fence or '') ~= given then return {'F', fence and call('HGET', thread, 'o') or ''} end
	if head ~= want then return {'C', head} end
end
