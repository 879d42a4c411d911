-- A shard is ready for its load.
--
-- KEYS[2]  the hash of the shard
-- ARGV     shard, worker, the result of its opening, seconds to keep the keys
-- Returns  to the last shard the openings of all, in order; otherwise ''

if redis.call('HGET', KEYS[2], 'worker') ~= ARGV[2] then return '' end
redis.call('HSET', KEYS[2], 'opening', ARGV[3])
redis.call('SADD', ready, ARGV[1])
redis.call('EXPIRE', ready, ARGV[4])
if redis.call('SCARD', ready) < shards then return '' end
local all = {}
for shard = 0, shards - 1 do all[shard + 1] = redis.call('HGET', run .. ':' .. shard, 'opening') end
return all
