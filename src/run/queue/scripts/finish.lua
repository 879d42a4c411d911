-- Takes the result of a shard from the worker that claimed it, unless that worker counts as lost.
--
-- KEYS[2]  the hash of the shard
-- ARGV     shard, worker, result, its last snapshot or ''
-- Returns  1: the result is taken; 0: it is not

if redis.call('HGET', KEYS[2], 'worker') ~= ARGV[2] then return 0 end
-- The same result again: the worker did not get the first response.
if redis.call('HEXISTS', KEYS[2], 'result') == 1 then return 1 end
local beat = redis.call('ZSCORE', beats, ARGV[1])
if not beat or now - tonumber(beat) > silence then return 0 end
redis.call('HSET', KEYS[2], 'result', ARGV[3])
if ARGV[4] ~= '' then redis.call('HSET', KEYS[2], 'snapshot', ARGV[4]) end
redis.call('ZREM', beats, ARGV[1])
redis.call('HINCRBY', run, 'finished', 1)
return 1
